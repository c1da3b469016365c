"""Reference solvers on instances small enough to be solved by trying everything."""

from itertools import combinations, permutations

import numpy as np
import pytest

from evaluators.distances import euclidean
from evaluators.references.bins import best_fit_decreasing, fewest_bins
from evaluators.references.items import branch_and_bound, constraint_programming
from evaluators.references.local_search import iterated_local_search, tour
from evaluators.references.routes import (
    ortools_prizes,
    ortools_tour,
    ortools_vehicles,
    pyvrp_prizes,
    pyvrp_tour,
    pyvrp_vehicles,
)
from evaluators.references.shop import shortest_schedule
from evaluators.references.solved import Solved, SolverMissing, closed_length, integers

LIMIT = 0.2


def nodes(count: int, seed: int = 1) -> np.ndarray:
    return np.random.RandomState(seed).rand(count, 2)


def shortest(d: np.ndarray, among: tuple[int, ...]) -> float:
    """Length of the shortest closed tour from 0 through ``among``."""
    return min(closed_length([0, *order], d) for order in permutations(among))


def test_proven_means_within_the_grain() -> None:
    """A value is proven when its bound is at most rounding below it; without a bound it is not."""
    assert Solved(-40.0, -40.0 - 1e-6).proven
    assert not Solved(-40.0, -40.1).proven
    assert not Solved(3.0).proven


def test_integers_round_the_way_asked() -> None:
    """Scaling keeps the order and rounds to the side named."""
    values = np.array([0.15, 2.0])
    assert integers(values, 10, "floor") == [1, 20]
    assert integers(values, 10, "ceil") == [2, 20]


def test_every_tour_solver_finds_the_optimum_of_eight_nodes() -> None:
    """The local search and OR-Tools reach the length that trying all orders gives."""
    d = euclidean(nodes(8))
    best = shortest(d, tuple(range(1, 8)))
    assert iterated_local_search(d, 0.0).value == pytest.approx(best)
    assert ortools_tour(d, LIMIT).value == pytest.approx(best)


def test_pyvrp_finds_the_optima_of_eight_nodes() -> None:
    """So does PyVRP, for a tour, for vehicles and for prizes."""
    pytest.importorskip("pyvrp")
    d = euclidean(nodes(8))
    assert pyvrp_tour(d, LIMIT).value == pytest.approx(shortest(d, tuple(range(1, 8))))
    demands = np.array([0, 3, 3, 3, 3, 3, 3, 3])
    assert pyvrp_vehicles(d, demands, 9, LIMIT).value == pytest.approx(vehicles(d, demands, 9))
    prizes = np.arange(1.0, 9.0) / 8
    assert pyvrp_prizes(d, prizes, 1.5, LIMIT).value == pytest.approx(most(d, prizes, 1.5))


def vehicles(d: np.ndarray, demands: np.ndarray, capacity: int) -> float:
    """Least total length over all orders and all ways to cut them into routes."""
    best = np.inf
    n = len(d)
    for order in permutations(range(1, n)):
        cost = [0.0] + [np.inf] * (n - 1)
        for end in range(1, n):
            load = 0
            for start in range(end - 1, -1, -1):
                load += demands[order[start]]
                if load > capacity:
                    break
                cost[end] = min(cost[end], cost[start] + closed_length([0, *order[start:end]], d))
        best = min(best, cost[-1])
    return float(best)


def most(d: np.ndarray, prizes: np.ndarray, limit: float) -> float:
    """Minus the greatest prize of a round trip within the limit."""
    found = prizes[0]
    for count in range(1, len(d)):
        for among in combinations(range(1, len(d)), count):
            worth = prizes[[0, *among]].sum()
            if worth > found and shortest(d, among) <= limit:
                found = worth
    return -float(found)


