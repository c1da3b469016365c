"""``ahd watch``: a run looked at from another process, which takes no notice."""

import json
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from ahd import watch as watching
from ahd.config import ConfigError, RunConfig
from ahd.display.jsonl import as_json
from ahd.display.progress import Progress
from ahd.display.replay import replay
from ahd.events import Event, Evolved, Finished, Proposed, Started, Updated
from ahd.follow import Follower, State
from ahd.store import FILE, Store, is_being_written
from tests.display.stored_run import store_run
from tests.fakes import SMALL

ROOT = Path(__file__).parent.parent
RUN = ["run", *SMALL, "--model", "scripted", "--budget", "40", "--population", "6"]


def start(*arguments: str, cwd: Path) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-m", "ahd", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=cwd,
        env={"PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin"},
        # a shell that runs the tests in the background leaves Ctrl-C ignored in all of them
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )


def end(process: "subprocess.Popen[str]") -> str:
    out, error = process.communicate(timeout=120)
    assert process.returncode == 0, error
    return out


def closing_figures(text: str) -> str:
    return text[text.index("done:\n") :]


def timeless(folder: Path) -> list[object]:
    """What a run has in its file, without the times."""
    store = Store.open(folder)
    times = {"created": 0.0, "model_seconds": 0.0, "es_seconds": 0.0, "evaluation_seconds": 0.0}
    rows = [replace(row, **times) for row in store.proposals()]
    return [*rows, *(replace(row, seconds=0.0, created=0.0) for row in store.updates())]


@pytest.mark.slow
def test_watchers_show_what_the_run_shows(tmp_path: Path) -> None:
    """Watchers that come before, during and after a run close with its figures, to the last digit, as
    `ahd resume` does; the one that was there first was told the very events that are stored; and the run is
    what it is without any of them."""
    early = [
        start("watch", "a", "--wait", "60", "--display", kind, cwd=tmp_path) for kind in ("plain", "json")
    ]
    run = start(*RUN, "--out", "a", "--display", "plain", cwd=tmp_path)
    deadline = time.monotonic() + 60
    while not (tmp_path / "a" / FILE).exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    during = start("watch", "--display", "plain", cwd=tmp_path)  # no run under results/
    during.communicate(timeout=60)
    assert during.returncode == 2
    during = start("watch", "a", "--display", "plain", cwd=tmp_path)
    shown = closing_figures(end(run))
    first, lines = map(end, early)
    assert closing_figures(first) == closing_figures(end(during)) == shown
    assert closing_figures(end(start("watch", "a", "--display", "plain", cwd=tmp_path))) == shown
    assert closing_figures(end(start("resume", "a", "--display", "plain", cwd=tmp_path))) == shown

    told = [json.loads(line) for line in lines.splitlines()]
    names = {Proposed: "proposed", Updated: "updated", Evolved: "evolved"}
    stored = [
        {"event": names[type(event)]} | as_json(event)
        for _, event in replay(tmp_path / "a")
        if type(event) in names
    ]
    events = [{k: v for k, v in each.items() if k != "time"} for each in told]
    assert [each for each in events if each["event"] in names.values()] == stored
    assert told[-1]["event"] == "finished"

    end(start(*RUN, "--out", "b", cwd=tmp_path))
    assert timeless(tmp_path / "a") == timeless(tmp_path / "b")


@pytest.fixture
def going(tmp_path: Path) -> Iterator[tuple[Store, list[object]]]:
    """A run that this process holds, with its start and nothing else, and the rows it may be given."""
    source = Store.open(store_run(tmp_path / "source"))
    store = Store.create(tmp_path / "run", source.config)
    store.set_meta(started_event=source.meta("started_event") or "", created="0.0")
    rows = sorted([*source.proposals(), *source.updates()], key=lambda row: row.created)
    with closing(source), closing(store), store.session():
        yield store, list(rows)


def test_a_follower_sees_every_row_once(going: tuple[Store, list[object]], tmp_path: Path) -> None:
    """However the looks fall, the figures at the end are those of a replay."""
    store, rows = going
    with closing(Store.open(store.folder)) as reader:
        follower, events = Follower(reader), list[Event]()
        for number, row in enumerate(rows):
            (store.add_update if hasattr(row, "step_seeds") else store.add_proposal)(row)  # type: ignore[operator]
            if number % 7 == 0:
                look = follower.look()
                assert look.state is State.GOING
                events += [event for _, event in look.events]
        store.set_meta(finished=json.dumps(asdict(_finished("done")), default=str))
        look = follower.look()
        events += [event for _, event in look.events]
    assert look.state is State.DONE
    assert isinstance(events[0], Started)
    assert isinstance(events[-1], Finished)
    followed, replayed = Progress(), Progress()
    for event in events[:-1]:
        followed.add(event, 0.0)
    for _, event in replay(tmp_path / "source"):
        replayed.add(event, 0.0)
    for figure in ("spent", "best", "best_id", "history", "members", "operators", "outcomes", "updates"):
        assert getattr(followed, figure) == getattr(replayed, figure), figure


