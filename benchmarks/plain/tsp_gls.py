"""Guided local search for the TSP in plain Python, with the rules of ``problems/tsp_gls.py``.

The public evaluators of this task compile their 2-opt and relocation with Numba as well; so this one is
slower than they are, and a ratio to it says what compiling is worth.
"""

from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

import numpy as np

ROUNDS, RETURN, RAISED, NEIGHBOURS = 50, 10, 5, 10


def _length(tour: list[int], d: np.ndarray) -> float:
    total = d[tour[-1], tour[0]]
    for a, b in pairwise(tour):
        total += d[a, b]
    return float(total)


def _moves(tour: list[int], a: int, near: np.ndarray, d: np.ndarray) -> Iterator[tuple[float, str, int]]:
    """Gain, kind and neighbour of every move of node ``a``."""
    n = len(tour)
    i = tour.index(a)
    back, after = tour[i - 1], tour[(i + 1) % n]
    gap = d[back, a] + d[a, after] - d[back, after]
    for c in near[a].tolist():
        j = tour.index(c)
        left, right = tour[j - 1], tour[(j + 1) % n]
        if c not in (after, back):
            yield d[a, after] + d[c, right] - d[a, c] - d[after, right], "reverse ahead", c
            yield d[back, a] + d[left, c] - d[a, c] - d[back, left], "reverse behind", c
        if c != back:
            yield gap - d[c, a] - d[a, right] + d[c, right], "put behind", c
        if c != after:
            yield gap - d[left, a] - d[a, c] + d[left, c], "put before", c


def _improve(tour: list[int], a: int, near: np.ndarray, d: np.ndarray, least: float) -> list[int]:
    """Do the best move of node ``a`` that gains more than ``least``; the nodes whose edges it changes."""
    gain, kind, c = max(_moves(tour, a, near, d), key=lambda move: move[0])
    if gain <= least:
        return []
    n = len(tour)
    i, j = tour.index(a), tour.index(c)
    back, after, left, right = tour[i - 1], tour[(i + 1) % n], tour[j - 1], tour[(j + 1) % n]
    if kind.startswith("reverse"):
        ahead = kind == "reverse ahead"
        start, end = (i + 1, j) if ahead else (i, j - 1)
        places = [(start + k) % n for k in range((end - start) % n + 1)]
        if 2 * len(places) > n:  # the rest reversed is the same tour
            places = [(end + 1 + k) % n for k in range(n - len(places))]
        for place, node in zip(places, [tour[place] for place in reversed(places)], strict=True):
            tour[place] = node
        return [a, c, after, right] if ahead else [a, c, back, left]
    tour.remove(a)
    tour.insert(tour.index(c) + (kind == "put behind"), a)
    return [a, c, back, after, right if kind == "put behind" else left]


def _descend(tour: list[int], waiting: list[int], near: np.ndarray, d: np.ndarray, least: float) -> None:
    queue = list(dict.fromkeys(waiting))
    while queue:
        for node in _improve(tour, queue.pop(0), near, d, least):
            if node not in queue:
                queue.append(node)


def _nearest(d: np.ndarray) -> list[int]:
    tour, left = [0], set(range(1, len(d)))
    while left:
        tour.append(min(sorted(left), key=lambda node: d[tour[-1], node]))
        left.remove(tour[-1])
    return tour


def search(heuristic: Callable[..., Any], d: np.ndarray) -> list[int]:
    """The best tour found, from node 0, under distances ``d`` (n, n)."""
    n = len(d)
    near = np.argsort(d + np.diag(np.full(n, np.inf)), axis=1, kind="stable")[:, : min(NEIGHBOURS, n - 1)]
    least = 1e-9 * float(d.max())
    used = np.zeros((n, n))
    tour = _nearest(d)
    _descend(tour, tour.copy(), near, d, least)
    best = tour.copy()
    for turn in range(1, ROUNDS + 1):
        start = tour.index(0)
        guided = np.asarray(heuristic(d, np.array(tour[start:] + tour[:start]), used.copy()), dtype=float)
        guided = 0.5 * guided + 0.5 * guided.T
        raised = np.triu(guided - d, 1)
        changed: list[int] = []
        edges = []
        for _ in range(RAISED):
            i, j = np.unravel_index(np.argmax(raised), raised.shape)
            if raised[i, j] <= 0:
                break
            raised[i, j] = 0.0
            edges.append((int(i), int(j)))
        for i, j in edges:
            used[i, j] += 1
            used[j, i] += 1
            for node in (i, j):
                changed += _improve(tour, node, near, guided, least)
        _descend(tour, changed, near, d, least)
        if _length(tour, d) < _length(best, d) - least:
            best = tour.copy()
        if turn % RETURN == 0:
            tour = best.copy()
    start = best.index(0)
    return best[start:] + best[:start]


def evaluate(heuristic: Callable[..., Any], instances: np.ndarray, seed: int = 0) -> float:
    """The objective of ``heuristic``: mean length of the tours found."""
    del seed
    lengths = []
    for coordinates in instances:
        d = np.sqrt(((coordinates[:, None] - coordinates[None]) ** 2).sum(axis=-1))
        lengths.append(_length(search(heuristic, d), d))
    return round(float(np.mean(lengths)), 5)
