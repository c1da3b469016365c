"""docs/tutorial.md shows what is so; ``tests/docs`` executes its commands."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from ahd.problem_check.candidates import check_candidates
from ahd.problem_check.damage import check_damage
from ahd.problem_check.finding import Level
from evaluators.sandbox import Sandbox
from problems.registry import load_file

ROOT = Path(__file__).parent.parent
TEXT = (ROOT / "docs/tutorial.md").read_text()
(CODE,) = re.findall(r"^```python\n(.*?)^```", TEXT, re.DOTALL | re.MULTILINE)
DSATUR = "def choose_node(seen, free):\n    return (seen + 0.01 * free).argmax()\n"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "colouring.py"
    path.write_text(CODE)
    return path


def test_it_takes_less_than_sixty_lines(file: Path) -> None:
    """Fewer than 60 lines of Python, as many as the tutorial says, in the project's own format."""
    lines = sum(bool(line.strip()) for line in CODE.splitlines())
    assert lines < 60
    assert f"in {lines} lines of Python" in TEXT
    ruff = [sys.executable, "-m", "ruff"]
    for command in (["check", "--ignore", "I001"], ["format", "--check"]):
        done = subprocess.run([*ruff, *command, "--config", str(ROOT / "pyproject.toml"), str(file)])
        assert done.returncode == 0


def test_its_figures_are_those_of_its_code(file: Path) -> None:
    """What it shows of `ahd problem check` is what the checks find, and a published rule is better than its
    known heuristics."""
    problem = load_file(file)
    findings = [*check_candidates(problem)[0], *check_damage(problem)]
    told = {f"{each.level:8} {each.what}: {each.found}" for each in findings}
    (block,) = re.findall(r"^```\n(ok .*?)^```", TEXT, re.DOTALL | re.MULTILINE)
    shown = {line for line in block.splitlines() if not line.split()[1].startswith(("instances", "redraw"))}
    assert len(shown) == 5
    assert shown <= told
    assert {each.level for each in findings} == {Level.OK}
    with Sandbox(problem) as sandbox:
        best = sandbox.submit(DSATUR).result().objective
    assert best is not None
    assert best < 6.875


@pytest.mark.slow
def test_a_search_beats_what_was_known(file: Path) -> None:
    """A short search with the scripted model finds better than the better of its known heuristics."""
    words = ["run", "colouring", "--problem-path", "colouring.py", "--model", "scripted", "--budget", "30"]
    done = subprocess.run(
        [sys.executable, "-m", "ahd", *words],
        cwd=file.parent,
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert done.returncode == 0, done.stderr
    assert "better  than most links (6.87500)" in done.stdout
