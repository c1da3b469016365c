"""Bin packing with few different integer sizes: column generation and a restricted integer master.

Gilmore and Gomory (Operations Research 9, 1961): the linear program over all patterns that fit a bin. Its
bound, rounded up, is at least that of Martello and Toth's L2, and nearly always the optimum.
"""

import time
from collections import Counter

import numpy as np

from evaluators.references.solved import Solved

SLACK = 1e-6
"""How far the rounded-up bound trusts floating point."""


def best_fit_decreasing(sizes: list[int], capacity: int) -> list[list[int]]:
    """Bins of sizes, largest items first, each into the fullest bin that takes it."""
    bins: list[list[int]] = []
    left: list[int] = []
    for size in sorted(sizes, reverse=True):
        fitting = [k for k in range(len(bins)) if left[k] >= size]
        if fitting:
            k = min(fitting, key=lambda k: left[k])
        else:
            k = len(bins)
            bins.append([])
            left.append(capacity)
        bins[k].append(size)
        left[k] -= size
    return bins


def _price(worth: list[float], sizes: list[int], demand: list[int], capacity: int) -> tuple[float, list[int]]:
    """The pattern (count of each size, at most ``demand``) of greatest worth that fits a bin."""
    best = np.zeros(capacity + 1)
    taken = []
    for value, size, most in zip(worth, sizes, demand, strict=True):
        base, counts = best, np.zeros(capacity + 1, dtype=np.int64)
        best = base.copy()
        for count in range(1, min(most, capacity // size) + 1):
            moved = base[: capacity + 1 - count * size] + count * value
            better = moved > best[count * size :] + 1e-12
            best[count * size :][better] = moved[better]
            counts[count * size :][better] = count
        taken.append(counts)
    room, pattern = capacity, [0] * len(sizes)
    for k in range(len(sizes) - 1, -1, -1):
        pattern[k] = int(taken[k][room])
        room -= pattern[k] * sizes[k]
    return float(best[capacity]), pattern


def fewest_bins(items: np.ndarray, capacity: int, seconds: float) -> Solved:
    """Fewest bins of ``capacity`` for ``items`` (n,) of positive integer sizes up to it."""
    start = time.perf_counter()
    everything = [int(item) for item in items]
    bins = best_fit_decreasing(everything, capacity)
    least = -(-sum(everything) // capacity)
    counted = Counter(everything)
    sizes = sorted(counted)
    demand = [counted[size] for size in sizes]
    patterns = {tuple(Counter(each)[size] for size in sizes) for each in bins}
    if len(bins) > least:
        least = max(least, _generate(patterns, sizes, demand, capacity, start + 0.5 * seconds))
    if len(bins) > least:
        chosen = _choose(sorted(patterns), demand, max(start + seconds - time.perf_counter(), 0.1))
        better = _filled(chosen, sizes, demand)
        bins = better if 0 < len(better) < len(bins) else bins
    if sorted(size for each in bins for size in each) != sorted(everything):
        raise AssertionError("the solver lost an item")
    if any(sum(each) > capacity for each in bins):
        raise AssertionError("the solver's items do not fit")
    return Solved(float(len(bins)), float(least))


def _generate(
    patterns: set[tuple[int, ...]], sizes: list[int], demand: list[int], capacity: int, deadline: float
) -> int:
    """Add patterns until the linear program over all of them is solved or time is up; a lower bound."""
    from ortools.linear_solver import pywraplp

    bound = 0.0
    master = pywraplp.Solver.CreateSolver("GLOP")
    rows = [master.Constraint(float(count), master.infinity()) for count in demand]
    master.Objective().SetMinimization()

    def add(pattern: tuple[int, ...]) -> None:
        column = master.NumVar(0.0, master.infinity(), "")
        master.Objective().SetCoefficient(column, 1.0)
        for row, count in zip(rows, pattern, strict=True):
            if count:
                row.SetCoefficient(column, float(count))

    for pattern in sorted(patterns):
        add(pattern)
    while time.perf_counter() < deadline:
        if master.Solve() != pywraplp.Solver.OPTIMAL:
            break
        worth = [max(row.dual_value(), 0.0) for row in rows]
        value, found = _price(worth, sizes, demand, capacity)
        # Farley: duals divided by the best pattern's worth are feasible, whatever the master's precision
        bound = max(bound, sum(w * d for w, d in zip(worth, demand, strict=True)) / max(value, 1.0))
        if value <= 1.0 + 1e-9 or tuple(found) in patterns:
            break
        patterns.add(tuple(found))
        add(tuple(found))
    return int(np.ceil(bound - SLACK))


def _choose(patterns: list[tuple[int, ...]], demand: list[int], seconds: float) -> list[tuple[int, ...]]:
    """Fewest of the patterns, each any number of times, that cover the demand; empty when none is found."""
    from ortools.sat.python import cp_model

    from evaluators.references.cp_sat import solve

    model = cp_model.CpModel()
    times = [
        model.new_int_var(0, max(-(-d // p) for p, d in zip(pattern, demand, strict=True) if p), "")
        for pattern in patterns
    ]
    for k, count in enumerate(demand):
        using = [j for j, pattern in enumerate(patterns) if pattern[k]]
        model.add(sum(times[j] * patterns[j][k] for j in using) >= count)
    model.minimize(sum(times))
    solver = solve(model, seconds)
    if solver is None:
        return []
    return [pattern for pattern, x in zip(patterns, times, strict=True) for _ in range(solver.value(x))]


def _filled(chosen: list[tuple[int, ...]], sizes: list[int], demand: list[int]) -> list[list[int]]:
    """The items in bins after the chosen patterns, those covered twice left out."""
    left, bins = list(demand), []
    for pattern in chosen:
        each = []
        for k, count in enumerate(pattern):
            used = min(count, left[k])
            left[k] -= used
            each += [sizes[k]] * used
        if each:
            bins.append(each)
    return bins
