"""Killed at any moment, a run resumes to the result of the uninterrupted one."""

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from ahd.store import Proposal, Store
from tests.fakes import SMALL

ROOT = Path(__file__).parent.parent
BUDGET = 120


def launch(*arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "ahd", *arguments, "--display", "json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        start_new_session=True,
    )


def start(folder: Path, model: str = "scripted", budget: int = BUDGET) -> subprocess.Popen[str]:
    return launch(
        *("run", *SMALL, "--model", model, "--budget", str(budget), "--seed", "5", "--out", str(folder)),
        *("--tune", "0.2"),
    )


def content(folder: Path) -> tuple[list[Proposal], list[tuple[object, ...]]]:
    store = Store.open(folder)
    clockless = {"created": 0.0, "model_seconds": 0.0, "es_seconds": 0.0, "evaluation_seconds": 0.0}
    rows = [replace(row, **clockless) for row in store.proposals()]  # type: ignore[arg-type]
    updates = [(u.batch, u.seeds, u.weights, u.rewards, u.weights_hash) for u in store.updates()]
    store.close()
    return rows, updates


def children(pid: int) -> set[int]:
    found = set()
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                parent = int((entry / "stat").read_text().rsplit(")", 1)[1].split()[1])
            except OSError:
                continue
            if parent == pid:
                found |= {int(entry.name)} | children(int(entry.name))
    return found


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("whole") / "run"
    process = start(folder)
    _, errors = process.communicate(timeout=300)
    assert process.returncode == 0, errors
    return folder


@pytest.mark.slow
@pytest.mark.parametrize("lines", [30, 130])
def test_kill_9_and_resume(tmp_path: Path, whole: Path, lines: int) -> None:
    """kill -9 after some events: nothing is lost or doubled, no process stays, the end is the same."""
    folder = tmp_path / "run"
    process = start(folder)
    assert process.stdout is not None
    for _ in range(lines):
        process.stdout.readline()
    family = children(process.pid)
    process.kill()
    process.wait()
    before = Store.open(folder).proposals()
    deadline = time.monotonic() + 3
    while (alive := [pid for pid in family if Path(f"/proc/{pid}").exists()]) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not alive
    resumed = launch("resume", str(folder))
    output, errors = resumed.communicate(timeout=300)
    assert resumed.returncode == 0, errors
    rows, updates = content(folder)
    assert sum(row.phase == "search" for row in rows) == BUDGET
    assert [row.id for row in before] == [row.id for row in rows[: len(before)]]
    assert (rows, updates) == content(whole)
    events = [json.loads(line) for line in output.splitlines()]
    assert events[-1]["event"] == "finished"
    assert events[-1]["status"] == "done"


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_stop_is_clean_and_says_how_to_resume(tmp_path: Path, whole: Path, number: int) -> None:
    """Ctrl-C and SIGTERM end with exit code 130 and `ahd resume`; resuming gives the same end."""
    folder = tmp_path / "run"
    process = subprocess.Popen(
        [*(sys.executable, "-m", "ahd", "run", *SMALL, "--model", "scripted", "--budget", str(BUDGET))]
        + ["--seed", "5", "--tune", "0.2", "--out", str(folder), "--display", "plain"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        start_new_session=True,
        # a shell that runs the tests in the background leaves Ctrl-C ignored in all of them
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    while not (folder / "run.sqlite").exists() or len(Store.open(folder).proposals()) < 40:
        time.sleep(0.05)
        assert process.poll() is None
    os.killpg(process.pid, number)
    output, errors = process.communicate(timeout=60)
    assert process.returncode == 130, errors
    assert f"ahd resume {folder}" in output
    assert "stopping when the replies in progress are there" in errors
    assert "Traceback" not in errors
    assert Store.open(folder).meta("status") == "interrupted"
    resumed = launch("resume", str(folder))
    _, errors = resumed.communicate(timeout=300)
    assert resumed.returncode == 0, errors
    assert content(folder) == content(whole)


@pytest.mark.slow
@pytest.mark.live
def test_a_killed_live_run_keeps_its_weights(tmp_path: Path, shallow: Path) -> None:
    """kill -9 after the first update of a live model: the resumed run spends exactly the budget, loses and
    doubles nothing, and its last hash is what the log alone gives from the base weights."""
    from ahd.es.perturbation import perturbation_of
    from ahd.models.weights import Masters

    folder = tmp_path / "run"
    process = start(folder, str(shallow), budget=24)
    assert process.stdout is not None
    for line in process.stdout:
        if json.loads(line)["event"] == "updated":
            break
    process.stdout.readline()
    process.kill()
    process.wait()
    store = Store.open(folder)
    before, logged = store.proposals(), store.updates()
    store.close()
    assert len(logged) == 1
    resumed = launch("resume", str(folder))
    _, errors = resumed.communicate(timeout=300)
    assert resumed.returncode == 0, errors
    store = Store.open(folder)
    rows, updates = store.proposals(), store.updates()
    assert rows[: len(before)] == before
    assert [row.id for row in rows] == list(range(1, len(rows) + 1))
    assert sum(row.phase == "search" for row in rows) == 24
    assert updates[:1] == logged
    perturbation = perturbation_of(store.config)
    masters = Masters.load(shallow, perturbation=perturbation)
    assert masters.hash() == store.meta("base_hash")
    for update in updates:
        masters.update(update.seeds, update.weights, update.alpha)
        assert masters.hash() == update.weights_hash


@pytest.mark.slow
def test_resuming_a_finished_run_only_shows_its_end(whole: Path) -> None:
    """A run that is done is not touched: same bytes' worth of rows, same wall time, the same last event."""
    before = content(whole), Store.open(whole).wall_seconds(), Store.open(whole).meta("finished")
    resumed = launch("resume", str(whole))
    output, errors = resumed.communicate(timeout=60)
    assert resumed.returncode == 0, errors
    assert (content(whole), Store.open(whole).wall_seconds(), Store.open(whole).meta("finished")) == before
    assert json.loads(output.splitlines()[-1])["event"] == "finished"


@pytest.mark.slow
def test_a_killed_run_is_told_from_a_running_one(tmp_path: Path) -> None:
    """`ahd show` calls a run stopped when nothing works on it any more, and running while something does."""
    folder = tmp_path / "run"
    process = start(folder)
    while not (folder / "run.sqlite").exists():
        time.sleep(0.05)
    assert Store.open(folder).status == "running"
    process.kill()
    process.wait()
    assert Store.open(folder).status == "stopped"
