"""Compiled inner loop of step-by-step vehicle routing. It sees trusted arrays only."""

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def servable(visited: np.ndarray, demands: np.ndarray, rest: int) -> np.ndarray:
    """Customers (1, 2, ...) not ``visited`` (n,) bool with ``demands`` (n,) int64 of at most ``rest``."""
    nodes = np.empty(len(visited), dtype=np.int64)
    count = 0
    for node in range(1, len(visited)):
        if not visited[node] and demands[node] <= rest:
            nodes[count] = node
            count += 1
    return nodes[:count].copy()
