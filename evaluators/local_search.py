"""Local search on closed tours with 2-opt and relocation over neighbour lists, compiled, deterministic.

A tour is held as two int64 arrays: ``tour`` (n,), the nodes in order, and ``position`` (n,), its inverse,
both changed in place. Distances ``d`` (n, n) float64 are symmetric. ``near`` (n, k) int64 are the nodes
that a node may be joined to. A move has to save more than ``least``, so that rounding never looks like a
gain and a descent always ends.
"""

import numpy as np
from numba import njit


def least_gain(d: np.ndarray) -> float:
    """A saving that rounding errors stay far below: the largest distance times 1e-9."""
    return 1e-9 * float(d.max())


def neighbours(d: np.ndarray, most: int) -> np.ndarray:
    """The ``most`` nearest nodes of each, nearest first, ties to the lower number; (n, k) int64."""
    apart = d.copy()
    np.fill_diagonal(apart, np.inf)
    return np.argsort(apart, axis=1, kind="stable")[:, : min(most, len(d) - 1)].copy()


@njit(cache=True, nogil=True)
def nearest_neighbour(d: np.ndarray) -> np.ndarray:
    """The tour from node 0 that always goes on to the nearest node left, ties to the lower number."""
    n = len(d)
    tour = np.zeros(n, dtype=np.int64)
    left = np.ones(n, dtype=np.bool_)
    left[0] = False
    for step in range(1, n):
        here, best = tour[step - 1], -1
        for node in range(n):
            if left[node] and (best < 0 or d[here, node] < d[here, best]):
                best = node
        tour[step] = best
        left[best] = False
    return tour


@njit(cache=True, nogil=True)
def tour_length(tour: np.ndarray, d: np.ndarray) -> float:
    """Length of the closed tour."""
    total = d[tour[-1], tour[0]]
    for i in range(len(tour) - 1):
        total += d[tour[i], tour[i + 1]]
    return total


