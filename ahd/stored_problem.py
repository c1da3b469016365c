"""The problem of a run that is already there."""

from pathlib import Path

from ahd.config import ConfigError, RunConfig
from problems.problem import Problem
from problems.registry import load


def stored_problem(folder: Path, config: RunConfig) -> Problem:
    """The problem that the run in ``folder`` is about, from the file it was begun with if it has one.

    Raises:
        ConfigError: that file is no longer there.
        BrokenProblemFile: it cannot be used.
        UnknownProblem: no such problem.
    """
    file = config.problem_path
    if file and not Path(file).exists():
        raise ConfigError(f"{file}, the problem file of {folder}, is not there: put it back, or a link to it")
    return load(config.problem, file or None)
