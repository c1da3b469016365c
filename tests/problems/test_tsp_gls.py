"""Guided local search for the TSP: instances, the loop, verification."""

import hashlib
from typing import Any

import numpy as np
import pytest

from benchmarks.plain import tsp_gls as plain
from evaluators.candidate import load
from evaluators.outcome import InvalidSolution, NonFinite
from problems import tsp_gls
from problems.tsp import distances
from problems.tsp_gls import SIZES, instances, objective, problem, run

HASHES = {
    ("train", 200): "5eeaae473a5742a0",
    ("val", 200): "6c28e881431452a4",
    ("val", 20): "2df77580ce8c585f",
    ("val", 50): "a133939ae7e4f269",
    ("val", 100): "cdfae98d343d1efd",
    ("test", 200): "81b9a3e849b73402",
    ("test", 20): "e3c64d296a44c3c9",
    ("test", 50): "a0db92a95d64db08",
    ("test", 100): "80db3245fb70db03",
    ("test", 500): "7a6330ee884f2422",
    ("test", 1000): "5104cccfc80aa016",
}
EVERY = [(split, size) for split, sizes in SIZES.items() for size in sizes]


def known(name: str) -> Any:
    return load(problem.heuristics[name], problem.function, problem.arguments)


@pytest.mark.parametrize(("split", "size"), EVERY)
def test_instances_are_the_published_ones(split: str, size: int) -> None:
    """The recipe of ReEvo (seeds 5, 3 and 4, sizes in ascending order), pinned by hash; read-only."""
    array = instances(split, size)
    assert array.shape == (10 if split == "train" else 64, size, 2)
    assert hashlib.sha256(array.tobytes()).hexdigest()[:16] == HASHES[split, size]
    assert not array.flags.writeable


@pytest.mark.parametrize(
    ("name", "value"),
    [("plain local search", 11.09574), ("classic penalty", 10.86355)],
)
def test_known_heuristics(name: str, value: float) -> None:
    """Known heuristics are completions of the skeleton and score on train what they scored before."""
    source = problem.heuristics[name]
    assert source.startswith(problem.skeleton.prefix)
    assert source.endswith(problem.skeleton.suffix)
    train = instances("train", 200)
    assert objective(train, run(known(name), train)) == value


def test_no_change_is_plain_local_search() -> None:
    """A heuristic that changes nothing leaves the first local optimum."""
    some = instances("val", 100)[:3]
    unchanged = run(lambda d, tour, used: d, some)
    assert (unchanged == run(known("plain local search"), some)).all()
    assert objective(some, run(known("classic penalty"), some)) < objective(some, unchanged)


@pytest.mark.parametrize("size", [20, 50])
@pytest.mark.parametrize("name", ["plain local search", "classic penalty", "noise"])
def test_equals_a_plain_implementation(size: int, name: str) -> None:
    """The compiled search finds the tours that one in plain Python finds, move by move."""

    def noise(d: np.ndarray, tour: np.ndarray, used: np.ndarray) -> np.ndarray:
        random = np.random.RandomState(int(used.sum()) + int(tour[3]))
        return d * random.uniform(0.5, 1.5, d.shape)

    heuristic = noise if name == "noise" else known(name)
    some = instances("val", size)[:2]
    assert run(heuristic, some).tolist() == [plain.search(heuristic, distances(each)) for each in some]


def test_what_the_heuristic_sees() -> None:
    """ROUNDS calls an instance; true distances, a tour, symmetric counts; all of it read-only."""
    calls = []
    (coordinates,) = some = instances("val", 50)[:1]

    def spy(d: np.ndarray, tour: np.ndarray, used: np.ndarray) -> np.ndarray:
        np.testing.assert_array_equal(d, distances(coordinates))
        assert sorted(tour) == list(range(50))
        assert tour[0] == 0
        assert (used == used.T).all()
        assert not any(array.flags.writeable for array in (d, tour, used))
        calls.append(used.sum())
        changed = d.copy()
        changed[tour[:5], tour[1:6]] += 1.0
        return changed

    run(spy, some)
    assert calls == [2 * tsp_gls.RAISED * k for k in range(tsp_gls.ROUNDS)]


def test_reproducible() -> None:
    """The same heuristic finds the same tours again, whatever ran before."""
    some = instances("val", 50)[:2]
    first = run(known("classic penalty"), some)
    run(known("classic penalty"), some)
    assert (run(known("classic penalty"), some) == first).all()


def test_distances_of_files() -> None:
    """A matrix of distances is searched as the coordinates that it came from."""
    some = instances("val", 50)[:2]
    matrices = np.stack([distances(each) for each in some])
    assert (run(known("classic penalty"), matrices) == run(known("classic penalty"), some)).all()


@pytest.mark.parametrize(
    ("value", "error"),
    [
        (1.0, InvalidSolution),
        (None, InvalidSolution),
        ("text", InvalidSolution),
        (np.zeros((20, 19)), InvalidSolution),
        (np.zeros((20, 20), dtype=complex), InvalidSolution),
        ([[1], [1, 2]], InvalidSolution),
        (np.full((20, 20), np.nan), NonFinite),
        (np.full((20, 20), np.inf), NonFinite),
    ],
)
def test_wrong_results_are_typed(value: Any, error: type[Exception]) -> None:
    """Results of another shape or type, or not finite, are typed errors."""
    with pytest.raises(error, match="call 1"):
        run(lambda *_: value, instances("val", 20)[:1])


@pytest.mark.parametrize("scale", [-1e300, 1e300, 0.0])
def test_extreme_results(scale: float) -> None:
    """Finite results of any size, and negative ones, end in a tour."""
    some = instances("val", 20)[:2]
    tours = run(lambda d, tour, used: d * scale, some)
    assert objective(some, tours) < 5.0


def test_forged_tours_are_refused() -> None:
    """The verifier accepts permutations that start at node 0 and nothing else."""
    some = instances("val", 20)[:2]
    good = np.tile(np.arange(20), (2, 1))
    repeated, negative, high = good.copy(), good.copy(), good.copy()
    repeated[1, 5], negative[0, 3], high[0, 19] = 6, 3 - 20, 20
    for bad in (
        repeated,
        negative,
        high,
        np.roll(good, 1, axis=1),
        good.astype(float),
        good[:1],
        good[:, 1:],
    ):
        with pytest.raises(InvalidSolution):
            objective(some, bad)
        with pytest.raises(InvalidSolution):
            objective(np.stack([distances(each) for each in some]), bad)


@pytest.mark.parametrize(
    ("expression", "error"),
    [("util[:3]", ValueError), ("1.0", ValueError), ("1 / used", FloatingPointError), ("'a'", ValueError)],
)
def test_skeleton_refuses_bad_scores(expression: str, error: type[Exception]) -> None:
    """Scores of another shape, of another type or not finite are errors."""
    source = f"{problem.skeleton.prefix} {expression}{problem.skeleton.suffix}"
    heuristic = load(source, problem.function, problem.arguments)
    with pytest.raises(error), np.errstate(all="ignore"):
        run(heuristic, instances("val", 20)[:1])
