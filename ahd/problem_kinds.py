"""Kinds of problems that ``ahd problem new`` can write."""

from enum import StrEnum


class Kind(StrEnum):
    """How a heuristic takes part; each has a file of that name in ``ahd/scaffold``."""

    STEP = "step"
    GUIDED = "guided"
    APART = "apart"
