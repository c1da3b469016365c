"""The random state that candidates find: the same for all of them, and at the start of every instance."""

import random
from collections.abc import Iterable, Iterator
from typing import TypeVar

import numpy as np

T = TypeVar("T")


def reset() -> None:
    """Set the generators of ``random`` and ``numpy.random`` to their start."""
    random.seed(0)
    np.random.seed(0)


def fresh(instances: Iterable[T], heuristic: object = None) -> Iterator[T]:
    """``instances``, with the random state reset before each: this process's, or, of a heuristic that answers
    from another one (``evaluators.referee``), that one's."""
    restart = getattr(heuristic, "restart", reset)
    for instance in instances:
        restart()
        yield instance
