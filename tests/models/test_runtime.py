"""Starting again with the preloaded runtime, and silence."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from ahd.models import runtime

SCRIPT = """
import os, sys
from ahd.models import runtime
runtime.openmp_library = lambda: __import__("pathlib").Path(sys.argv[1])
runtime.has_cuda = lambda: False
print("start", flush=True)
runtime.reexec_with_preload()
print(os.environ.get("LD_PRELOAD"), sys.argv[1:], os.environ["OMP_NUM_THREADS"])
"""


def run(*command: str, **environment: str) -> list[str]:
    clean = {
        k: v for k, v in os.environ.items() if k not in ("LD_PRELOAD", "AHD_PRELOADED", "OMP_NUM_THREADS")
    }
    result = subprocess.run(
        command, capture_output=True, text=True, check=True, env={**clean, **environment}, timeout=60
    )
    return result.stdout.splitlines()


@pytest.fixture
def library(tmp_path: Path) -> Path:
    """A stand-in: a real shared library by the right name."""
    import _ctypes

    path = tmp_path / "libiomp5.so"
    path.symlink_to(_ctypes.__file__)
    return path


@pytest.mark.parametrize("how", ["script", "module", "code"])
def test_restarts_once_with_the_same_arguments(tmp_path: Path, library: Path, how: str) -> None:
    """The command is started again exactly once, with the library preloaded, its arguments and its way of
    starting (script, ``-m``, ``-c``) unchanged."""
    (tmp_path / "again.py").write_text(SCRIPT)
    command = {
        "script": [str(tmp_path / "again.py")],
        "module": ["-m", "again"],
        "code": ["-c", SCRIPT],
    }[how]
    path = os.pathsep.join([str(tmp_path), os.getcwd()])
    lines = run(sys.executable, *command, str(library), "a b", "--x", PYTHONPATH=path)
    cores = max(1, len(os.sched_getaffinity(0)) - 1)
    assert lines == ["start", "start", f"{library} {[str(library), 'a b', '--x']} {cores}"]


def test_what_the_user_set_stays(library: Path) -> None:
    """A thread count set by the user is kept, and so is another preloaded library, behind ours."""
    other = library.with_name("other.so")
    other.symlink_to(library)
    lines = run(sys.executable, "-c", SCRIPT, str(library), OMP_NUM_THREADS="7", LD_PRELOAD=str(other))
    assert lines[-1] == f"{library}:{other} {[str(library)]} 7"


def test_nothing_happens_without_the_library() -> None:
    """Where the library is missing the process goes on as it is."""
    code = SCRIPT.replace('__import__("pathlib").Path(sys.argv[1])', "None")
    assert run(sys.executable, "-c", code)[0:2] == ["start", f"None [] {runtime.engine_threads()}"]


def test_silence_covers_native_output_and_ends(capfd: pytest.CaptureFixture[str]) -> None:
    """Standard error, native writes too, goes to the log, which is kept only on failure."""
    with runtime.silent_stderr() as log:
        os.write(2, b"native noise\n")
        print("kept on stdout")
        assert log.read_text() == "native noise\n"
    assert not log.exists()

    def fail() -> None:
        with runtime.silent_stderr() as kept:
            logs.append(kept)
            os.write(2, b"why\n")
            raise ValueError

    logs: list[Path] = []
    with pytest.raises(ValueError):  # noqa: PT011
        fail()
    assert logs[0].read_text() == "why\n"
    logs[0].unlink()
    os.write(2, b"after\n")
    assert capfd.readouterr() == ("kept on stdout\n", "after\n")
