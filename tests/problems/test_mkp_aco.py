"""Multidimensional knapsack by ant colony: instances, rules, verification."""

import hashlib
import math
from typing import Any

import numpy as np
import pytest

from evaluators.aco_packing import fill
from evaluators.candidate import load
from evaluators.guidance import pull
from evaluators.outcome import InvalidSolution, NonFinite
from evaluators.randomness import seeded, uniform
from problems.mkp_aco import SIZES, instances, objective, problem, run, solve

HASHES = {
    ("train", 100): "4ebc7eaf96a0a076",
    ("val", 100): "d776f87cc0a8aa72",
    ("val", 300): "2fc458b0ba0ed046",
    ("val", 500): "ef6b1d0df6e047fb",
    ("test", 100): "e072164508f17d02",
    ("test", 200): "d7a474ba2d21bd6d",
    ("test", 300): "98725bb2a2d1b1c5",
    ("test", 500): "f9a693a341cc10f0",
    ("test", 1000): "d19d87bc4e578111",
}
EVERY = [(split, size) for split, sizes in SIZES.items() for size in sizes]


def ratio(prize: np.ndarray, weight: np.ndarray) -> np.ndarray:
    return prize / weight.sum(axis=1)


def loaded(name: str) -> Any:
    return load(problem.heuristics[name], problem.function, problem.arguments)


