"""Iterated local search for travelling salesman tours: 2-opt, Or-opt and double bridges (Numba)."""

import time

import numpy as np
from numba import njit

from evaluators.randomness import below, seeded, uniform
from evaluators.references.solved import Solved, closed_length

NEAR = 10
"""Neighbours per node that moves are tried with."""
EPS = 1e-10
HEAT = 0.1
"""Temperature of accepting a longer tour, in mean edge lengths."""
SPAN = 40
"""Nodes within which a double bridge cuts."""
ROUND = 10
"""Kicks per node between two looks at the clock."""


@njit(cache=True, nogil=True)
def _reverse(tour: np.ndarray, position: np.ndarray, first: int, last: int) -> None:
    while first < last:
        tour[first], tour[last] = tour[last], tour[first]
        position[tour[first]] = first
        position[tour[last]] = last
        first += 1
        last -= 1


@njit(cache=True, nogil=True)
def _move(tour: np.ndarray, position: np.ndarray, start: int, length: int, after: int, turned: bool) -> None:
    """Take the segment ``start``, ``start + length`` out and put it behind position ``after``."""
    segment = tour[start : start + length].copy()
    if turned:
        segment = segment[::-1].copy()
    if after >= start + length:
        low, high = start, after
        tour[start : after - length + 1] = tour[start + length : after + 1].copy()
        tour[after - length + 1 : after + 1] = segment
    else:
        low, high = after + 1, start + length - 1
        tour[after + 1 + length : start + length] = tour[after + 1 : start].copy()
        tour[after + 1 : after + 1 + length] = segment
    for k in range(low, high + 1):
        position[tour[k]] = k


@njit(cache=True, nogil=True)
def _improve(a: int, tour: np.ndarray, position: np.ndarray, d: np.ndarray, near: np.ndarray) -> bool:
    """Do the first improving 2-opt or Or-opt move (up to 3 nodes) that touches node ``a``."""
    n = len(tour)
    i = position[a]
    succ, pred = tour[(i + 1) % n], tour[i - 1]
    for c in near[a]:
        ahead, behind = d[a, succ] - d[a, c], d[a, pred] - d[a, c]
        if ahead <= EPS and behind <= EPS:
            break
        j = position[c]
        e = tour[(j + 1) % n]
        if ahead + d[c, e] - d[succ, e] > EPS:
            _reverse(tour, position, min(i, j) + 1, max(i, j))
            return True
        e = tour[j - 1]
        if behind + d[c, e] - d[pred, e] > EPS:
            _reverse(tour, position, min(i, j), max(i, j) - 1)
            return True
    for length in range(1, 4):
        for at_start in (True, False):
            start = i if at_start else i - length + 1
            if start < 1 or start + length > n:
                continue
            p, q = tour[start - 1], tour[(start + length) % n]
            first, last = tour[start], tour[start + length - 1]
            other = last if at_start else first
            gain = d[p, first] + d[last, q] - d[p, q]
            for c in near[a]:
                if gain - d[a, c] <= EPS:
                    break
                j = position[c]
                if start <= j < start + length:
                    continue
                e = tour[(j + 1) % n]
                if c != p and gain - d[c, a] - d[other, e] + d[c, e] > EPS:
                    _move(tour, position, start, length, j, not at_start)
                    return True
                e = tour[j - 1]
                if c != q and gain - d[c, a] - d[other, e] + d[c, e] > EPS:
                    _move(tour, position, start, length, j - 1 if j else n - 1, at_start)
                    return True
    return False


@njit(cache=True, nogil=True)
def _descend(
    waiting: np.ndarray, tour: np.ndarray, position: np.ndarray, d: np.ndarray, near: np.ndarray
) -> None:
    """Improve around the ``waiting`` nodes and the ends of every changed edge until nothing helps."""
    n = len(tour)
    stack = list(waiting)
    before = np.empty((n, 2), dtype=np.int64)
    while len(stack) > 0:
        a = stack.pop()
        while True:
            for k in range(n):
                before[tour[k], 0] = tour[k - 1]
                before[tour[k], 1] = tour[(k + 1) % n]
            if not _improve(a, tour, position, d, near):
                break
            for k in range(n):
                node, left, right = tour[k], tour[k - 1], tour[(k + 1) % n]
                x, y = before[node]
                if not ((x == left and y == right) or (x == right and y == left)):
                    stack.append(node)


@njit(cache=True, nogil=True)
def _length(tour: np.ndarray, d: np.ndarray) -> float:
    total = d[tour[-1], tour[0]]
    for i in range(len(tour) - 1):
        total += d[tour[i], tour[i + 1]]
    return total


@njit(cache=True, nogil=True)
def _kick(tour: np.ndarray, position: np.ndarray, random: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """A double bridge of ``tour`` within ``SPAN`` nodes; the new tour and the ends of its new edges."""
    n = len(tour)
    shift = below(random, n)
    tour = np.concatenate((tour[shift:], tour[:shift]))
    cuts = np.empty(3, dtype=np.int64)
    count = 0
    while count < 3:
        cut = 1 + below(random, min(n - 1, SPAN))
        fresh = True
        for k in range(count):
            fresh = fresh and cuts[k] != cut
        if fresh:
            cuts[count] = cut
            count += 1
    a, b, c = np.sort(cuts)
    ends = np.array([tour[0], tour[a - 1], tour[a], tour[b - 1], tour[b], tour[c - 1], tour[c % n]])
    tour = np.concatenate((tour[:a], tour[b:c], tour[a:b], tour[c:]))
    for k in range(n):
        position[tour[k]] = k
    return tour, ends


@njit(cache=True, nogil=True)
def _search(
    current: np.ndarray, best: np.ndarray, d: np.ndarray, near: np.ndarray, kicks: int, random: np.ndarray
) -> None:
    """Kick and descend ``kicks`` times; ``current`` and ``best`` are changed in place."""
    n = len(d)
    position = np.empty(n, dtype=np.int64)
    current_length, length = _length(current, d), _length(best, d)
    heat = HEAT * length / n
    for _ in range(kicks):
        tour, ends = _kick(current, position, random)
        _descend(ends, tour, position, d, near)
        found = _length(tour, d)
        if found < current_length - heat * np.log(1.0 - uniform(random)):
            current[:] = tour
            current_length = found
        if found < length - EPS:
            best[:] = tour
            length = found


def tour(d: np.ndarray, seconds: float, seed: int = 0) -> np.ndarray:
    """The best tour, shape (n,) int64, found over symmetric ``d`` (n, n) in about ``seconds``.

    With as many rounds of ``ROUND`` kicks a node, a seed gives the same tour; there is at least one.
    """
    n = len(d)
    best = np.arange(n)
    if n < 4:
        return best
    near = np.argsort(d, axis=1, kind="stable")
    near = near[near != np.arange(n)[:, None]].reshape(n, n - 1)[:, :NEAR].copy()
    random = seeded(seed)
    _descend(np.arange(n), best, np.arange(n), d, near)
    current = best.copy()
    start = time.perf_counter()
    while True:
        if n < 5:
            return best
        _search(current, best, d, near, ROUND * n, random)
        if time.perf_counter() - start >= seconds:
            return best


def iterated_local_search(d: np.ndarray, seconds: float) -> Solved:
    """A short closed tour over symmetric ``d`` (n, n); nothing is proven."""
    found = tour(d, seconds)
    if sorted(found) != list(range(len(d))):
        raise AssertionError("the local search lost a node")
    return Solved(closed_length(list(found), d))
