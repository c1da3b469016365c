"""Step-by-step vehicle routing: instances, rules, verification."""

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks.plain import cvrp as plain
from evaluators.candidate import load
from evaluators.distances import euclidean
from evaluators.outcome import InvalidSolution, NonFinite
from problems import cvrp_aco
from problems.cvrp import CAPACITY, SIZES, instances, objective, problem, run

DATA = Path(__file__).parents[3] / "shared" / "data" / "ahd-benchmark" / "cvrp_aco"
HASHES = {
    ("train", 50): "dfb213cfadf8a199",
    ("val", 50): "c7291ea8b078f88f",
    ("val", 20): "12440ded48258954",
    ("val", 100): "2cbb37e3e4396da0",
    ("test", 50): "13b58a132591b3b0",
    ("test", 100): "ae802f8309ff54dc",
}
EVERY = [(split, size) for split, sizes in SIZES.items() for size in sizes]
SOME = instances("val", 20)[:3]


def nearest(
    current: int, depot: int, nodes: np.ndarray, rest: int, demands: np.ndarray, matrix: np.ndarray
) -> Any:
    return nodes[matrix[current, nodes].argmin()]


def homesick(
    current: int, depot: int, nodes: np.ndarray, rest: int, demands: np.ndarray, matrix: np.ndarray
) -> Any:
    """Returns to the depot when that is nearer than any customer."""
    if current != depot and matrix[current, depot] < matrix[current, nodes].min():
        return depot
    return nodes[(matrix[current, nodes] - 0.02 * demands[nodes]).argmin()]


def plain_routes(heuristic: Callable[..., Any], instance: np.ndarray) -> list[int]:
    """The rules once more, as plainly as they can be written."""
    demands = [int(demand) for demand in instance[:, 2]]
    matrix = np.array([[np.hypot(*(a - b)) for b in instance[:, :2]] for a in instance[:, :2]])
    left, visits, rest = set(range(1, len(demands))), [0], CAPACITY
    while left:
        nodes = [node for node in sorted(left) if demands[node] <= rest]
        chosen = 0
        if nodes:
            chosen = int(heuristic(visits[-1], 0, np.array(nodes), rest, np.array(demands), matrix))
        rest = CAPACITY if chosen == 0 else rest - demands[chosen]
        left -= {chosen}
        visits.append(chosen)
    return visits[1:] + [0] * (2 * len(demands) - 1 - len(visits))


@pytest.mark.parametrize(("split", "size"), EVERY)
def test_instances_are_the_published_ones(split: str, size: int) -> None:
    """Bit for bit the recipe, pinned by hash; the public file where it is at hand; those of cvrp-aco."""
    array = instances(split, size)
    assert array.shape == (10 if split == "train" else 64, size + 1, 3)
    assert hashlib.sha256(array.tobytes()).hexdigest().startswith(HASHES[split, size])
    assert not array.flags.writeable
    assert (array[:, 0] == [0.5, 0.5, 0]).all()
    file = DATA / f"{split}{size}_dataset.npy"
    if file.is_file():
        np.testing.assert_array_equal(array, np.load(file)[:, :, [1, 2, 0]])
    np.testing.assert_array_equal(array, cvrp_aco.instances(split, size))


def test_unlisted_instances_are_refused() -> None:
    """Other sizes raise, naming what there is."""
    with pytest.raises(ValueError, match="50"):
        instances("train", 20)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("nearest neighbour", 11.59286),
        ("greatest saving", 10.29455),
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


@pytest.mark.parametrize("heuristic", [nearest, homesick])
@pytest.mark.parametrize("size", [20, 100])
def test_routes_equal_a_plain_implementation(heuristic: Callable[..., Any], size: int) -> None:
    """The compiled loop shows and accepts exactly what a naive one does, returns to the depot included."""
    some = instances("val", size)[:3]
    routes = run(heuristic, some)
    assert routes.tolist() == [plain_routes(heuristic, instance) for instance in some]
    assert objective(some, routes) == pytest.approx(plain.evaluate(heuristic, some), abs=6e-6)


