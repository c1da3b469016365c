"""Compiled inner loops of online bin packing. They see trusted arrays only."""

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def fitting(left: np.ndarray, item: int) -> np.ndarray:
    """What is ``left`` (n,) int64 in the bins that ``item`` fits in, in their order."""
    capacities = np.empty(len(left), dtype=np.int64)
    count = 0
    for capacity in left:
        capacities[count] = capacity
        count += capacity >= item
    return capacities[:count].copy()


@njit(cache=True, nogil=True)
def put(left: np.ndarray, item: int, index: int) -> int:
    """Put ``item`` into number ``index`` of the bins it fits in; that bin's number, -1 if there is none."""
    for number in range(len(left)):
        if left[number] >= item:
            if index == 0:
                left[number] -= item
                return number
            index -= 1
    return -1
