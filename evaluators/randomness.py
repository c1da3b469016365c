"""Seeded random numbers for compiled solvers: splitmix64 (Steele, Lea and Flood, OOPSLA 2014, figure 17).

A generator is a ``uint64`` array of one number that the functions change in place, so that a solver's
stream depends on its seed alone, never on what else runs in the process.
"""

import numpy as np
from numba import njit

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_FIRST = np.uint64(0xBF58476D1CE4E5B9)
_SECOND = np.uint64(0x94D049BB133111EB)
_UNIT = 1.0 / (1 << 53)


@njit(cache=True, nogil=True)
def draw(state: np.ndarray) -> np.uint64:
    """The next 64 random bits."""
    state[0] += _GOLDEN
    z = state[0]
    z = (z ^ (z >> np.uint64(30))) * _FIRST
    z = (z ^ (z >> np.uint64(27))) * _SECOND
    return z ^ (z >> np.uint64(31))


@njit(cache=True, nogil=True)
def seeded(seed: int) -> np.ndarray:
    """A generator, shape (1,) uint64, for any 64-bit ``seed``; neighbouring seeds give unlike streams."""
    state = np.empty(1, dtype=np.uint64)
    state[0] = np.uint64(seed)
    # streams of s and s + 0x9E37... would be one stream shifted by a step: mix the seed first
    state[0] = draw(state)
    return state


@njit(cache=True, nogil=True)
def uniform(state: np.ndarray) -> float:
    """A float64 in [0, 1), one of 2**53 equally spaced ones."""
    return float(draw(state) >> np.uint64(11)) * _UNIT


@njit(cache=True, nogil=True)
def below(state: np.ndarray, n: int) -> int:
    """An int64 from 0 to ``n`` - 1, for 1 <= n <= 2**31.

    No number is likelier than another by more than one part in 2**22 (n / 2**53).
    """
    return int(uniform(state) * n)