def _finished(status: str, spent: int = 0, init_spent: int = 0) -> Finished:
    summary = {"spent": spent, "init_spent": init_spent}
    return Finished(status, Path("x"), None, None, None, None, "", "", summary)


def test_a_run_that_goes_without_a_word(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], going: tuple[Store, list[object]]
) -> None:
    """A run whose process was killed ends its watchers with a line that says how to go on, also when an
    earlier session had ended in good order; one that was stopped in good order shows its end."""
    store, rows = going
    for row in rows[:40]:
        (store.add_update if hasattr(row, "step_seeds") else store.add_proposal)(row)  # type: ignore[operator]
    copy = tmp_path / "copy"
    shutil.copytree(store.folder, copy)  # as a killed process leaves it: nobody has its lock
    assert is_being_written(store.folder)
    assert not is_being_written(copy)
    assert watching.watch(copy, "plain") == 1
    told = capsys.readouterr().out
    assert f"go on with `ahd resume {copy}`" in told
    assert "watched to" in told
    with closing(Store.open(copy, write=True)) as again, again.session():
        again.set_meta(finished=json.dumps(asdict(_finished("interrupted", 1, 1)), default=str))
    assert watching.watch(copy, "plain") == 1
    assert "go on with `ahd resume" in capsys.readouterr().out, "the record counts other proposals"
    with closing(Store.open(copy, write=True)) as again, again.session():
        made = len(again.proposals())
        again.set_meta(finished=json.dumps(asdict(_finished("interrupted", made)), default=str))
    assert watching.watch(copy, "plain") == 1
    told = capsys.readouterr().out
    assert "\ninterrupted:\n" in told
    assert "watching: the run is another process's" not in told, "it is nobody's any more"


def test_once_says_how_it_stands(
    going: tuple[Store, list[object]], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """--once ends while the run goes on: lines, or the dashboard printed in place, marked as watching."""
    store, rows = going
    for row in rows[:60]:
        (store.add_update if hasattr(row, "step_seeds") else store.add_proposal)(row)  # type: ignore[operator]
    assert watching.watch(store.folder, "plain", once=True) == 0
    plain = capsys.readouterr().out
    assert "watching: the run is another process's" in plain
    assert "look again with: ahd watch" in plain
    monkeypatch.setenv("COLUMNS", "110")
    monkeypatch.setenv("LINES", "36")
    assert watching.watch(store.folder, "rich", once=True) == 0
    rich = capsys.readouterr().out
    assert "only watching" in rich
    assert "Population" in rich
    assert "\x1b" not in rich


def test_a_watcher_locks_nobody_out(tmp_path: Path) -> None:
    """While others ask all the time whether it is being written, a run can be opened for writing every time;
    and what it has written is in the file itself when it has closed, though a reader is still there."""
    folder = tmp_path / "run"
    Store.create(folder, RunConfig("tsp")).close()
    over = threading.Event()

    def ask() -> None:
        while not over.is_set():
            is_being_written(folder)

    askers = [threading.Thread(target=ask) for _ in range(2)]
    for asker in askers:
        asker.start()
    try:
        with closing(Store.open(folder)) as reader:
            for number in range(20):
                with closing(Store.open(folder, write=True)) as writer:
                    writer.set_meta(number=str(number))
            assert reader.meta("number") == "19"
            alone = tmp_path / "alone"
            alone.mkdir()
            shutil.copy(folder / FILE, alone / FILE)
            assert Store.open(alone).meta("number") == "19"
    finally:
        over.set()
        for asker in askers:
            asker.join()


def test_ctrl_c_ends_the_watcher_only(going: tuple[Store, list[object]]) -> None:
    """It ends with exit code 130 and says where it left; the run's file stays open for the run."""
    store, rows = going
    store.add_proposal(rows[0])  # type: ignore[arg-type]
    watcher = start("watch", store.folder.name, "--display", "plain", cwd=store.folder.parent)
    assert watcher.stdout is not None
    while "watching: the run" not in watcher.stdout.readline():
        assert watcher.poll() is None
    watcher.send_signal(signal.SIGINT)
    out, error = watcher.communicate(timeout=30)
    assert watcher.returncode == 130, error
    assert "look again with: ahd watch run" in out
    assert error == ""
    store.add_proposal(rows[1])  # type: ignore[arg-type]


def test_what_is_not_there(tmp_path: Path) -> None:
    """A folder that becomes no run in time, and no run at all, are told in one line; the newest run is
    the one written last."""
    with pytest.raises(ConfigError, match="not a run folder"):
        watching.watch(tmp_path / "nowhere", "plain", wait=0.0)
    with pytest.raises(ConfigError, match="no run there"):
        watching.newest(tmp_path)
    for name in ("b", "a"):
        Store.create(tmp_path / name, RunConfig("tsp")).close()
        time.sleep(0.02)
    assert watching.newest(tmp_path) == tmp_path / "a"
    with closing(Store.open(tmp_path / "b", write=True)) as store:
        store.set_meta(x="1")
    assert watching.newest(tmp_path) == tmp_path / "b"
    with pytest.raises(ConfigError, match="before its first proposal"):
        watching.watch(tmp_path / "a", "plain")
