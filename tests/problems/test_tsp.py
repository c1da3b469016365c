"""Step-by-step TSP: instances, rules, verification."""

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from evaluators.candidate import load
from evaluators.outcome import InvalidSolution, NonFinite
from problems.tsp import SIZES, distances, instances, objective, problem, run

DATA = Path(__file__).parents[3] / "shared" / "data" / "ahd-benchmark" / "tsp_constructive"
HASHES = {
    ("train", 50): "bee6f8b6bf7f4678",
    ("val", 50): "5acf8b3df8dd31e7",
    ("val", 20): "2e6c19a872129b81",
    ("val", 100): "5a28275563373138",
    ("val", 200): "ffc620850c9057ed",
    ("test", 50): "77bfc717ec41354b",
    ("test", 20): "00d9878b79883ead",
    ("test", 100): "0a8d6dfe443c6484",
    ("test", 200): "75b74a26813e4b31",
}
EVERY = [(split, size) for split, sizes in SIZES.items() for size in sizes]


def nearest(current: int, destination: int, nodes: np.ndarray, matrix: np.ndarray) -> Any:
    return nodes[0]


def plain_tour(heuristic: Callable[..., Any], coordinates: np.ndarray) -> list[int]:
    """The rules once more, as plainly as they can be written."""
    n = len(coordinates)
    matrix = np.array([[np.hypot(*(a - b)) for b in coordinates] for a in coordinates])
    tour = [0]
    while len(tour) < n - 1:
        left = sorted(set(range(n)) - set(tour), key=lambda node: matrix[tour[-1], node])
        tour.append(int(heuristic(tour[-1], 0, np.array(left[:50]), matrix)))
    return [*tour, *(set(range(n)) - set(tour))]


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


def test_unlisted_instances_are_refused() -> None:
    """Other splits and sizes raise, naming what there is."""
    with pytest.raises(ValueError, match="50"):
        instances("train", 51)
    with pytest.raises(ValueError, match="train"):
        instances("nothing", 50)


def test_nearest_neighbour_scores_what_is_known() -> None:
    """7.00437 on the training instances, to five decimals, as measured with the public evaluator."""
    train = instances("train", 50)
    assert objective(train, run(nearest, train)) == 7.00437


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("nearest neighbour", 7.00437),
        ("nearest minus home", 6.71255),
        ("nearest minus rest", 6.47196),
    ],
)
def test_known_heuristics(name: str, value: float) -> None:
    """Known heuristics are completions of the skeleton and score what they scored before."""
    source = problem.heuristics[name]
    assert source.startswith(problem.skeleton.prefix)
    assert source.endswith(problem.skeleton.suffix)
    heuristic = load(source, problem.function, problem.arguments)
    train = instances("train", 50)
    assert objective(train, run(heuristic, train)) == value


@pytest.mark.parametrize("size", [20, 100])
def test_tours_equal_a_plain_implementation(size: int) -> None:
    """The compiled loop shows and accepts exactly what a naive one does, beyond 50 nodes too."""

    def odd(current: int, destination: int, nodes: np.ndarray, matrix: np.ndarray) -> Any:
        return nodes[
            np.argmax(matrix[current, nodes[:5]] - matrix[destination, nodes[:5]]) if len(nodes) % 2 else -1
        ]

    some = instances("val", size)[:3]
    assert run(odd, some).tolist() == [plain_tour(odd, coordinates) for coordinates in some]


def test_what_the_heuristic_sees() -> None:
    """n - 2 calls; at most 50 unvisited nodes, nearest first; read-only data; destination 0."""
    calls = []

    def spy(current: int, destination: int, nodes: np.ndarray, matrix: np.ndarray) -> Any:
        assert destination == 0
        assert type(current) is int
        assert 0 < len(nodes) <= 50
        assert current not in nodes
        assert (np.diff(matrix[current, nodes]) >= 0).all()
        assert not nodes.flags.writeable
        assert not matrix.flags.writeable
        calls.append(len(nodes))
        return nodes[0]

    run(spy, instances("val", 100)[:1])
    assert calls == [min(50, left) for left in range(99, 1, -1)]


@pytest.mark.parametrize("value", [0, -1, 50, True, "1", None, 1.5, np.array([1])])
def test_wrong_decisions_are_invalid(value: Any) -> None:
    """Visited, negative, missing and mistyped nodes are typed errors."""
    with pytest.raises(InvalidSolution):
        run(lambda *_: value, instances("train", 50)[:1])


def test_nan_is_nonfinite() -> None:
    """A NaN decision is no invalid node but a non-finite number."""
    with pytest.raises(NonFinite):
        run(lambda *_: float("nan"), instances("train", 50)[:1])


def test_objective_is_the_length_of_closed_tours() -> None:
    """Lengths agree with sums over the distance matrix."""
    some = instances("val", 20)[:4]
    tours = np.array([[0, *(np.random.RandomState(k).permutation(19) + 1)] for k in range(4)])
    lengths = [
        sum(distances(c)[a, b] for a, b in zip(tour, np.roll(tour, -1), strict=True))
        for c, tour in zip(some, tours, strict=True)
    ]
    assert objective(some, tours) == pytest.approx(np.mean(lengths), abs=6e-6)


def test_matrices_of_files() -> None:
    """A matrix of distances, as files have, gives the tours and the lengths of the coordinates it is from."""
    some = instances("val", 20)[:4]
    matrices = np.stack([distances(each) for each in some])
    tours = run(nearest, some)
    assert (run(nearest, matrices) == tours).all()
    assert objective(matrices, tours) == objective(some, tours)


def bad_tours() -> dict[str, np.ndarray]:
    good = np.tile(np.arange(20), (2, 1))
    repeated, negative, high, rotated = good.copy(), good.copy(), good.copy(), np.roll(good, 1, axis=1)
    repeated[1, 5] = 6
    negative[0, 3] = 3 - 20
    high[0, 19] = 20
    return {
        "repeated": repeated,
        "negative alias": negative,
        "too high": high,
        "another start": rotated,
        "float": good.astype(float),
        "short": good[:, :-1],
        "one instance": good[:1],
        "flat": good.ravel(),
        "empty": np.zeros((0, 20), dtype=np.int64),
    }


@pytest.mark.parametrize("name", bad_tours())
def test_forged_tours_are_refused(name: str) -> None:
    """The verifier accepts permutations that start at node 0 and nothing else."""
    with pytest.raises(InvalidSolution):
        objective(instances("val", 20)[:2], bad_tours()[name])


@pytest.mark.parametrize(
    ("expression", "error"),
    [
        ("near[:3]", ValueError),
        ("1.0", ValueError),
        ("near / 0", FloatingPointError),
        ("'a'", ValueError),
    ],
)
def test_skeleton_refuses_bad_scores(expression: str, error: type[Exception]) -> None:
    """Scores of another shape, of another type or not finite are errors, never silently picked from."""
    source = f"{problem.skeleton.prefix} {expression}{problem.skeleton.suffix}"
    heuristic = load(source, problem.function, problem.arguments)
    with pytest.raises(error), np.errstate(all="ignore"):
        run(heuristic, instances("train", 50)[:1])


def test_references_are_below_what_heuristics_reach() -> None:
    """Every reference is a plausible optimum: below nearest neighbour, above 0.7 sqrt(n)."""
    for split, size in EVERY:
        found = problem.reference(split, size)
        if found is not None:
            some = instances(split, size)[:64]
            assert 0.7 * np.sqrt(size) < found.value < objective(some, run(nearest, some))
            assert found.source
