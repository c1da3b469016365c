"""Decisions of a candidate, checked one at a time, and inputs it cannot change."""

import math
from typing import Any

import numpy as np

from evaluators.outcome import InvalidSolution, NonFinite


def as_integer(value: Any) -> int:
    """Return ``value`` as an int when it is one without loss: 3, ``np.int64(3)``, 0-d arrays, 3.0.

    Raises:
        NonFinite: a float that is NaN or infinite.
        InvalidSolution: anything else, booleans and integers beyond 64 bits included.
    """
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = value[()]
    if type(value) is int:
        if not -(2**63) <= value < 2**63:
            raise InvalidSolution("returned an integer beyond 64 bits")
        return value
    if isinstance(value, np.integer):
        return int(value)
    if type(value) is float or isinstance(value, np.floating):
        number = float(value)
        if not math.isfinite(number):
            raise NonFinite(f"returned {number}")
        if number.is_integer():
            return as_integer(int(number))
        raise InvalidSolution(f"returned {number}, which is not an integer")
    raise InvalidSolution(f"returned {type(value).__name__}, not an integer")


def immutable(array: np.ndarray) -> np.ndarray:
    """A copy of ``array`` that cannot be made writable again (its memory belongs to a bytes object)."""
    return np.frombuffer(array.tobytes(), dtype=array.dtype).reshape(array.shape)
