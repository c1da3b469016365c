"""What is to be checked: a problem file, or the name of a problem."""

from pathlib import Path

from problems.problem import Problem
from problems.registry import load, load_file


def load_target(target: str) -> Problem:
    """The problem of a file, or of a name.

    Raises:
        BrokenProblemFile, UnknownProblem: see ``problems.registry``.
    """
    if target.endswith(".py") or Path(target).is_file():
        return load_file(target)
    return load(target)
