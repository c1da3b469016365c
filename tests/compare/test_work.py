"""``ahd compare`` as it is typed: refusals, a whole comparison, kills and stops."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from ahd.compare.folder import PLAN, read_result
from ahd.compare.work import share, usual_jobs
from ahd.config import RunConfig
from ahd.store import Store
from tests.compare.made import made
from tests.fakes import SMALL
from tests.test_cli import ahd
from tests.test_crash import children

ROOT = Path(__file__).parent.parent.parent
FULL = [*SMALL, "admissible-set", "--methods", "esopt,eoh,eoh@0.5"]
FULL += ["--seeds", "2", "--budget", "10", "--model", "scripted"]


def launch(out: Path, *arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "ahd", "compare", *arguments, "--out", str(out)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        start_new_session=True,
    )


def done(out: Path) -> dict[Path, bytes]:
    """The run files of the finished runs, with what is in them."""
    found = {}
    for file in out.rglob("run.sqlite"):
        store = Store.open(file.parent)
        if store.status == "done":
            found[file] = file.read_bytes()
        store.close()
    return found


def wait_until(out: Path, count: int, process: subprocess.Popen[str]) -> None:
    """Until ``count`` runs are done and another has begun."""
    while len(done(out)) < count or len(list(out.rglob("run.sqlite"))) <= count:
        assert process.poll() is None, process.communicate()
        time.sleep(0.1)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], ["problem", "--folder"]),
        (["tps"], ["tps", "tsp"]),
        (["tsp", "--methods", "esopt,magic"], ["--methods magic", "esopt"]),
        (["tsp", "--methods", "eoh"], ["--methods eoh", "2 or more"]),
        (["tsp", "--seeds", "many"], ["--seeds many"]),
        (["tsp", "--budget", "5"], ["--budget 5", "population"]),
        (["tsp", "--against", "sample"], ["--against sample"]),
        (["tsp", "--jobs", "0"], ["--jobs 0"]),
        (["tsp", "--model", "no/such/folder"], ["no/such/folder", "--model"]),
        (["tsp", "--csv", "nowhere/runs.csv"], ["--csv nowhere/runs.csv"]),
        (["tsp", "--out", "tests"], ["tests", "--out"]),
        (["tsp", "--folder", "tests"], ["--folder"]),
        (["--folder", "docs"], ["docs", "no run folders"]),
        (["--folder", "docs", "--model", "scripted"], ["--folder"]),
    ],
)
def test_mistakes_are_one_line(arguments: list[str], words: list[str]) -> None:
    """Exit code 2, one line on standard error, nothing begun."""
    results = set((ROOT / "results").glob("*"))
    found = ahd("compare", *arguments)
    assert found.returncode == 2, found.stderr
    assert found.stdout == ""
    assert found.stderr.startswith("ahd: ")
    assert found.stderr.count("\n") == 1
    for word in words:
        assert word.lower() in found.stderr.lower()
    assert set((ROOT / "results").glob("*")) == results


def test_unequal_spends_are_one_line(tmp_path: Path) -> None:
    """The command refuses runs that were put together by hand and did not spend the same."""
    made(tmp_path / "a", "eoh", 1)
    made(tmp_path / "b", "esopt", 1, budget=20)
    found = ahd("compare", "--folder", str(tmp_path))
    assert (found.returncode, found.stdout, found.stderr.count("\n")) == (2, "", 1)
    assert "only equal spends are compared" in found.stderr
    assert not (tmp_path / "comparison.json").exists()


@pytest.mark.parametrize(("cores", "at_once"), [(8, 2), (5, 3), (2, 4), (1, 2)])
def test_runs_side_by_side_share_the_cores(cores: int, at_once: int) -> None:
    """Every run has a core, every core a run, and none two where there are enough; one alone may use all."""
    config = RunConfig("tsp")
    shares = [share(range(cores), slot, at_once, config) for slot in range(at_once)]
    assert all(shares)
    assert {core for each in shares for core in each} == set(range(cores))
    if cores >= at_once:
        assert sum(map(len, shares)) == cores
    assert share(range(cores), 0, 1, config) == []
    assert share(range(cores), 0, at_once, RunConfig("tsp", replicas=2)) == []


@pytest.mark.parametrize(
    ("cores", "gigabytes", "gpu", "changed", "jobs"),
    [
        (2, 23, False, {}, 2),
        (2, 6, False, {}, 1),
        (2, 1, False, {}, 1),
        (64, 500, False, {}, 8),
        (16, 128, True, {}, 1),
        (2, 23, False, {"model": "scripted"}, 1),
        (2, 23, False, {"model": "my/model"}, 1),
        (2, 23, False, {"server": "http://localhost:8000"}, 1),
        (2, 23, False, {"replicas": 2}, 1),
    ],
)
def test_usual_number_of_jobs(
    monkeypatch: pytest.MonkeyPatch,
    cores: int,
    gigabytes: int,
    gpu: bool,
    changed: dict[str, Any],
    jobs: int,
) -> None:
    """One per core while there is memory, for the default model in processes of their own without a GPU."""
    monkeypatch.setattr("ahd.compare.work.has_cuda", lambda: gpu)
    monkeypatch.setattr("os.sched_getaffinity", lambda pid: set(range(cores)))
    sizes = {"SC_AVPHYS_PAGES": gigabytes << 18, "SC_PAGE_SIZE": 4096}
    monkeypatch.setattr("os.sysconf", lambda name: sizes[name])
    assert usual_jobs(RunConfig("tsp", **changed)) == jobs


@pytest.mark.slow
def test_killed_in_the_middle_it_goes_on(tmp_path: Path) -> None:
    """2 problems x 3 arms x 2 seeds, kill -9 in the middle: no process stays, and the same command finishes
    the rest without touching a finished run. A third time it only reads; another plan is refused."""
    out = tmp_path / "comparison"
    process = launch(out, *FULL, "--jobs", "2")
    wait_until(out, 3, process)
    family = children(process.pid)
    process.kill()
    process.communicate()
    deadline = time.monotonic() + 10
    while any(Path(f"/proc/{pid}").exists() for pid in family) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not any(Path(f"/proc/{pid}").exists() for pid in family)
    before = done(out)
    stamps = {file: file.stat().st_mtime_ns for file in before}
    assert 3 <= len(before) < 12
    assert not (out / "comparison.json").exists()

    process = launch(out, *FULL, "--jobs", "2")
    text, errors = process.communicate(timeout=600)
    assert process.returncode == 0, errors
    assert f"{len(before)} done" in errors
    after = done(out)
    assert len(after) == 12
    assert {file: after[file] for file in before} == before
    assert {file: file.stat().st_mtime_ns for file in before} == stamps
    assert "minus eoh" in text
    assert "over 2 settings" in text
    found = read_result(out)
    assert [setting.name for setting in found.settings] == ["small-tsp", "admissible-set"]
    for setting in found.settings:
        assert setting.warnings == ()
        assert [arm.arm for arm in setting.arms] == ["esopt", "eoh", "eoh@0.5"]
        assert {run.spend.proposals for arm in setting.arms for run in arm.runs} == {10}
    assert f"--out {out}" in found.command

    again = ahd("compare", *FULL, "--out", str(out), "--json")
    assert again.returncode == 0, again.stderr
    assert again.stderr == ""
    assert json.loads(again.stdout) == json.loads((out / "comparison.json").read_text())
    assert done(out) == after

    for changed in (["--budget", "11"], ["--methods", "esopt,eoh"], ["--momentum", "0.5"]):
        refused = ahd("compare", *FULL, *changed, "--out", str(out))
        assert (refused.returncode, refused.stderr.count("\n")) == (2, 1)
        assert "holds another comparison" in refused.stderr
    assert done(out) == after


@pytest.mark.slow
@pytest.mark.parametrize(("number", "then_go_on"), [(signal.SIGINT, False), (signal.SIGTERM, True)])
def test_a_stop_stores_and_tells_how_to_go_on(tmp_path: Path, number: int, then_go_on: bool) -> None:
    """Ctrl-C and SIGTERM end with exit code 130 and the command that goes on; runs are interrupted cleanly,
    a comparison that is not whole is refused with that command, and more seeds go into the same folder."""
    out = tmp_path / "comparison"
    plan = [*SMALL, "--methods", "eoh,sample", "--budget", "200", "--model", "scripted"]
    process = subprocess.Popen(
        [sys.executable, "-m", "ahd", "compare", *plan, "--seeds", "1", "--out", str(out)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    file = out / "runs/small-tsp/eoh-1/run.sqlite"
    while not file.exists() or len(Store.open(file.parent).proposals()) < 15:
        assert process.poll() is None, process.communicate()
        time.sleep(0.02)
    os.kill(process.pid, number)
    text, errors = process.communicate(timeout=120)
    assert (process.returncode, text) == (130, ""), errors
    assert "Traceback" not in errors
    assert "go on with: ahd compare small-tsp --methods eoh,sample --seeds 1" in errors
    assert Store.open(file.parent).meta("status") == "interrupted"
    refused = ahd("compare", "--folder", str(out))
    assert refused.returncode == 2
    assert "go on with `ahd compare small-tsp" in refused.stderr
    if not then_go_on:
        return
    process = launch(out, *plan, "--seeds", "2", "--jobs", "2")
    text, errors = process.communicate(timeout=600)
    assert process.returncode == 0, errors
    assert "1 to go on with" in errors
    assert json.loads((out / PLAN).read_text())["seeds"] == [1, 2]
    assert read_result(out).settings[0].seeds == (1, 2)
