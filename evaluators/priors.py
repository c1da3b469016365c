"""Heuristics that are called once per instance and return the matrix that guides a trusted solver."""

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from evaluators.decisions import immutable
from evaluators.fresh import fresh
from evaluators.outcome import InvalidSolution, NonFinite


def priors(
    heuristic: Callable[..., Any], calls: Iterable[tuple[Any, ...]], shape: tuple[int, ...]
) -> np.ndarray:
    """What ``heuristic`` returns for each tuple of arguments, stacked: shape (calls, ...) float64.

    Arrays among the arguments are given as read-only copies; random state is the same before each call.

    Raises:
        InvalidSolution: a result is no array of numbers of that shape.
        NonFinite: a result holds a number that is NaN or infinite.
    """
    found = []
    for number, arguments in enumerate(fresh(calls), 1):
        given = (immutable(value) if isinstance(value, np.ndarray) else value for value in arguments)
        found.append(_numbers(heuristic(*given), shape, number))
    return np.stack(found)


def _numbers(value: Any, shape: tuple[int, ...], number: int) -> np.ndarray:
    try:
        array = np.asarray(value)
    except ValueError:
        raise InvalidSolution(f"instance {number}: the result is no array") from None
    if array.dtype.kind not in "iufb" or array.shape != shape:
        raise InvalidSolution(
            f"instance {number}: the result has shape {array.shape} of {array.dtype}, not {shape} of numbers"
        )
    array = array.astype(np.float64)
    if not np.isfinite(array).all():
        raise NonFinite(f"instance {number}: the result has entries that are not finite")
    return array
