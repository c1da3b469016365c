"""Compiled inner loops of the step-by-step solvers. They see trusted arrays only."""

import numpy as np
from numba import njit


@njit(cache=True)
def nearest_unvisited(order: np.ndarray, visited: np.ndarray, most: int) -> np.ndarray:
    """The first ``most`` nodes of ``order`` (n,) int64 that are not ``visited`` (n,) bool."""
    nodes = np.empty(min(most, len(order)), dtype=np.int64)
    count = 0
    for node in order:
        if not visited[node]:
            nodes[count] = node
            count += 1
            if count == most:
                break
    return nodes[:count].copy()


@njit(cache=True)
def remaining(
    weights: np.ndarray, values: np.ndarray, taken: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, float]:
    """What is left of ``weights`` and ``values`` (n,) float64 where ``taken`` (n,) bool is false.

    Returns the remaining weights, values and item numbers in their old order, and the smallest
    remaining weight (infinity when nothing is left).
    """
    count = len(taken) - taken.sum()
    left_weights = np.empty(count)
    left_values = np.empty(count)
    items = np.empty(count, dtype=np.int64)
    smallest = np.inf
    k = 0
    for item in range(len(taken)):
        if not taken[item]:
            left_weights[k] = weights[item]
            left_values[k] = values[item]
            items[k] = item
            smallest = min(smallest, weights[item])
            k += 1
    return left_weights, left_values, items, smallest
