"""What a reference solver returns, and how numbers become the integers that solvers work with."""

from dataclasses import dataclass

import numpy as np

CLOSE = 1e-6
"""How near, relative to its size, a value has to be to its bound to count as proven: the grain of the
scaled integers, summed over an instance."""


class SolverMissing(ValueError):
    """A solver is not installed. The message is one line with the command that installs it."""


class NoSolution(RuntimeError):
    """A solver found no solution within its time. The message is one line."""


@dataclass(frozen=True)
class Solved:
    """A solution's objective, minimised, and a ``bound`` that no solution is below, None when unknown.

    ``value`` is computed from the solution and the unrounded instance, after checking its feasibility.
    """

    value: float
    bound: float | None = None

    @property
    def proven(self) -> bool:
        """Whether no solution is better, up to ``CLOSE``."""
        return self.bound is not None and self.value - self.bound <= CLOSE * max(1.0, abs(self.value))


def integers(values: np.ndarray, scale: int, way: str = "round") -> list[int]:
    """``values`` times ``scale`` as Python integers; ``way``: ``round``, ``floor`` or ``ceil``."""
    rounded = {"round": np.rint, "floor": np.floor, "ceil": np.ceil}[way](np.asarray(values) * float(scale))
    return [int(value) for value in rounded.ravel()]


def closed_length(tour: list[int], d: np.ndarray) -> float:
    """Length of the closed ``tour`` over ``d`` (n, n)."""
    return float(d[tour, np.roll(tour, -1)].sum())
