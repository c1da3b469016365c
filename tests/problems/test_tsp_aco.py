"""TSP by ant colony: instances, what the heuristic sees, the objective and its checks."""

import hashlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from evaluators.candidate import load
from evaluators.outcome import InvalidSolution, NonFinite
from problems import tsp
from problems.tsp_aco import SIZES, instances, objective, problem, run

SHARED = Path(__file__).parents[3] / "shared" / "data"
DATA = SHARED / "ahd-benchmark" / "tsp_aco"
HASHES = {
    ("train", 50): "baa21790ef499def",
    ("val", 50): "86e71270dd2d97ae",
    ("val", 20): "94131051455121a8",
    ("val", 100): "d76fb2ec9232b60c",
    ("test", 50): "09fdec5d88dd84e1",
    ("test", 100): "de3ba252cdce62e5",
}
EVERY = [(split, size) for split, sizes in SIZES.items() for size in sizes]
PUBLIC = (6.489, 6.587, 6.482)
"""Objectives of the inverse distance by the public evaluator."""


def inverse(distance_matrix: np.ndarray) -> Any:
    return 1 / distance_matrix


@pytest.mark.parametrize(("split", "size"), EVERY)
def test_instances_are_the_published_ones(split: str, size: int) -> None:
    """Bit for bit the recipe, pinned by hash, and the public file where it is at hand; read-only."""
    array = instances(split, size)
    assert array.shape == (5 if split == "train" else 64, size, 2)
    assert hashlib.sha256(array.tobytes()).hexdigest().startswith(HASHES[split, size])
    file = DATA / f"{split}{size}_dataset.npy"
    if file.is_file():
        np.testing.assert_array_equal(array, np.load(file))
    assert not array.flags.writeable


def test_training_instances_are_those_of_tsp() -> None:
    """They are the head of what ``tsp`` trains on, as the module warns."""
    np.testing.assert_array_equal(instances("train", 50), tsp.instances("train", 50)[:5])


def test_inverse_distance_scores_what_is_known() -> None:
    """Twelve seeds agree with three runs of the public evaluator, within three standard errors."""
    train = instances("train", 50)
    matrices = run(inverse, train)
    values = [objective(train, matrices, 100 * seed) for seed in range(12)]
    error = np.std(values, ddof=1) * np.sqrt(1 / len(values) + 1 / len(PUBLIC))
    assert 0.01 < error < 0.1
    assert abs(np.mean(values) - np.mean(PUBLIC)) < 3 * error


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
        assert 5.7 < value < 6.2


def test_the_probe_runs_unchanged() -> None:
    """A heuristic written for the public evaluator is the inverse distance here too."""
    file = SHARED / "probes" / "tsp_aco_inverse.py"
    if not file.is_file():
        pytest.skip("no probes at hand")
    probe = load(file.read_text(), problem.function, problem.arguments)
    some = instances("val", 20)[:2]
    np.testing.assert_array_equal(run(probe, some), run(inverse, some))


def test_what_the_heuristic_sees() -> None:
    """One call per instance, with read-only distances and 1 on the diagonal."""
    some = instances("val", 20)[:2]
    seen = []

    def spy(distance_matrix: np.ndarray) -> Any:
        assert not distance_matrix.flags.writeable
        seen.append(distance_matrix)
        return distance_matrix

    matrices = run(spy, some)
    assert matrices.shape == (2, 20, 20)
    for matrix, nodes in zip(seen, some, strict=True):
        assert (matrix.diagonal() == 1).all()
        np.testing.assert_allclose(matrix, tsp.distances(nodes) + np.eye(20), atol=1e-15)


@pytest.mark.parametrize("value", [None, 1.0, np.ones(20), np.ones((20, 21)), np.full((20, 20), "1")])
def test_wrong_results_are_invalid(value: Any) -> None:
    """What is no (n, n) array of numbers is a typed error."""
    with pytest.raises(InvalidSolution):
        run(lambda _: value, instances("val", 20)[:1])


def test_nan_is_nonfinite() -> None:
    """So are NaN and infinite entries."""
    for number in (np.nan, np.inf, -np.inf):
        with pytest.raises(NonFinite):
            run(lambda _, number=number: np.full((20, 20), number), instances("val", 20)[:1])


def test_forged_matrices_are_refused() -> None:
    """The trusted side takes finite float64 of the right shape and nothing else."""
    some = instances("val", 20)[:2]
    good = np.ones((2, 20, 20))
    for bad in (good[:1], good[:, :19], good.ravel(), good.astype(np.int64), np.zeros((0, 20, 20))):
        with pytest.raises(InvalidSolution):
            objective(some, bad, 0)
    for number in (np.nan, np.inf, 1e39):
        with pytest.raises(NonFinite):
            objective(some, np.full(good.shape, number), 0)


@pytest.mark.parametrize(
    ("expression", "error"),
    [
        ("near[:3]", ValueError),
        ("1.0", ValueError),
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


def test_references_are_below_what_heuristics_reach() -> None:
    """Every reference is a plausible optimum: below a colony's best, above 0.7 sqrt(n)."""
    for split, size in EVERY:
        found = problem.reference(split, size)
        if found is not None:
            assert 0.7 * np.sqrt(size) < found.value < 0.93 * np.sqrt(size)
