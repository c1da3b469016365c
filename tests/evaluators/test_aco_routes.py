"""Ant colonies for tours and routes: their rules, step by step and in distribution."""

from collections.abc import Iterator
from itertools import pairwise

import numpy as np
import pytest

from evaluators.aco_routes import as_priors, routes, tour
from evaluators.outcome import InvalidSolution, NonFinite
from evaluators.randomness import below, seeded, uniform

CAPACITY = 10.0


def case(n: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Distances, demands and a prior that is neither symmetric nor even."""
    generator = np.random.RandomState(seed)
    places = generator.rand(n, 2)
    distances = np.sqrt(((places[:, None] - places) ** 2).sum(axis=-1))
    demands = generator.randint(1, 6, size=n).astype(float)
    demands[0] = 0.0
    return distances, demands, (generator.rand(n, n) ** 3 + 0.01).astype(np.float32)


def choose(weights: list[float], random: np.ndarray) -> int:
    value = uniform(random) * sum(weights)
    return next(k for k in range(len(weights)) if sum(weights[: k + 1]) > value)


def plain_tour(
    distances: np.ndarray, prior: np.ndarray, seed: int, ants: int, iterations: int
) -> tuple[float, list[int]]:
    """The rules once more, with lists, on the same random numbers."""
    n, random, pheromone = len(distances), seeded(seed), np.ones(prior.shape)
    best: tuple[float, list[int]] = (np.inf, [])
    for _ in range(iterations):
        found = []
        for _ in range(ants):
            left, path, place = list(range(n)), [], below(random, n)
            while left:
                path.append(left[place])
                left[place] = left[-1]
                left.pop()
                if left:
                    place = choose([pheromone[path[-1], j] * prior[path[-1], j] for j in left], random)
            found.append((sum(distances[path[k - 1], path[k]] for k in range(n)), path))
        pheromone *= 0.9
        for length, path in found:
            for k in range(n):
                pheromone[path[k - 1], path[k]] += 1 / length
                pheromone[path[k], path[k - 1]] += 1 / length
        best = min(best, min(found, key=lambda pair: pair[0]), key=lambda pair: pair[0])
    return best


def plain_routes(
    distances: np.ndarray,
    demands: np.ndarray,
    prior: np.ndarray,
    seed: int,
    charge: bool,
    ants: int,
    its: int,
) -> tuple[float, list[int]]:
    """The rules once more, with lists, on the same random numbers."""
    n, random, pheromone = len(distances), seeded(seed), np.ones(prior.shape)
    best: tuple[float, list[int]] = (np.inf, [])
    for _ in range(its):
        paths = []
        for _ in range(ants):
            left, path, room = list(range(1, n)), [0], CAPACITY
            while left or path[-1] != 0:
                here = path[-1]
                places = [k for k, j in enumerate(left) if demands[j] <= room]
                nodes = [left[k] for k in places] + [0] * (here != 0)
                k = choose([pheromone[here, j] * prior[here, j] for j in nodes], random)
                path.append(nodes[k])
                if nodes[k] == 0:
                    room = CAPACITY
                else:
                    room -= demands[nodes[k]]
                    left[places[k]] = left[-1]
                    left.pop()
            paths.append(path)
        slowest = max(map(len, paths))
        found = [
            (sum(distances[a, b] for a, b in pairwise(p)) + charge * (slowest - len(p)), p) for p in paths
        ]
        pheromone *= 0.9
        for cost, path in found:
            for a, b in pairwise(path):
                pheromone[a, b] += 1 / cost
        pheromone = np.maximum(pheromone, 1e-10)
        best = min(best, min(found, key=lambda pair: pair[0]), key=lambda pair: pair[0])
    return best


@pytest.mark.parametrize("seed", range(5))
def test_tours_equal_plain_ones(seed: int) -> None:
    """Length and nodes of the best tour are those of a naive colony fed the same random numbers."""
    distances, _, prior = case(4 + 3 * seed, seed)
    length, nodes = tour(distances, prior, seed, 4, 8)
    expected = plain_tour(distances, prior, seed, 4, 8)
    assert nodes.tolist() == expected[1]
    assert length == pytest.approx(expected[0], abs=1e-12)


@pytest.mark.parametrize("charge", [False, True])
@pytest.mark.parametrize("seed", range(5))
def test_routes_equal_plain_ones(seed: int, charge: bool) -> None:
    """Cost and nodes of the best routes are those of a naive colony fed the same random numbers."""
    distances, demands, prior = case(3 + 3 * seed, seed)
    cost, nodes = routes(distances, demands, CAPACITY, prior, seed, 4, 8, charge)
    expected = plain_routes(distances, demands, prior, seed, charge, 4, 8)
    assert nodes.tolist() == expected[1]
    assert cost == pytest.approx(expected[0], abs=1e-12)


def every_route(
    demands: np.ndarray, prior: np.ndarray, path: tuple[int, ...] = (0,), room: float = CAPACITY
) -> Iterator[tuple[tuple[int, ...], float]]:
    """Every walk an ant may take, and how likely it is."""
    here, left = path[-1], set(range(len(demands))) - set(path) - {0}
    if here == 0 and not left:
        yield path, 1.0
        return
    nodes = [j for j in left if demands[j] <= room] + [0] * (here != 0)
    total = sum(float(prior[here, j]) for j in nodes)
    for j in nodes:
        after = room - demands[j] if j else CAPACITY
        for whole, likely in every_route(demands, prior, (*path, j), after):
            yield whole, likely * float(prior[here, j]) / total


def test_ants_walk_as_likely_as_they_should() -> None:
    """Walks of single ants come as often as their exact probabilities say (chi squared)."""
    distances, demands, prior = case(4, 9)
    demands[1:] = 4, 5, 3
    chances = dict(every_route(demands, prior))
    assert sum(chances.values()) == pytest.approx(1.0)
    runs = 20000
    counts = dict.fromkeys(chances, 0)
    for seed in range(runs):
        counts[tuple(routes(distances, demands, CAPACITY, prior, seed, 1, 1, False)[1].tolist())] += 1
    kept = [walk for walk, chance in chances.items() if chance * runs >= 5]
    score = sum((counts[walk] - chances[walk] * runs) ** 2 / (chances[walk] * runs) for walk in kept)
    assert len(kept) > 10
    assert score < len(kept) + 4 * np.sqrt(2 * len(kept))


def test_a_charge_for_waiting_is_on_top() -> None:
    """Of one ant it is nothing; of many, a cost is that of the routes plus a whole number."""
    distances, demands, prior = case(12, 3)
    alone = [routes(distances, demands, CAPACITY, prior, 1, 1, 20, charge) for charge in (False, True)]
    assert alone[0][0] == alone[1][0]
    cost, nodes = routes(distances, demands, CAPACITY, prior, 1, 30, 20, True)
    waits = cost - distances[nodes[:-1], nodes[1:]].sum()
    assert waits == pytest.approx(round(waits), abs=1e-9)
    assert waits >= 0


def test_extreme_priors_are_walked() -> None:
    """The least and the greatest priors in one matrix give a whole tour and whole routes."""
    distances, demands, _ = case(20, 4)
    matrix = np.full((1, 20, 20), -1e300)
    matrix[0, ::2] = 3e38
    prior = as_priors(matrix.clip(-3e38), 1, 20)[0]
    assert sorted(tour(distances, prior, 0, 30, 100)[1]) == list(range(20))
    cost, nodes = routes(distances, demands, CAPACITY, prior, 0, 30, 100, False)
    assert np.isfinite(cost)
    assert sorted(node for node in nodes if node) == list(range(1, 20))


def test_nodes_at_one_place_cost_nothing() -> None:
    """Distances of 0 are no division by 0."""
    _, demands, prior = case(20, 4)
    nowhere = np.zeros((20, 20))
    assert tour(nowhere, prior, 0, 30, 100)[0] == 0.0
    assert routes(nowhere, demands, CAPACITY, prior, 0, 30, 100, False)[0] == 0.0


def test_priors_are_checked() -> None:
    """Priors are float32 with a floor; wrong shapes and types, and numbers that are not finite, are typed."""
    good = np.array([[[-1.0, 1e-12], [1.0, 2.5]]])
    assert as_priors(good, 1, 2).tolist() == np.array([[[1e-9, 1e-9], [1.0, 2.5]]], np.float32).tolist()
    assert as_priors(good, 1, 2).dtype == np.float32
    for bad in (good[0], good.astype(np.int64), good[:, :1], np.zeros((0, 2, 2)), good.astype(np.float32)):
        with pytest.raises(InvalidSolution):
            as_priors(bad, 1, 2)
    for number in (np.nan, np.inf, 1e39, -1e39):
        with pytest.raises(NonFinite):
            as_priors(np.full((1, 2, 2), number), 1, 2)
