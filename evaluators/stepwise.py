"""Step-by-step loops for candidates that are compiled as well. They see trusted arrays only.

They raise ``ValueError`` for whatever a candidate does wrong: the interpreted loop then tells what it is.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import njit, types
from numba.core.imputils import impl_ret_borrowed
from numba.extending import intrinsic, overload


@intrinsic
def readonly(_: Any, array: Any) -> Any:
    """``array`` as one that cannot be written to, here or in Python; no copy. In compiled code only."""
    protected = array.copy(readonly=True)

    def generate(context: Any, builder: Any, _: Any, values: Any) -> Any:
        return impl_ret_borrowed(context, builder, protected, values[0])

    return protected(array), generate


@njit(cache=True)
def nearest_unvisited(order: np.ndarray, visited: np.ndarray, most: int) -> np.ndarray:
    """The first ``most`` nodes of ``order`` (n,) int64 that are not ``visited`` (n,) bool, read-only."""
    nodes = np.empty(min(most, len(order)), dtype=np.int64)
    count = 0
    for node in order:
        if not visited[node]:
            nodes[count] = node
            count += 1
            if count == most:
                break
    return readonly(nodes[:count].copy())


@njit(cache=True)
def remaining(items: np.ndarray, taken: np.ndarray) -> tuple[np.ndarray, float]:
    """What is left of ``items`` (2, n) float64, weights and values, where ``taken`` (n,) bool is false.

    Returns them in their old order, (2, k), read-only, and the smallest remaining weight (infinity when
    nothing is left).
    """
    left = np.empty((2, len(taken) - taken.sum()))
    smallest = np.inf
    k = 0
    for item in range(len(taken)):
        if not taken[item]:
            left[0, k] = items[0, item]
            left[1, k] = items[1, item]
            smallest = min(smallest, items[0, item])
            k += 1
    return readonly(left), smallest


def integer(value: Any) -> int:
    """``decisions.as_integer`` in compiled code; ``ValueError`` where that raises, or it does not compile."""
    raise NotImplementedError


@overload(integer)
def _integer(value: Any) -> Any:
    def present(value: Any) -> Any:
        if value is None:
            raise ValueError
        return integer(_unwrapped(value))

    def element(value: Any) -> Any:
        return integer(value[()])

    def exact(value: Any) -> Any:
        return np.int64(value)

    def whole(value: Any) -> Any:
        if not -(2.0**63) <= value < 2.0**63 or value != np.floor(value):
            raise ValueError
        return np.int64(value)

    if isinstance(value, types.Optional):
        return present
    if isinstance(value, types.Array) and value.ndim == 0:
        return element
    if isinstance(value, types.Integer) and value != types.uint64:
        return exact
    return whole if isinstance(value, types.Float) else None


@intrinsic
def _unwrapped(_: Any, value: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        return context.cast(builder, values[0], value, value.type)

    return value.type(value), generate


@njit
def tour(heuristic: Callable[..., Any], order: np.ndarray, matrix: np.ndarray, most: int) -> np.ndarray:
    """A tour from node 0, (n,) int64, whose next node a compiled heuristic chooses.

    ``order`` (n, n) int64 lists all nodes, nearest first, for each node; ``matrix`` (n, n) float64 holds the
    distances; the heuristic sees at most ``most`` nodes.

    Raises:
        ValueError: a choice is no unvisited node.
    """
    n = len(matrix)
    shown = readonly(matrix)
    visited = np.zeros(n, dtype=np.bool_)
    visited[0] = True
    nodes = np.zeros(n, dtype=np.int64)
    current = 0
    for step in range(1, n - 1):
        nearest = nearest_unvisited(order[current], visited, most)
        current = integer(heuristic(current, 0, nearest, shown))
        if not 0 <= current < n or visited[current]:
            raise ValueError
        visited[current] = True
        nodes[step] = current
    nodes[n - 1] = visited.argmin()
    return nodes


@njit
def filling(
    heuristic: Callable[..., Any], items: np.ndarray, capacity: float, tolerance: float
) -> np.ndarray:
    """Items in the order a compiled heuristic takes them, then -1, (n,) int64.

    ``items`` (2, n) float64 holds weights and values; one may weigh ``tolerance`` more than what is left.

    Raises:
        ValueError: a choice is no remaining item, or does not fit.
    """
    n = items.shape[1]
    taken = np.zeros(n, dtype=np.bool_)
    chosen = np.full(n, -1, dtype=np.int64)
    left = capacity
    for step in range(n):
        both, smallest = remaining(items, taken)
        if smallest > left:
            break
        index = integer(heuristic(left, both[0], both[1]))
        if not 0 <= index < both.shape[1]:
            raise ValueError
        item = np.flatnonzero(~taken)[index]
        if items[0, item] > left + tolerance:
            raise ValueError
        left -= items[0, item]
        taken[item] = True
        chosen[step] = item
    return chosen
