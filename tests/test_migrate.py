"""Run files of version 1: they are shown as they were, and go on only where that is sound."""

import json
import sqlite3
from pathlib import Path

import pytest

from ahd.config import ConfigError, Kind, Reward, Shaping
from ahd.display.choose import choose
from ahd.run import resume
from ahd.show import best, show
from ahd.store import FILE, Store

SQL = Path(__file__).parent / "data" / "v1.sql"
"""A run of 20 proposals and 2 updates, made by version 1."""
UNFINISHED = "DELETE FROM meta WHERE key = 'finished'; UPDATE meta SET value = 'x' WHERE key = 'status';"


def old(folder: Path, more: str = "") -> Path:
    folder.mkdir()
    connection = sqlite3.connect(folder / FILE)
    connection.executescript(SQL.read_text() + more)
    connection.close()
    return folder


def test_an_old_run_is_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`show` and `best` print the figures that version 1 printed, and leave the file as it is."""
    folder = old(tmp_path / "run")
    before = (folder / FILE).read_bytes()
    show(folder, False)
    capsys.readouterr()
    show(folder, True)
    facts = json.loads(capsys.readouterr().out)
    assert (facts["spent"], facts["init_spent"], facts["best"]["objective"]) == (20, 4, 6.42657)
    assert (facts["validity"], facts["duplicates"], facts["status"]) == (0.6, 6, "done")
    assert facts["weights_hash"].startswith("c0351ed05b02")
    assert [update["directions"] for update in facts["updates"]] == [5, 5]
    assert facts["config"]["sigma"] == 0.001
    best(folder, False)
    assert "near - 0.841 * rest" in capsys.readouterr().out
    assert (folder / FILE).read_bytes() == before


def test_an_old_configuration_means_what_it_meant(tmp_path: Path) -> None:
    """Version 1 knew the paper's method only, and no guard, whatever the defaults are now."""
    config = Store.open(old(tmp_path / "run")).config
    assert (config.kind, config.scope, config.reward) == (Kind.FULL, "all", Reward.PAPER)
    assert (config.shaping, config.antithetic, config.per_direction) == (Shaping.ZSCORES, False, 1)
    assert (config.momentum, config.validity_floor) == (0.0, 0.0)


def test_opening_for_writing_migrates_once(tmp_path: Path) -> None:
    """The file itself is brought up to date, with the same proposals and updates."""
    folder = old(tmp_path / "run")
    reader = Store.open(folder)
    proposals, updates = reader.proposals(), reader.updates()
    reader.close()
    for _ in range(2):
        store = Store.open(folder, write=True)
        assert store.meta("schema_version") == "2"
        assert (store.proposals(), store.updates()) == (proposals, updates)
        assert all((row.step_seeds, row.step_weights) == (row.seeds, row.weights) for row in updates)
        store.close()


def test_a_failed_migration_leaves_the_file(tmp_path: Path) -> None:
    """All or nothing: a file in which something is missing is refused and stays at version 1."""
    folder = old(tmp_path / "run", "ALTER TABLE updates RENAME COLUMN seeds TO sids;")
    with pytest.raises(ConfigError, match="cannot be read"):
        Store.open(folder, write=True)
    connection = sqlite3.connect(folder / FILE)
    assert connection.execute("SELECT value FROM meta WHERE key = 'schema_version'").fetchone() == ("1",)
    assert "note" not in {row[1] for row in connection.execute("PRAGMA table_info(updates)")}


def test_a_finished_old_run_shows_its_end(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`resume` of a run that is done prints its end again."""
    assert resume(old(tmp_path / "run"), choose("plain")) == "done"
    assert "6.42657" in capsys.readouterr().out


def test_an_old_run_with_updates_cannot_go_on(tmp_path: Path) -> None:
    """Its weights cannot be checked against the log any more: one line says so, every time."""
    folder = old(tmp_path / "run", UNFINISHED)
    for _ in range(2):
        with pytest.raises(ConfigError, match="older ahd: it can be shown") as caught:
            resume(folder, choose("plain"))
        assert "\n" not in str(caught.value)


@pytest.mark.slow
def test_an_old_run_without_updates_goes_on(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What was proposed before the first update stands, and the budget is spent to its end."""
    lost = "DELETE FROM updates; DELETE FROM proposals WHERE operator IN ('m1', 'm2');"
    folder = old(tmp_path / "run", UNFINISHED + lost)
    before = Store.open(folder).proposals()
    assert resume(folder, choose("plain")) == "done"
    store = Store.open(folder)
    assert store.proposals()[: len(before)] == before
    assert sum(row.phase == "search" for row in store.proposals()) == 20
    assert len(store.updates()) == 2
    assert store.meta("base_hash") is not None
    assert "done:" in capsys.readouterr().out