def small(seed: int, n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Random pulls, prizes and weights of which about half fit."""
    generator = np.random.RandomState(seed)
    weights = generator.rand(n, 3)
    return generator.rand(n) + 0.05, generator.rand(n), weights / weights.sum(axis=0) * 2


def expected(
    chance: np.ndarray, prizes: np.ndarray, weights: np.ndarray, used: np.ndarray, left: frozenset[int]
) -> float:
    """Expected prize of an ant that chooses in proportion to ``chance`` among what fits, step by step."""
    fitting = [item for item in left if (used + weights[item] <= 1).all()]
    total = sum(chance[item] for item in fitting)
    return sum(
        chance[item]
        / total
        * (
            prizes[item]
            + expected(chance, prizes, weights, used + weights[item], frozenset(fitting) - {item})
        )
        for item in fitting
    )


@pytest.mark.parametrize(("split", "size"), EVERY)
def test_instances_are_those_of_the_recipe(split: str, size: int) -> None:
    """Bit for bit, pinned by hash; limits of 1 that every item fits and all items do not; read-only."""
    array = instances(split, size)
    assert array.shape == (64 if split == "test" else 5, size, 6)
    assert hashlib.sha256(array.tobytes()).hexdigest().startswith(HASHES[split, size])
    assert (array[:, :, 1:] <= 1).all()
    assert (array[:, :, 1:].sum(axis=1) >= 1).all()
    assert not array.flags.writeable


@pytest.mark.parametrize("seed", range(3))
def test_one_sort_is_choosing_step_by_step(seed: int) -> None:
    """The mean prize of 20 000 lone ants is the expected one of ants that choose one item at a time."""
    chance, prizes, weights = small(seed, 6)
    exact = expected(chance, prizes, weights, np.zeros(3), frozenset(range(6)))
    found = np.array([fill(chance, prizes, weights, 1, 1, 0.9, k)[0] for k in range(20_000)])
    assert abs(found.mean() - exact) < 3.5 * found.std() / math.sqrt(len(found))


def plain_fill(
    chance: np.ndarray, prizes: np.ndarray, weights: np.ndarray, seed: int
) -> tuple[float, set[int]]:
    """The colony once more, with 4 ants and 6 iterations, on the same random numbers."""
    state = seeded(seed)
    pheromone = np.ones(len(prizes))
    best: tuple[float, set[int]] = (0.0, set())
    for _ in range(6):
        ants: list[tuple[float, set[int]]] = []
        for _ in range(4):
            keys = [-math.log(1 - uniform(state)) / (p * c) for p, c in zip(pheromone, chance, strict=True)]
            used, taken = np.zeros(weights.shape[1]), set()
            for item in sorted(range(len(prizes)), key=keys.__getitem__):
                if (used + weights[item] <= 1).all():
                    used += weights[item]
                    taken.add(item)
            ants.append((sum(prizes[item] for item in taken), taken))
        best = max([best, *ants], key=lambda ant: ant[0])
        pheromone *= 0.9
        for prize, taken in ants:
            pheromone[list(taken)] += prize / prizes.sum()
    return best


@pytest.mark.parametrize("seed", range(5))
def test_colonies_equal_a_plain_implementation(seed: int) -> None:
    """The compiled solver finds, on the same random numbers, what a naive one finds."""
    chance, prizes, weights = small(seed, 30)
    best, taken = plain_fill(chance, prizes, weights, seed)
    value, chosen = fill(chance, prizes, weights, 4, 6, 0.9, seed)
    assert value == pytest.approx(best, rel=1e-12)
    assert set(np.flatnonzero(chosen)) == taken


def test_solutions_are_feasible() -> None:
    """The items taken fit, nothing else would, and their prizes are the value."""
    for seed, items in enumerate(instances("val", 300)):
        value, chosen = solve(items, ratio(items[:, 0], items[:, 1:]), seed)
        used = items[chosen, 1:].sum(axis=0)
        assert (used <= 1 + 1e-12).all()
        assert ((used + items[~chosen, 1:]) > 1).any(axis=1).all()
        assert value == pytest.approx(items[chosen, 0].sum())


@pytest.mark.parametrize(
    ("name", "mean", "deviation", "runs"),
    [
        ("prize per weight", -22.1568, 0.056, 6),
        ("greatest prize", -21.5972, 0.152, 6),
    ],
)
def test_scores_are_those_of_the_plain_evaluator(name: str, mean: float, deviation: float, runs: int) -> None:
    """Within three standard errors of means measured with benchmarks/plain/mkp_aco.py."""
    train = instances("train", 100)
    decisions = run(loaded(name), train)
    found = [objective(train, decisions, 100 * seed) for seed in range(20)]
    assert abs(np.mean(found) - mean) < 3 * deviation * math.sqrt(1 / runs + 1 / 20)


@pytest.mark.parametrize("name", problem.heuristics)
def test_known_heuristics(name: str) -> None:
    """Known heuristics are completions of the skeleton, run, and find more than a third of all prizes."""
    assert problem.heuristics[name].startswith(problem.skeleton.prefix)
    train = instances("train", 100)
    everything = train[:, :, 0].sum(axis=1).mean()
    assert -everything < objective(train, run(loaded(name), train)) < -everything / 3


def test_the_seed_decides() -> None:
    """Instance i is solved with seed + i: equal seeds give equal objectives, and parts make up the whole."""
    train = instances("train", 100)
    decisions = run(ratio, train)
    assert objective(train, decisions, 3) == objective(train, decisions, 3)
    assert objective(train, decisions, 3) != objective(train, decisions, 4)
    parts = [objective(train[i : i + 1], decisions[i : i + 1], 3 + i) for i in range(5)]
    assert objective(train, decisions, 3) == pytest.approx(np.mean(parts), rel=1e-12)


def test_pull_is_floored_and_scaled() -> None:
    """Floor 1e-9, largest 1; the largest numbers there are do not overflow."""
    np.testing.assert_allclose(pull(np.array([-5.0, 0.0, 1e-9, 2.0])), [5e-10, 5e-10, 1e-9, 1.0], rtol=1e-6)
    assert pull(np.zeros(3)).tolist() == [1.0] * 3
    assert pull(np.array([1e308, 1.79e308, -1e308])).tolist()[2] == 1e-250
    items = instances("train", 100)[0]
    value, _ = solve(items, np.where(items[:, 0] > 0.5, 1.79e308, -1.79e308), 0)
    assert value > 10


@pytest.mark.parametrize("kind", ["flat", "short", "integers", "one instance"])
def test_forged_priors_are_refused(kind: str) -> None:
    """The solver takes float64 of one shape and nothing else."""
    train = instances("train", 100)
    good = run(ratio, train)
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
    train = instances("train", 100)
    decisions = run(ratio, train)
    decisions[1, 3] = value
    with pytest.raises(NonFinite):
        objective(train, decisions)
    with pytest.raises(NonFinite):
        run(lambda prize, weight: np.where(prize > 0.5, value, 1.0), train)


def test_what_the_heuristic_sees() -> None:
    """One call per instance, with its read-only prizes and weights."""
    seen = []

    def spy(prize: np.ndarray, weight: np.ndarray) -> np.ndarray:
        assert not prize.flags.writeable
        assert not weight.flags.writeable
        seen.append(np.column_stack([prize, weight]))
        return prize

    train = instances("train", 100)
    run(spy, train)
    np.testing.assert_array_equal(seen, train)


@pytest.mark.parametrize(
    ("expression", "error"),
    [("ratio[:3]", ValueError), ("1.0", ValueError), ("ratio / 0", FloatingPointError), ("'a'", ValueError)],
)
def test_skeleton_refuses_bad_priors(expression: str, error: type[Exception]) -> None:
    """Priors of another shape, of another type or not finite are errors."""
    source = f"{problem.skeleton.prefix} {expression}{problem.skeleton.suffix}"
    heuristic = load(source, problem.function, problem.arguments)
    with pytest.raises(error), np.errstate(all="ignore"):
        run(heuristic, instances("train", 100)[:1])
