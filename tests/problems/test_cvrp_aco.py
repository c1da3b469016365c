"""CVRP by ant colony: instances, what the heuristic sees, the objective and its checks."""

import hashlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from evaluators.aco_routes import ANTS, ITERATIONS, as_priors, routes
from evaluators.candidate import load
from evaluators.outcome import InvalidSolution, NonFinite
from problems.cvrp_aco import CAPACITY, SIZES, instances, objective, problem, run, shown

SHARED = Path(__file__).parents[3] / "shared" / "data"
DATA = SHARED / "ahd-benchmark" / "cvrp_aco"
HASHES = {
    ("train", 50): "dfb213cfadf8a199",
    ("val", 50): "c7291ea8b078f88f",
    ("val", 20): "12440ded48258954",
    ("val", 100): "2cbb37e3e4396da0",
    ("test", 50): "13b58a132591b3b0",
    ("test", 100): "ae802f8309ff54dc",
}
EVERY = [(split, size) for split, sizes in SIZES.items() for size in sizes]
PUBLIC = (18.936, 18.638, 19.249)
"""Objectives of the inverse distance by the public evaluator, which charges ants for waiting."""


def inverse(distance_matrix: np.ndarray, *others: Any) -> Any:
    return 1 / distance_matrix


@pytest.mark.parametrize(("split", "size"), EVERY)
def test_instances_are_the_published_ones(split: str, size: int) -> None:
    """Bit for bit the recipe, pinned by hash, and the public file where it is at hand; read-only.

    The public files have the demand first.
    """
    array = instances(split, size)
    assert array.shape == (10 if split == "train" else 64, size + 1, 3)
    assert hashlib.sha256(array.tobytes()).hexdigest().startswith(HASHES[split, size])
    file = DATA / f"{split}{size}_dataset.npy"
    if file.is_file():
        np.testing.assert_array_equal(array[:, :, [2, 0, 1]], np.load(file))
    assert not array.flags.writeable


@pytest.mark.parametrize(("split", "size"), EVERY)
def test_instances_can_be_served(split: str, size: int) -> None:
    """The depot is in the middle and wants nothing; every customer wants 1 to 9 whole units."""
    array = instances(split, size)
    assert (array[:, 0] == [0.5, 0.5, 0.0]).all()
    assert set(np.unique(array[:, 1:, 2])) <= set(range(1, 10))


def test_inverse_distance_scores_what_is_known() -> None:
    """With their charge for waiting, six seeds agree with three runs of the public evaluator, within three
    standard errors."""
    train = instances("train", 50)
    matrices = run(inverse, train)
    values = [objective(train, matrices, 100 * seed, waiting_charge=True) for seed in range(6)]
    error = np.sqrt(np.var(values, ddof=1) / len(values) + np.var(PUBLIC, ddof=1) / len(PUBLIC))
    assert 0.05 < error < 0.3
    assert abs(np.mean(values) - np.mean(PUBLIC)) < 3 * error


def test_the_objective_is_the_true_cost() -> None:
    """It is the length of routes that keep the rules, and well below what is charged with waiting."""
    train = instances("train", 50)[:3]
    matrices = run(inverse, train)
    costs = []
    for i, (instance, prior) in enumerate(zip(train, as_priors(matrices, 3, 51), strict=True)):
        matrix, places, demands, capacity = shown(instance)
        cost, nodes = routes(matrix, demands, float(capacity), prior, i, ANTS, ITERATIONS, False)
        assert nodes[0] == nodes[-1] == 0
        assert sorted(node for node in nodes if node) == list(range(1, 51))
        loads = [demands[leg].sum() for leg in np.split(nodes, np.flatnonzero(nodes == 0))]
        assert max(loads) <= CAPACITY
        costs.append(np.hypot(*(places[nodes[1:]] - places[nodes[:-1]]).T).sum())
        assert cost == pytest.approx(costs[-1], abs=1e-9)
    assert objective(train, matrices, 0) == pytest.approx(np.mean(costs), abs=1e-9)
    assert objective(train, matrices, 0, waiting_charge=True) > np.mean(costs) + 2