def test_what_the_heuristic_sees() -> None:
    """Unvisited customers that fit, ascending, at least one; Python integers; read-only data; depot 0."""
    calls = []

    def spy(
        current: int, depot: int, nodes: np.ndarray, rest: int, demands: np.ndarray, matrix: np.ndarray
    ) -> Any:
        assert (type(current), depot, type(rest)) == (int, 0, int)
        assert len(nodes) > 0
        assert (np.diff(nodes) > 0).all()
        assert (demands[nodes] <= rest).all()
        assert demands[0] == 0
        assert current not in nodes
        for array in (nodes, demands, matrix):
            assert not array.flags.writeable
        calls.append(rest)
        return nodes[-1]

    run(spy, SOME[:1])
    assert len(calls) == 20
    assert calls.count(CAPACITY) == -(-int(SOME[0, :, 2].sum()) // CAPACITY)


@pytest.mark.parametrize("value", [0, -1, 21, True, "1", None, 1.5, np.array([1])])
def test_wrong_decisions_are_invalid(value: Any) -> None:
    """The depot at the depot, negative, missing and mistyped nodes are typed errors."""
    with pytest.raises(InvalidSolution):
        run(lambda *_: value, SOME[:1])


def test_a_customer_is_served_once_and_has_to_fit() -> None:
    """The same customer twice, and one whose demand exceeds what is left, are invalid."""
    with pytest.raises(InvalidSolution, match="visited before"):
        run(lambda *_: 1, SOME[:1])

    def greedy(
        current: int, depot: int, nodes: np.ndarray, rest: int, demands: np.ndarray, matrix: np.ndarray
    ) -> Any:
        heavy = [node for node in range(1, 21) if demands[node] > rest and node not in served]
        served.append((heavy or list(nodes))[0])
        return served[-1]

    served: list[int] = []
    with pytest.raises(InvalidSolution, match="does not fit"):
        run(greedy, SOME[:1])


def test_nan_is_nonfinite() -> None:
    """A NaN decision is no invalid node but a non-finite number."""
    with pytest.raises(NonFinite):
        run(lambda *_: float("nan"), SOME[:1])


def test_objective_is_the_length_of_all_routes() -> None:
    """A route for every customer is twice the distances from the depot; further zeros cost nothing."""
    apart = np.zeros((3, 40), dtype=np.int64)
    apart[:, ::2] = np.arange(1, 21)
    lengths = [2 * euclidean(instance[:, :2])[0].sum() for instance in SOME]
    assert objective(SOME, apart) == pytest.approx(np.mean(lengths), abs=6e-6)


def bad_routes() -> dict[str, np.ndarray]:
    good = np.zeros((3, 40), dtype=np.int64)
    good[:, ::2] = np.arange(1, 21)
    repeated, missing, negative, high, heavy = (good.copy() for _ in range(5))
    repeated[1, 1] = 6
    missing[2, 4] = 0
    negative[0, 4] = 3 - 21
    high[0, 38] = 21
    heavy[1] = np.sort(heavy[1])
    return {
        "repeated": repeated,
        "missing": missing,
        "negative alias": negative,
        "too high": high,
        "too heavy": heavy,
        "float": good.astype(float),
        "short": good[:, :-1],
        "one instance": good[:1],
        "flat": good.ravel(),
        "empty": np.zeros((0, 40), dtype=np.int64),
    }


@pytest.mark.parametrize("name", bad_routes())
def test_forged_routes_are_refused(name: str) -> None:
    """The verifier accepts routes that serve every customer once within the capacity, nothing else."""
    with pytest.raises(InvalidSolution):
        objective(SOME, bad_routes()[name])


@pytest.mark.parametrize(
    ("expression", "error"),
    [("near[:3]", ValueError), ("1.0", ValueError), ("near / 0", FloatingPointError), ("'a'", ValueError)],
)
def test_skeleton_refuses_bad_scores(expression: str, error: type[Exception]) -> None:
    """Scores of another shape, of another type or not finite are errors, never silently picked from."""
    source = f"{problem.skeleton.prefix} {expression}{problem.skeleton.suffix}"
    heuristic = load(source, problem.function, problem.arguments)
    with pytest.raises(error), np.errstate(all="ignore"):
        run(heuristic, SOME[:1])


def test_references_are_below_what_heuristics_reach() -> None:
    """A reference, where there is one, is below nearest neighbour and names its source."""
    for split, size in EVERY:
        found = problem.reference(split, size)
        if found is not None:
            some = instances(split, size)
            assert 0 < found.value < objective(some, run(nearest, some))
            assert found.source
