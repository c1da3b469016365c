"""What a run needs runs out or fails: space for its file, memory, the clock. Nothing is lost, and one line
says what to do."""

import os
import resource
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from ahd import run
from ahd.config import RunConfig
from ahd.events import Proposed
from ahd.store import FILE, Proposal, Store
from tests.fakes import SMALL_TSP, Recorder
from tests.test_crash import content, launch, start

BUDGET = 60
KB = 1 << 10


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same run, undisturbed."""
    folder = tmp_path_factory.mktemp("whole") / "run"
    process = start(folder, budget=BUDGET)
    _, errors = process.communicate(timeout=300)
    assert process.returncode == 0, errors
    return folder


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 8 MB."""
    place = tmp_path / "disk"
    place.mkdir()
    if os.geteuid() != 0:
        pytest.skip("only root can mount a small file system")
    options = ["-t", "tmpfs", "-o", "size=8m", "tmpfs", str(place)]
    if subprocess.run(["mount", *options], capture_output=True, check=False).returncode != 0:
        pytest.skip("a small file system cannot be mounted here")
    yield place
    subprocess.run(["umount", "--lazy", str(place)], check=True)


def fill(disk: Path, free: int) -> Path:
    """A file that leaves so many bytes free."""
    ballast = disk / "ballast"
    status = os.statvfs(disk)
    ballast.write_bytes(bytes(status.f_bavail * status.f_frsize - free))
    return ballast


def ends_in_one_line(process: subprocess.Popen[str], *hints: str) -> None:
    """Exit code 2, and nothing on standard error but one line with these words."""
    _, errors = process.communicate(timeout=300)
    is_one_line(process, errors, *hints)


def is_one_line(process: subprocess.Popen[str], errors: str, *hints: str) -> None:
    """Exit code 2, and the errors are one line with these words."""
    assert process.returncode == 2, errors
    assert errors.startswith("ahd: ")
    assert len(errors.splitlines()) == 1
    for hint in hints:
        assert hint in errors


def stored(folder: Path) -> list[Proposal]:
    """The proposals so far, but their rewards, which come when a batch is complete."""
    with closing(Store.open(folder)) as store:
        return [replace(row, reward=None) for row in store.proposals()]


def goes_on(folder: Path, before: list[Proposal], whole: Path) -> None:
    """The run is resumed to the end of the undisturbed one; nothing that was stored has changed."""
    resumed = launch("resume", str(folder))
    _, errors = resumed.communicate(timeout=300)
    assert resumed.returncode == 0, errors
    assert content(folder) == content(whole)
    assert stored(folder)[: len(before)] == before


@pytest.mark.slow
@pytest.mark.parametrize("free", [150, 400])
def test_a_full_disk_loses_nothing(disk: Path, whole: Path, free: int) -> None:
    """A run whose disk fills up ends with what to do; its file can still be read, and with space again it is
    resumed to the same end, every committed proposal in it."""
    folder = disk / "run"
    ballast = fill(disk, free * KB)
    ends_in_one_line(start(folder, budget=BUDGET), "space", "`ahd resume`")
    before = stored(folder)
    assert 0 < len(before) < len(stored(whole))
    ends_in_one_line(launch("resume", str(folder)), "space", "`ahd resume`")
    assert stored(folder)[: len(before)] == before
    ballast.unlink()
    goes_on(folder, before, whole)


@pytest.mark.slow
@pytest.mark.parametrize("free", [0, 50])
def test_a_disk_that_is_full_from_the_start(disk: Path, whole: Path, free: int) -> None:
    """A run that cannot even make its file says so, and can be begun in that folder when there is space."""
    folder = disk / "run"
    ballast = fill(disk, free * KB)
    ends_in_one_line(start(folder, budget=BUDGET), "space")
    ballast.unlink()
    if (folder / FILE).exists():
        goes_on(folder, [], whole)
        return
    process = start(folder, budget=BUDGET)
    _, errors = process.communicate(timeout=300)
    assert process.returncode == 0, errors
    assert content(folder) == content(whole)


@pytest.mark.slow
def test_a_file_that_must_not_grow_loses_nothing(tmp_path: Path, whole: Path) -> None:
    """A limit on the size of files is met like a full disk; no rights are needed to see that."""
    folder = tmp_path / "run"
    process = start(folder, budget=BUDGET)
    resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (200 * KB, 200 * KB))
    ends_in_one_line(process, "space", "`ahd resume`")
    before = stored(folder)
    assert 0 < len(before) < len(stored(whole))
    goes_on(folder, before, whole)


@pytest.mark.slow
@pytest.mark.parametrize(("done", "spare"), [(5, 0), (9, 1 << 20), (13, 3 << 20), (20, 0)])
def test_out_of_memory_loses_nothing(tmp_path: Path, whole: Path, done: int, spare: int) -> None:
    """A main process that gets no more memory ends with what to do, or, where that strikes a library in C++
    such as the compiler, with the library's abort; the run is resumed to the same end."""
    folder = tmp_path / "run"
    process = start(folder, budget=BUDGET)
    while not (folder / FILE).exists() or len(stored(folder)) < done:
        time.sleep(0.02)
        assert process.poll() is None
    pages = int(Path(f"/proc/{process.pid}/statm").read_text().split()[0])
    limit = pages * resource.getpagesize() + spare
    resource.prlimit(process.pid, resource.RLIMIT_AS, (limit, limit))
    _, errors = process.communicate(timeout=300)
    if process.returncode not in (-signal.SIGABRT, -signal.SIGSEGV):
        is_one_line(process, errors, "memory", "`ahd resume`")
    goes_on(folder, stored(folder), whole)


@pytest.mark.slow
def test_a_clock_that_goes_back_changes_nothing(
    tmp_path: Path, whole: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A clock that jumps a day back, and forward again, in the middle of a run changes no result, and no time
    told is negative."""
    recorder, real = Recorder(), time.time

    def jumping() -> float:
        made = sum(isinstance(event, Proposed) for event in recorder.events)
        return real() - 86_400 * (20 < made < 40)

    monkeypatch.setattr(time, "time", jumping)
    config = RunConfig(
        "small-tsp", model="scripted", budget=BUDGET, seed=5, tune=0.2, problem_path=str(SMALL_TSP)
    )
    assert run.start(config, tmp_path / "run", recorder) == "done"
    assert content(tmp_path / "run") == content(whole)
    with closing(Store.open(tmp_path / "run")) as store:
        created = [row.created for row in store.proposals()]
        assert created != sorted(created)
        assert store.wall_seconds() >= 0