@njit(cache=True, nogil=True)
def _reverse(tour: np.ndarray, position: np.ndarray, start: int, end: int) -> None:
    """Reverse positions ``start`` to ``end``, round the end where ``end < start``; or, as that is the
    same closed tour, all the others, whichever are fewer."""
    n = len(tour)
    length = end - start + 1
    if length <= 0:
        length += n
    if 2 * length > n:
        start, end = (end + 1) % n, (start - 1) % n
        length = n - length
    for _ in range(length // 2):
        a, b = tour[start], tour[end]
        tour[start], tour[end] = b, a
        position[b], position[a] = start, end
        start = start + 1 if start + 1 < n else 0
        end = end - 1 if end > 0 else n - 1


@njit(cache=True, nogil=True)
def _relocate(tour: np.ndarray, position: np.ndarray, node: int, before: int) -> None:
    """Move ``node`` between ``before`` and its successor, shifting what lies on the shorter way."""
    n = len(tour)
    i, j = position[node], position[before]
    ahead = (j - i) % n
    if 2 * ahead <= n:
        for _ in range(ahead):
            k = i + 1 if i + 1 < n else 0
            tour[i] = tour[k]
            position[tour[i]] = i
            i = k
    else:
        for _ in range(n - ahead - 1):
            k = i - 1 if i > 0 else n - 1
            tour[i] = tour[k]
            position[tour[i]] = i
            i = k
    tour[i] = node
    position[node] = i


@njit(cache=True, nogil=True)
def best_move(
    a: int,
    tour: np.ndarray,
    position: np.ndarray,
    d: np.ndarray,
    near: np.ndarray,
    least: float,
    touched: np.ndarray,
) -> int:
    """Do the best improving move that joins node ``a`` to one of its neighbours, if there is one.

    Moves: 2-opt on either side of ``a``, and ``a`` relocated to either side of the neighbour. Returns how
    many nodes changed their edges, written to ``touched`` (5,) int64; 0 when nothing improves.
    """
    n = len(tour)
    i = position[a]
    after, back = tour[(i + 1) % n], tour[i - 1]
    gap = d[back, a] + d[a, after] - d[back, after]
    kind, chosen, best = 0, -1, least
    for c in near[a]:
        j = position[c]
        e, f = tour[(j + 1) % n], tour[j - 1]
        if c != after and c != back:
            gain = d[a, after] + d[c, e] - d[a, c] - d[after, e]
            if gain > best:
                kind, chosen, best = 1, c, gain
            gain = d[back, a] + d[f, c] - d[a, c] - d[back, f]
            if gain > best:
                kind, chosen, best = 2, c, gain
        if c != back:  # between c and its successor
            gain = gap - d[c, a] - d[a, e] + d[c, e]
            if gain > best:
                kind, chosen, best = 3, c, gain
        if c != after:  # between its predecessor and c
            gain = gap - d[f, a] - d[a, c] + d[f, c]
            if gain > best:
                kind, chosen, best = 4, c, gain
    if kind == 0:
        return 0
    j = position[chosen]
    e, f = tour[(j + 1) % n], tour[j - 1]
    touched[0], touched[1] = a, chosen
    if kind == 1:
        touched[2], touched[3] = after, e
        _reverse(tour, position, (i + 1) % n, j)
        return 4
    if kind == 2:
        touched[2], touched[3] = back, f
        _reverse(tour, position, i, (j - 1) % n)
        return 4
    touched[2], touched[3] = back, after
    touched[4] = e if kind == 3 else f
    _relocate(tour, position, a, chosen if kind == 3 else f)
    return 5


@njit(cache=True, nogil=True)
def descend(
    waiting: np.ndarray,
    tour: np.ndarray,
    position: np.ndarray,
    d: np.ndarray,
    near: np.ndarray,
    least: float,
) -> None:
    """Improve around the ``waiting`` nodes (int64), and around what changes, until no move helps.

    Nodes are taken in order and go to the end of the line when an edge of theirs changes.
    """
    n = len(tour)
    queue = np.empty(n, dtype=np.int64)
    queued = np.zeros(n, dtype=np.bool_)
    touched = np.empty(5, dtype=np.int64)
    first, count = 0, 0
    for node in waiting:
        if not queued[node]:
            queued[node] = True
            queue[count] = node
            count += 1
    while count > 0:
        a = queue[first]
        first = first + 1 if first + 1 < n else 0
        count -= 1
        queued[a] = False
        for k in range(best_move(a, tour, position, d, near, least, touched)):
            node = touched[k]
            if not queued[node]:
                queued[node] = True
                queue[(first + count) % n] = node
                count += 1


@njit(cache=True, nogil=True)
def symmetric(matrix: np.ndarray) -> np.ndarray:
    """The mean of both directions of each pair of nodes; (n, n) float64."""
    n = len(matrix)
    means = np.empty((n, n))
    for i in range(n):
        for j in range(i + 1):
            means[i, j] = means[j, i] = 0.5 * matrix[i, j] + 0.5 * matrix[j, i]
    return means


@njit(cache=True, nogil=True)
def most_raised(guided: np.ndarray, d: np.ndarray, most: int) -> np.ndarray:
    """The edges that ``guided`` raises most above ``d``, most first: (k, 2) int64 with k <= ``most``.

    Both are (n, n); only pairs (i, j) with i < j and a raise above 0 count. Ties: the lower pair.
    """
    n = len(d)
    edges = np.empty((most, 2), dtype=np.int64)
    raises = np.zeros(most)
    count = 0
    for i in range(n):
        for j in range(i + 1, n):
            gain = guided[i, j] - d[i, j]
            if gain <= 0 or (count == most and gain <= raises[most - 1]):
                continue
            k = count if count < most else most - 1
            while k > 0 and raises[k - 1] < gain:
                raises[k] = raises[k - 1]
                edges[k] = edges[k - 1]
                k -= 1
            raises[k] = gain
            edges[k, 0], edges[k, 1] = i, j
            count = min(count + 1, most)
    return edges[:count]


@njit(cache=True, nogil=True)
def perturb(
    tour: np.ndarray,
    position: np.ndarray,
    guided: np.ndarray,
    near: np.ndarray,
    least: float,
    edges: np.ndarray,
) -> np.ndarray:
    """One best move under the ``guided`` distances at each end of the ``edges`` (k, 2), in order.

    Returns the nodes whose edges changed, in that order, int64, repeats included.
    """
    changed = np.empty(10 * len(edges) + 1, dtype=np.int64)
    touched = np.empty(5, dtype=np.int64)
    count = 0
    for edge in edges:
        for node in edge:
            for k in range(best_move(node, tour, position, guided, near, least, touched)):
                changed[count] = touched[k]
                count += 1
    return changed[:count].copy()
