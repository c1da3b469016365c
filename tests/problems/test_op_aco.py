"""Orienteering by ant colony: instances, rules, verification."""

import hashlib
import math
from collections import Counter
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from evaluators.aco_orienteering import collect
from evaluators.candidate import load
from evaluators.outcome import InvalidSolution, NonFinite
from evaluators.randomness import seeded, uniform
from problems.op_aco import SIZES, distances, instances, longest, objective, prizes, problem, run, solve

HASHES = {
    ("train", 50): ("baa21790ef499def", "5c62a8bdb09c8dd7"),
    ("val", 50): ("c5fba106ecdba66a", "1571cd63ef6003bd"),
    ("val", 100): ("9635543e354dbf25", "9228a507dcabb315"),
    ("val", 200): ("89f328e740686c79", "83d07f0ee9fb75de"),
    ("test", 50): ("b928c3db445849ea", "0d157b8861e9976d"),
    ("test", 100): ("b71b4d0cdfe5092d", "a2049af6567a01cd"),
    ("test", 200): ("371111fe473dc0e6", "e407f75d87c51efc"),
}
EVERY = [(split, size) for split, sizes in SIZES.items() for size in sizes]


def gain(prize: np.ndarray, distance: np.ndarray, maxlen: float) -> np.ndarray:
    return prize / distance


def loaded(name: str) -> Any:
    return load(problem.heuristics[name], problem.function, problem.arguments)


def digest(array: np.ndarray) -> str:
    return hashlib.sha256(array.tobytes()).hexdigest()[:16]


@pytest.mark.parametrize(("split", "size"), EVERY)
def test_instances_are_those_of_the_recipe(split: str, size: int) -> None:
    """Coordinates and prizes bit for bit, pinned by hash; read-only."""
    array = instances(split, size)
    assert array.shape == (5 if split == "train" else 64, size, 2)
    assert digest(array) == HASHES[split, size][0]
    assert digest(np.stack([prizes(nodes) for nodes in array])) == HASHES[split, size][1]
    assert not array.flags.writeable


def test_prizes_and_limits() -> None:
    """Prizes are whole parts of the largest, which is 1 and farthest away; node 0 has the least."""
    for nodes in instances("train", 50):
        found = prizes(nodes)
        np.testing.assert_allclose(found * 100, np.round(found * 100), atol=1e-9)
        assert found.max() == found[distances(nodes)[0, 1:].argmax() + 1] == 1
        assert found.min() == found[0] == 0.01
    assert [longest(n) for n in (20, 50, 51, 100, 200)] == [3, 3, 4, 4, 5]


def plain_collect(
    chance: np.ndarray,
    prize: np.ndarray,
    distance: np.ndarray,
    limit: float,
    colony: tuple[int, int],
    seed: int,
) -> tuple[float, list[int]]:
    """The rules once more, as plainly as they can be written, on the same random numbers."""
    state = seeded(seed)
    pheromone = np.ones(distance.shape)
    best: tuple[float, list[int]] = (0.0, [0])
    ants, iterations = colony
    for _ in range(iterations):
        tours = []
        for _ in range(ants):
            tour, length = [0], 0.0
            while True:
                here = tour[-1]
                reach = [
                    node
                    for node in range(len(prize))
                    if node not in tour and length + distance[here, node] + distance[node, 0] <= limit
                ]
                if not reach:
                    break
                upto = np.cumsum([pheromone[here, node] * chance[here, node] for node in reach])
                pick = int(np.searchsorted(upto, uniform(state) * upto[-1], side="right"))
                length += distance[here, reach[pick]]
                tour.append(reach[pick])
            tours.append(tour)
        totals = [float(sum(prize[tour])) for tour in tours]
        best = max([best, *zip(totals, tours, strict=True)], key=lambda found: found[0])
        pheromone *= 0.9
        for tour, total in zip(tours, totals, strict=True):
            for step in pairwise(tour):
                pheromone[step] += total / prize.sum()
    return best


@pytest.mark.parametrize("seed", range(5))
def test_colonies_equal_a_plain_implementation(seed: int) -> None:
    """The compiled solver finds, on the same random numbers, the tour that a naive one finds."""
    nodes = instances("val", 50)[seed][:20]
    prize, distance = prizes(nodes), distances(nodes)
    chance = np.random.RandomState(seed).rand(20, 20)
    total, tour = plain_collect(chance, prize, distance, 2.0, (4, 6), seed)
    value, found = collect(chance, prize, distance, 2.0, 4, 6, 0.9, seed)
    assert value == pytest.approx(total, rel=1e-12)
    assert found.tolist() == tour


def test_steps_are_in_proportion() -> None:
    """The first steps of 20 000 lone ants are as frequent as their chances say."""
    nodes = instances("val", 50)[0][:6]
    chance = np.random.RandomState(1).rand(6, 6) + 0.1
    ants = 20_000
    first = Counter(
        int(collect(chance, prizes(nodes), distances(nodes), 9.0, 1, 1, 0.9, seed)[1][1])
        for seed in range(ants)
    )
    for node in range(1, 6):
        share = chance[0, node] / chance[0, 1:].sum()
        assert abs(first[node] / ants - share) < 3.5 * math.sqrt(share * (1 - share) / ants)


