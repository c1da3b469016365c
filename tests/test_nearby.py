"""Messages about a folder or a name that is none point at what lies near."""

import os
from pathlib import Path

import pytest

from ahd.config import ConfigError, RunConfig
from ahd.nearby import nearby
from ahd.stored_problem import stored_problem
from problems.registry import UnknownProblem, load


def test_the_newest_runs_here_and_in_results_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At most three, the newest first; where there is none the hint says so."""
    monkeypatch.chdir(tmp_path)
    assert "none lies" in nearby("run.sqlite")
    for age, name in enumerate(("a", "results/b", "c", "results/d")):
        file = tmp_path / name / "run.sqlite"
        file.parent.mkdir(parents=True)
        file.touch()
        os.utime(file, (1000 - age, 1000 - age))
    assert nearby("run.sqlite") == "there is a, results/b, c"


@pytest.mark.parametrize("name", ["my-cover", "my_cover"])
def test_a_file_of_that_name_is_pointed_at(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """Somebody who wrote a problem and forgot to name its file is told which option takes it."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my_cover.py").touch()
    with pytest.raises(UnknownProblem, match=r"add --problem-path my_cover\.py"):
        load(name)
    for odd in ("x" * 300, "a/b", "a\0b"):
        with pytest.raises(UnknownProblem):
            load(odd)


def test_a_run_whose_problem_file_was_moved_says_so(tmp_path: Path) -> None:
    """Resuming it and testing it name the file and the run, and how to go on."""
    config = RunConfig(problem="cover", problem_path=str(tmp_path / "cover.py"))
    with pytest.raises(ConfigError, match=r"cover\.py, the problem file of run, is not there: put it back"):
        stored_problem(Path("run"), config)