def test_a_seed_fixes_the_objective() -> None:
    """The same seed gives the same objective, another seed another; instance i has the seed plus i."""
    some = instances("val", 20)[:3]
    matrices = run(inverse, some)
    value = objective(some, matrices, 7)
    assert value == objective(some, matrices, 7) != objective(some, matrices, 8)
    alone = [objective(some[i : i + 1], matrices[i : i + 1], 7 + i) for i in range(3)]
    assert value == pytest.approx(np.mean(alone), abs=1e-12)


@pytest.mark.parametrize("name", problem.heuristics)
def test_known_heuristics(name: str) -> None:
    """Known heuristics are completions of the skeleton; all but the simplest beat it."""
    source = problem.heuristics[name]
    assert source.startswith(problem.skeleton.prefix)
    assert source.endswith(problem.skeleton.suffix)
    heuristic = load(source, problem.function, problem.arguments)
    train = instances("train", 50)
    value = objective(train, run(heuristic, train), 0)
    if name == problem.simplest[0]:
        assert value == objective(train, run(inverse, train), 0)
    else:
        assert 8.3 < value < 10.0


def test_the_probe_runs_unchanged() -> None:
    """A heuristic written for the public evaluator is the inverse distance here too."""
    file = SHARED / "probes" / "cvrp_aco_inverse.py"
    if not file.is_file():
        pytest.skip("no probes at hand")
    probe = load(file.read_text(), problem.function, problem.arguments)
    some = instances("val", 20)[:2]
    np.testing.assert_array_equal(run(probe, some), run(inverse, some))


def test_what_the_heuristic_sees() -> None:
    """One call per instance: read-only distances with 1 on the diagonal, places, demands, the capacity."""
    some = instances("val", 20)[:2]
    calls = []

    def spy(matrix: np.ndarray, coordinates: np.ndarray, demands: np.ndarray, capacity: int) -> Any:
        assert not any(array.flags.writeable for array in (matrix, coordinates, demands))
        assert type(capacity) is int
        assert capacity == 50
        calls.append((matrix, coordinates, demands))
        return matrix

    assert run(spy, some).shape == (2, 21, 21)
    for (matrix, coordinates, demands), instance in zip(calls, some, strict=True):
        np.testing.assert_array_equal(np.column_stack([coordinates, demands]), instance)
        assert (matrix.diagonal() == 1).all()
        assert matrix[3, 7] == pytest.approx(np.hypot(*(coordinates[3] - coordinates[7])))


@pytest.mark.parametrize("value", [None, 1.0, np.ones(21), np.ones((20, 20)), np.full((21, 21), "1")])
def test_wrong_results_are_invalid(value: Any) -> None:
    """What is no (n, n) array of numbers is a typed error."""
    with pytest.raises(InvalidSolution):
        run(lambda *_: value, instances("val", 20)[:1])


def test_forged_matrices_are_refused() -> None:
    """The trusted side takes finite float64 of the right shape and nothing else."""
    some = instances("val", 20)[:2]
    good = np.ones((2, 21, 21))
    for bad in (good[:1], good[:, :20], good.ravel(), good.astype(np.int64), np.zeros((0, 21, 21))):
        with pytest.raises(InvalidSolution):
            objective(some, bad, 0)
    for number in (np.nan, np.inf, 1e39):
        with pytest.raises(NonFinite):
            objective(some, np.full(good.shape, number), 0)


@pytest.mark.parametrize(
    ("expression", "error"),
    [
        ("near[:3]", ValueError),
        ("load", ValueError),
        ("near / 0", FloatingPointError),
        ("'a'", ValueError),
    ],
)
def test_skeleton_refuses_bad_priors(expression: str, error: type[Exception]) -> None:
    """Priors of another shape, of another type or not finite are errors."""
    source = f"{problem.skeleton.prefix} {expression}{problem.skeleton.suffix}"
    heuristic = load(source, problem.function, problem.arguments)
    with pytest.raises(error), np.errstate(all="ignore"):
        run(heuristic, instances("val", 20)[:1])