@pytest.mark.parametrize("size", [50, 200])
def test_solutions_are_feasible(size: int) -> None:
    """Tours start at node 0, visit no node twice, come home in time, and have the prizes they claim."""
    for seed, nodes in enumerate(instances("val", size)[:5]):
        distance = distances(nodes)
        value, tour = solve(nodes, gain(prizes(nodes), distance, longest(size)), seed)
        assert tour[0] == 0
        assert len(set(tour)) == len(tour) > 3
        assert distance[tour, np.roll(tour, -1)].sum() <= longest(size) + 1e-12
        assert value == pytest.approx(prizes(nodes)[tour].sum())


@pytest.mark.parametrize(
    ("name", "mean", "deviation", "runs"),
    [("prize per distance", -12.493, 0.234, 6), ("nearest", -12.0483, 0.312, 6)],
)
def test_scores_are_those_of_the_plain_evaluator(name: str, mean: float, deviation: float, runs: int) -> None:
    """Within three standard errors of means measured with benchmarks/plain/op_aco.py."""
    train = instances("train", 50)
    decisions = run(loaded(name), train)
    found = [objective(train, decisions, 100 * seed) for seed in range(20)]
    assert abs(np.mean(found) - mean) < 3 * deviation * math.sqrt(1 / runs + 1 / 20)


@pytest.mark.parametrize("name", problem.heuristics)
def test_known_heuristics(name: str) -> None:
    """Known heuristics are completions of the skeleton, run, and find more than a fifth of all prizes."""
    assert problem.heuristics[name].startswith(problem.skeleton.prefix)
    train = instances("train", 50)
    everything = np.mean([prizes(nodes).sum() for nodes in train])
    assert -everything < objective(train, run(loaded(name), train)) < -everything / 5


def test_the_seed_decides() -> None:
    """Instance i is solved with seed + i: equal seeds give equal objectives, and parts make up the whole."""
    train = instances("train", 50)
    decisions = run(gain, train)
    assert objective(train, decisions, 3) == objective(train, decisions, 3)
    assert objective(train, decisions, 3) != objective(train, decisions, 30)
    parts = [objective(train[i : i + 1], decisions[i : i + 1], 3 + i) for i in range(5)]
    assert objective(train, decisions, 3) == pytest.approx(np.mean(parts), rel=1e-12)


def test_huge_and_tiny_priors_are_taken() -> None:
    """Every finite matrix guides ants, however large or small its entries."""
    train = instances("train", 50)
    for entry in (0.0, -1e300, 1.7e308):
        decisions = np.full((5, 50, 50), entry)
        decisions[:, :, 7] = 1.7e308
        assert -50 < objective(train, decisions) < -2


@pytest.mark.parametrize("kind", ["flat", "short", "integers", "one instance"])
def test_forged_priors_are_refused(kind: str) -> None:
    """The solver takes float64 of one shape and nothing else."""
    train = instances("train", 50)
    good = run(gain, train)
    bad = {
        "flat": good.ravel(),
        "short": good[:, :-1],
        "integers": good.astype(np.int64),
        "one instance": good[:1],
    }[kind]
    with pytest.raises(InvalidSolution):
        objective(train, bad)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_priors_that_are_not_finite_are_refused(value: float) -> None:
    """Inside the sandbox and outside of it."""
    train = instances("train", 50)
    decisions = run(gain, train)
    decisions[1, 3, 4] = value
    with pytest.raises(NonFinite):
        objective(train, decisions)
    with pytest.raises(NonFinite):
        run(lambda prize, distance, maxlen: np.where(distance > 1, value, 1.0), train)


def test_what_the_heuristic_sees() -> None:
    """One call per instance, with read-only prizes and distances and the limit; the diagonal is 1e9."""
    calls = 0

    def spy(prize: np.ndarray, distance: np.ndarray, maxlen: float) -> np.ndarray:
        nonlocal calls
        nodes = instances("train", 50)[calls]
        calls += 1
        np.testing.assert_array_equal(prize, prizes(nodes))
        assert (distance.diagonal() == 1e9).all()
        assert distance[2, 5] == pytest.approx(np.hypot(*(nodes[2] - nodes[5])))
        assert maxlen == 3
        assert not prize.flags.writeable
        assert not distance.flags.writeable
        return distance

    run(spy, instances("train", 50))
    assert calls == 5


@pytest.mark.parametrize(
    ("expression", "error"),
    [("gain[:3]", ValueError), ("prize", ValueError), ("gain / 0", FloatingPointError), ("'a'", ValueError)],
)
def test_skeleton_refuses_bad_priors(expression: str, error: type[Exception]) -> None:
    """Priors of another shape, of another type or not finite are errors."""
    source = f"{problem.skeleton.prefix} {expression}{problem.skeleton.suffix}"
    heuristic = load(source, problem.function, problem.arguments)
    with pytest.raises(error), np.errstate(all="ignore"):
        run(heuristic, instances("train", 50)[:1])