def test_ortools_routes_vehicles_and_prizes() -> None:
    """OR-Tools serves every demand within capacity and is near the optimum of seven nodes."""
    d = euclidean(nodes(7))
    demands = np.array([0, 3, 3, 3, 3, 3, 3])
    best = vehicles(d, demands, 9)
    assert best - 1e-9 <= ortools_vehicles(d, demands, 9, LIMIT).value <= 1.1 * best
    prizes = np.arange(1.0, 8.0) / 7
    best = most(d, prizes, 1.5)
    assert best - 1e-9 <= ortools_prizes(d, prizes, 1.5, LIMIT).value <= 0.9 * best


def test_the_local_search_is_reproducible_and_whole() -> None:
    """One seed gives one tour, another seed may differ, and every node is visited once."""
    d = euclidean(nodes(40))
    first = tour(d, 0.0, seed=3)
    assert (first == tour(d, 0.0, seed=3)).all()
    assert sorted(first) == list(range(40))
    assert [len(tour(euclidean(nodes(n)), 0.0)) for n in range(1, 7)] == [1, 2, 3, 4, 5, 6]


def test_knapsacks_by_both_solvers() -> None:
    """Both prove the optimum that trying every set gives, with one limit and with two."""
    random = np.random.RandomState(4)
    values, weights = random.rand(9), random.rand(9, 2)
    for columns in (1, 2):
        w, limits = weights[:, :columns], np.full(columns, 2.0)
        best = max(
            values[list(chosen)].sum()
            for count in range(10)
            for chosen in combinations(range(9), count)
            if (w[list(chosen)].sum(axis=0) <= limits).all()
        )
        for solver in (branch_and_bound, constraint_programming):
            solved = solver(values, w, limits, 10.0)
            assert solved.value == pytest.approx(-best, abs=1e-9)
            assert solved.proven, solver


def test_bins_are_bounded_and_filled() -> None:
    """Where best fit decreasing wastes a bin the patterns find the optimum, and prove it."""
    sizes = [6] * 1 + [4] * 2 + [3] * 2 + [5, 5] + [2] * 5  # 40 in bins of 10: four are enough
    assert len(best_fit_decreasing([7, 5, 3, 3, 2], 10)) == 2
    solved = fewest_bins(np.array(sizes), 10, 2.0)
    assert solved == Solved(4.0, 4.0)
    wasteful = np.array([44, 24, 24, 22, 21, 17, 8, 8, 6, 6] * 3)  # 540 in bins of 60: nine at least
    assert len(best_fit_decreasing(list(wasteful), 60)) > 9
    solved = fewest_bins(wasteful, 60, 5.0)
    assert solved.bound is not None
    assert 9 <= solved.bound <= solved.value <= len(best_fit_decreasing(list(wasteful), 60))


def test_items_that_pair_badly_are_proven() -> None:
    """Items just above half a bin need one bin each, which the sum of sizes does not see."""
    assert fewest_bins(np.full(12, 51), 100, 2.0) == Solved(12.0, 12.0)
    assert fewest_bins(np.array([51] * 7 + [50] * 3), 100, 2.0) == Solved(9.0, 9.0)


def test_ft06_takes_55() -> None:
    """The classical job shop of Fisher and Thompson (1963) with six jobs has the published optimum."""
    data = """2 1 0 3 1 6 3 7 5 3 4 6
              1 8 2 5 4 10 5 10 0 10 3 4
              2 5 3 4 5 8 0 9 1 1 4 7
              1 5 0 5 2 5 3 3 4 8 5 9
              2 9 1 3 4 5 5 4 0 3 3 1
              1 3 3 3 5 9 0 10 4 4 2 1"""
    table = np.array([[int(word) for word in line.split()] for line in data.splitlines()])
    assert shortest_schedule(table[:, ::2], table[:, 1::2], 20.0) == Solved(55.0, 55.0)


def test_a_missing_pyvrp_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the package the message is one line with the command that installs it."""
    import sys

    monkeypatch.setitem(sys.modules, "pyvrp", None)
    with pytest.raises(SolverMissing, match="pip install") as caught:
        pyvrp_tour(euclidean(nodes(5)), LIMIT)
    assert "\n" not in str(caught.value)
