"""Item-by-item knapsack: instances, rules, verification."""

import hashlib
import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from evaluators.candidate import load
from evaluators.outcome import InvalidSolution
from problems.knapsack import SIZES, capacity, instances, objective, problem, run

DATA = Path(__file__).parents[3] / "shared" / "data" / "ahd-benchmark" / "kp_constructive"
HASHES = {
    ("train", 100): "5321a7fa890f0263",
    ("val", 100): "cd8e222f95f791bb",
    ("val", 50): "5cf780ac7d38ef64",
    ("val", 200): "31c6e1fce317105f",
    ("test", 100): "38b24f5e0716b31d",
    ("test", 50): "20d991d5c959a6bb",
    ("test", 200): "0cc7af9ba6739599",
}
EVERY = [(split, size) for split, sizes in SIZES.items() for size in sizes]


def density(remaining_capacity: float, weights: np.ndarray, values: np.ndarray) -> Any:
    return np.argmax(np.where(weights <= remaining_capacity, values / weights, -np.inf))


def plain_choice(heuristic: Callable[..., Any], instance: np.ndarray, left: float) -> list[int]:
    """The rules once more, as plainly as they can be written."""
    items = list(range(len(instance)))
    chosen = []
    while items and min(instance[i, 0] for i in items) <= left:
        weights, values = instance[items, 0], instance[items, 1]
        item = items.pop(int(heuristic(remaining_capacity=left, weights=weights, values=values)))
        left -= float(instance[item, 0])
        chosen.append(item)
    return chosen


@pytest.mark.parametrize(("split", "size"), EVERY)
def test_instances_are_the_published_ones(split: str, size: int) -> None:
    """Bit for bit the recipe, pinned by hash, and the public file where it is at hand; read-only."""
    array = instances(split, size)
    assert array.shape == (1000 if split == "test" else 64, size, 2)
    assert hashlib.sha256(array.tobytes()).hexdigest().startswith(HASHES[split, size])
    file = DATA / f"{split}{size}_dataset.npy"
    if file.is_file():
        np.testing.assert_array_equal(array, np.load(file))
    assert not array.flags.writeable


def test_density_rule_scores_what_is_known() -> None:
    """-40.14595 on the training instances, to five decimals, as measured with the public evaluator."""
    train = instances("train", 100)
    assert objective(train, run(density, train)) == -40.14595


@pytest.mark.parametrize(("name", "value"), [("value per weight", -40.14595), ("greatest value", -38.01236)])
def test_known_heuristics(name: str, value: float) -> None:
    """Known heuristics are completions of the skeleton and score what they scored before."""
    source = problem.heuristics[name]
    assert source.startswith(problem.skeleton.prefix)
    assert source.endswith(problem.skeleton.suffix)
    train = instances("train", 100)
    assert objective(train, run(load(source, problem.function, problem.arguments), train)) == value


@pytest.mark.parametrize("size", [50, 200])
def test_choices_equal_a_plain_implementation(size: int) -> None:
    """The compiled loop shows and accepts exactly what a naive one does."""

    def odd(remaining_capacity: float, weights: np.ndarray, values: np.ndarray) -> Any:
        fits = np.flatnonzero(weights <= remaining_capacity)
        return fits[np.argmax(values[fits] - 0.3 * weights[fits] * remaining_capacity)]

    some = instances("val", size)[:3]
    expected = [plain_choice(odd, instance, capacity(size)) for instance in some]
    assert [[item for item in row if item >= 0] for row in run(odd, some).tolist()] == expected


def test_what_the_heuristic_sees() -> None:
    """Only remaining items, some of which fits; read-only data; capacity that only shrinks."""
    seen: list[tuple[int, float]] = []

    def spy(remaining_capacity: float, weights: np.ndarray, values: np.ndarray) -> Any:
        assert weights.shape == values.shape
        assert weights.min() <= remaining_capacity
        assert not weights.flags.writeable
        assert not values.flags.writeable
        seen.append((len(weights), remaining_capacity))
        return np.argmin(weights)

    run(spy, instances("train", 100)[:1])
    assert seen[0] == (100, 25.0)
    assert [size for size, _ in seen] == list(range(100, 100 - len(seen), -1))
    assert all(a > b for (_, a), (_, b) in itertools.pairwise(seen))


@pytest.mark.parametrize("value", [-1, 100, True, "1", None, 0.5, np.array([0])])
def test_wrong_decisions_are_invalid(value: Any) -> None:
    """Indices out of range and of other types are typed errors; there are no negative aliases."""
    with pytest.raises(InvalidSolution):
        run(lambda *_: value, instances("train", 100)[:1])


def test_an_item_that_does_not_fit_is_invalid() -> None:
    """The heaviest item soon exceeds what is left."""
    with pytest.raises(InvalidSolution, match="does not fit"):
        run(lambda remaining_capacity, weights, values: np.argmax(weights), instances("train", 100)[:1])


def bad_choices() -> dict[str, np.ndarray]:
    good = run(density, instances("val", 50)[:2])
    twice, negative, high, heavy = good.copy(), good.copy(), good.copy(), good.copy()
    twice[0, 1] = twice[0, 0]
    negative[0, 0] = -2
    high[1, 0] = 50
    heavy[0] = np.arange(50)
    return {
        "twice": twice,
        "negative": negative,
        "too high": high,
        "too heavy": heavy,
        "float": good.astype(float),
        "short": good[:, :-1],
        "one instance": good[:1],
        "empty": good[:0],
    }


@pytest.mark.parametrize("name", bad_choices())
def test_forged_choices_are_refused(name: str) -> None:
    """The verifier accepts distinct items that fit and nothing else."""
    with pytest.raises(InvalidSolution):
        objective(instances("val", 50)[:2], bad_choices()[name])


def test_references_are_optima() -> None:
    """No heuristic beats them, and the density rule comes within 0.4%."""
    for split, size in EVERY:
        found = problem.reference(split, size)
        assert found is not None
        reached = (
            objective(instances(split, size), run(density, instances(split, size)))
            if split != "test"
            else None
        )
        if reached is not None:
            assert found.value < reached < 0.996 * found.value
