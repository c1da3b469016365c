"""A stored run replayed, and its picture."""

from pathlib import Path
from xml.etree import ElementTree

import pytest

from ahd.config import ConfigError
from ahd.display.capture import export_svg
from ahd.display.progress import Progress
from ahd.display.replay import replay
from ahd.store import Store
from tests.display.stored_run import store_run
from tests.display.synthetic_run import HOSTILE, ROLLED_BACK, synthetic


def test_replay_gives_the_figures_of_the_run(tmp_path: Path) -> None:
    """Spend, outcomes, best, updates and time split of the replay are those of the run itself."""
    live, again = Progress(), Progress()
    for now, event in synthetic(120):
        live.add(event, now)
    for now, event in replay(store_run(tmp_path / "run")):
        again.add(event, now)
    assert (again.spent, again.init_spent, again.best) == (live.spent, live.init_spent, live.best)
    assert again.outcomes == live.outcomes
    assert [u.weights_hash for u in again.updates] == [u.weights_hash for u in live.updates]
    assert again.rollbacks == live.rollbacks == 1
    assert any(ROLLED_BACK in entry.text for entry in again.log)
    assert again.split == pytest.approx(live.split)
    assert [m.objective for m in again.members] == [m.objective for m in live.members]


def test_picture_is_valid_and_self_contained(tmp_path: Path) -> None:
    """The SVG parses, names no other host's font, and hostile text is escaped in it."""
    out = tmp_path / "o.svg"
    export_svg(store_run(tmp_path / "run", HOSTILE), out, width=120, proposals=80)
    text = out.read_text(encoding="utf-8")
    ElementTree.fromstring(text)
    assert "font-face" not in text
    assert "url(http" not in text
    assert "Population" in text


def test_a_run_that_never_began_is_named(tmp_path: Path) -> None:
    """A store without a start gives one line with the way to go on."""
    store = Store.open(store_run(tmp_path / "run"), write=True)
    store._connection.execute("DELETE FROM meta WHERE key = 'started_event'")
    store._connection.commit()
    store.close()
    with pytest.raises(ConfigError, match="ahd resume"):
        list(replay(tmp_path / "run"))
