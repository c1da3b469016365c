"""A run goes on when nobody can read its display any more."""

import subprocess
import sys
from pathlib import Path

import pytest

from ahd.store import Store
from tests.fakes import SMALL

ROOT = Path(__file__).parent.parent.parent


@pytest.mark.slow
@pytest.mark.parametrize("display", ["plain", "json", "auto"])
@pytest.mark.parametrize("sink", ["| head -n 1 > /dev/null", "> /dev/full", ">&-"])
def test_the_run_outlives_its_output(tmp_path: Path, display: str, sink: str) -> None:
    """A closed pipe, a full disk or no standard output at all: the budget is spent all the same."""
    folder = tmp_path / "run"
    command = (
        f"{sys.executable} -m ahd run {' '.join(SMALL)} --model scripted --budget 10 "
        f"--out {folder} --display {display}"
    )
    done = subprocess.run(
        ["bash", "-c", f"set -o pipefail; {command} {sink}"],
        capture_output=True,
        text=True,
        timeout=120,
        cwd=ROOT,
    )
    assert "Traceback" not in done.stderr
    assert done.returncode == 0, done.stderr
    assert Store.open(folder).meta("status") == "done"
