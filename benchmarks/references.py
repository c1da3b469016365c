"""Computes the reference values that problems carry as constants, and prints them.

    python benchmarks/references.py knapsack     # exact optima, OR-Tools CP-SAT
    python benchmarks/references.py tsp 50       # iterated local search, 50 kicks a node, not proven

The knapsack optimum is exact up to the scale of its integers: weights are rounded up and values to
the nearest multiple of 1e-9, so that no overweight set counts, and the value of the set found is
taken from the unrounded numbers.
"""

import math
import sys
import time

import numpy as np
from numba import njit
from ortools.algorithms.python import knapsack_solver

from problems import knapsack, tsp

SCALE = 10**9


def knapsack_optimum(instances: np.ndarray) -> float:
    """Mean optimal value over ``instances`` (k, n, 2), by branch and bound on scaled integers."""
    limit = knapsack.capacity(instances.shape[1])
    total = 0.0
    for instance in instances:
        solver = knapsack_solver.KnapsackSolver(
            knapsack_solver.SolverType.KNAPSACK_MULTIDIMENSION_BRANCH_AND_BOUND_SOLVER, "knapsack"
        )
        weights = [math.ceil(w * SCALE) for w in instance[:, 0]]
        values = [round(v * SCALE) for v in instance[:, 1]]
        solver.init(values, [weights], [math.floor(limit * SCALE)])
        solver.solve()
        if not solver.is_solution_optimal():
            raise RuntimeError("the solver did not prove its solution")
        chosen = [i for i in range(len(values)) if solver.best_solution_contains(i)]
        assert instance[chosen, 0].sum() <= limit
        total += float(instance[chosen, 1].sum())
    return total / len(instances)


NEAR = 10
"""Neighbours per node that moves are tried with."""
EPS = 1e-10
HEAT = 0.1
"""Temperature of accepting a longer tour, in mean edge lengths."""


@njit(cache=True)
def _reverse(tour: np.ndarray, position: np.ndarray, first: int, last: int) -> None:
    while first < last:
        tour[first], tour[last] = tour[last], tour[first]
        position[tour[first]] = first
        position[tour[last]] = last
        first += 1
        last -= 1


@njit(cache=True)
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


@njit(cache=True)
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


@njit(cache=True)
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


@njit(cache=True)
def _length(tour: np.ndarray, d: np.ndarray) -> float:
    total = d[tour[-1], tour[0]]
    for i in range(len(tour) - 1):
        total += d[tour[i], tour[i + 1]]
    return total


@njit(cache=True)
def iterated_local_search(d: np.ndarray, near: np.ndarray, kicks: int, seed: int) -> float:
    """Length of the best tour after ``kicks`` local double bridges, each followed by a descent."""
    np.random.seed(seed)
    n = len(d)
    best = np.arange(n)
    position = np.arange(n)
    _descend(np.arange(n), best, position, d, near)
    length = current_length = _length(best, d)
    current = best
    heat = HEAT * length / n
    span = min(n - 1, 40)
    for _ in range(kicks):
        shift = np.random.randint(n)
        tour = np.concatenate((current[shift:], current[:shift]))
        a, b, c = np.sort(np.random.choice(span, 3, replace=False)) + 1
        ends = np.array([tour[0], tour[a - 1], tour[a], tour[b - 1], tour[b], tour[c - 1], tour[c % n]])
        tour = np.concatenate((tour[:a], tour[b:c], tour[a:b], tour[c:]))
        for k in range(n):
            position[tour[k]] = k
        _descend(ends, tour, position, d, near)
        found = _length(tour, d)
        if found < current_length - heat * np.log(1.0 - np.random.random()):
            current, current_length = tour, found
        if found < length - EPS:
            best, length = tour, found
    return length


def tsp_length(instances: np.ndarray, kicks: int) -> float:
    """Mean tour length over ``instances`` (k, n, 2)."""
    total = 0.0
    for coordinates in instances:
        d = tsp.distances(coordinates)
        near = np.argsort(d, axis=1, kind="stable")[:, 1 : NEAR + 1].copy()
        total += iterated_local_search(d, near, kicks, 0)
    return total / len(instances)


def main(which: str, kicks: int) -> None:
    module = {"knapsack": knapsack, "tsp": tsp}[which]
    for split, sizes in module.SIZES.items():
        for size in sizes:
            start = time.perf_counter()
            instances = module.instances(split, size)
            value = (
                -knapsack_optimum(instances) if which == "knapsack" else tsp_length(instances, kicks * size)
            )
            print(f"{which} {split} {size}: {value:.5f}  ({time.perf_counter() - start:.1f} s)", flush=True)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 50)
