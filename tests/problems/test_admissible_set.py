"""Admissible sets: building blocks, the greedy construction, verification."""

from itertools import combinations, product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks.plain import admissible_set as plain
from evaluators.admissible_greedy import greedy, size
from evaluators.admissible_set import ROTATIONS, TRIPLES, WEIGHTS, children, clashes, vectors
from evaluators.candidate import load
from evaluators.outcome import InvalidSolution, NonFinite
from problems.admissible_set import SIZES, instances, objective, problem, run

PROBE = Path(__file__).parents[3] / "shared" / "data" / "probes" / "admissible_constant.py"
EVERY = [(split, size) for split, sizes in SIZES.items() for size in sizes]
TRAIN = instances("train", 15)


def scored(heuristic: Any, n: int = 15) -> float:
    given = instances("test", n)
    return objective(given, run(heuristic, given))


@pytest.mark.parametrize(("split", "n"), EVERY)
def test_instances_are_length_and_weight(split: str, n: int) -> None:
    """One instance of each size, the published pairs; read-only; none of other sizes."""
    array = instances(split, n)
    assert array.tolist() == [[n, {12: 7, 15: 10, 21: 15, 24: 17}[n]]]
    assert not array.flags.writeable
    with pytest.raises(ValueError, match="15"):
        instances("train", 12)


@pytest.mark.parametrize(
    ("n", "w", "count"), [(12, 7, 448), (15, 10, 2432), (21, 15, 68768), (24, 17, 435712)]
)
def test_children_are_all_rows_of_the_weight_in_order(n: int, w: int, count: int) -> None:
    """As many as a count by generating function says, each once, lexicographic; (24, 17) has 435,712."""
    rows = children(n, w)
    weights = np.zeros(1, dtype=np.int64) + 1
    for _ in range(n // 3):
        weights = np.convolve(weights, np.bincount(WEIGHTS))
    assert rows.shape == (count, n // 3)
    assert weights[w] == count
    assert (WEIGHTS[rows].sum(axis=1) == w).all()
    codes = rows.astype(np.int64) @ 7 ** np.arange(n // 3)[::-1]
    assert (np.diff(codes) > 0).all()
    if n <= 15:
        assert [tuple(row) for row in rows.tolist()] == plain.children(n, w)


def test_blocks_and_clashes() -> None:
    """35 sets of three blocks clash; two of a block clash with those that weigh no more."""
    table = clashes()
    assert ROTATIONS.tolist() == [1, 3, 3, 3, 3, 1, 1]
    found = {tuple(sorted((x, y, z))) for x, y, z in product(range(7), repeat=3) if table[x, y] >> z & 1}
    assert len(found) == 35
    assert (table == table.T).all()
    for x, z in product(range(7), repeat=2):
        assert bool(table[x, x] >> z & 1) == (WEIGHTS[z] <= WEIGHTS[x])


def test_the_set_is_admissible_by_definition() -> None:
    """Vectors of the weight, supports all different, every three told apart by a coordinate; none more."""
    n, w = 9, 5
    rows = children(n, w)
    taken = rows[greedy(np.random.RandomState(0).rand(len(rows)), n, w)]
    found = [np.array(v) for row in taken.tolist() for v in plain._rotated(tuple(row))]
    assert len(found) == -plain.solve(np.random.RandomState(0).rand(1, len(rows)), np.array([[n, w]]))
    assert all(np.count_nonzero(v) == w for v in found)
    assert len({tuple(v != 0) for v in found}) == len(found)
    three = np.sort(np.array(found)[np.array(list(combinations(range(len(found)), 3)))], axis=1)
    kinds = three.transpose(0, 2, 1) @ np.array([9, 3, 1])
    assert np.isin(kinds, [0 * 9 + 0 * 3 + 1, 0 * 9 + 0 * 3 + 2, 0 * 9 + 1 * 3 + 2]).any(axis=1).all()


@pytest.mark.parametrize(("n", "w"), [(6, 4), (9, 5), (12, 7)])
@pytest.mark.parametrize("seed", range(3))
def test_greedy_equals_a_plain_implementation(n: int, w: int, seed: int) -> None:
    """The listing of what is struck out does what going through all rows does, ties included."""
    scores = np.random.RandomState(seed).randint(0, 40 if seed else 2, size=len(children(n, w))).astype(float)
    assert -size(scores, n, w) == plain.solve(scores[None], np.array([[n, w]]))


@pytest.mark.parametrize(("n", "value"), [(12, -690), (15, -1842), (21, -9647)])
def test_constant_priority(n: int, value: float) -> None:
    """-1842 on (15, 10), as the public evaluator says; the others as a plain implementation says."""
    assert scored(lambda el, n, w: 0.0, n) == value


def test_the_probe_runs_unchanged() -> None:
    """The probe file, where it is at hand, scores -1842."""
    if not PROBE.is_file():
        pytest.skip("no probes here")
    assert scored(load(PROBE.read_text(), problem.function, problem.arguments)) == -1842


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("constant", -1842),
        ("few full blocks", -2712),
        ("large steps", -2718),
    ],
)
def test_known_heuristics(name: str, value: float) -> None:
    """Known heuristics are completions of the skeleton and score what they scored before."""
    source = problem.heuristics[name]
    assert source.startswith(problem.skeleton.prefix)
    assert source.endswith(problem.skeleton.suffix)
    assert scored(load(source, problem.function, problem.arguments)) == value


@pytest.mark.parametrize("n", [12, 21])
def test_what_the_heuristic_sees(n: int) -> None:
    """Every vector once, a tuple of Python integers with the weight's non-zero entries, in order."""
    seen = []

    def spy(el: Any, length: Any, w: Any) -> float:
        assert (type(el), type(el[0]), type(length), type(w)) == (tuple, int, int, int)
        assert (len(el), length - el.count(0)) == (length, w)
        seen.append(el)
        return 0.0

    given = instances("test", n)
    assert run(spy, given).shape == (1, len(seen))
    rows = children(*given[0])
    np.testing.assert_array_equal(np.array(seen), vectors(rows))
    assert seen[0] == sum((TRIPLES[block] for block in rows[0]), ())


@pytest.mark.parametrize("value", [1, True, np.float32(1.5), np.int64(3), np.array(2.0), 10**30])
def test_numbers_of_any_kind_are_priorities(value: Any) -> None:
    """Integers, booleans, NumPy scalars, 0-d arrays and integers beyond 64 bits count as numbers."""
    assert scored(lambda el, n, w: value) == -1842


@pytest.mark.parametrize("value", [None, "1", 1j, np.ones(1), [1.0], (1, 2)])
def test_other_priorities_are_invalid(value: Any) -> None:
    """What is no single real number is a typed error."""
    with pytest.raises(InvalidSolution):
        run(lambda el, n, w: value, TRAIN)
    with pytest.raises(InvalidSolution):
        run(lambda el, n, w: value if el[0] else 1.0, TRAIN)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf"), 10**400])
def test_priorities_have_to_be_finite(value: Any) -> None:
    """NaN and infinity, even for one vector, are non-finite."""
    with pytest.raises(NonFinite):
        run(lambda el, n, w: value if el[0] == 2 else 0, TRAIN)


def test_forged_priorities_are_refused() -> None:
    """The objective takes one finite float64 for each vector and nothing else."""
    good = np.zeros((1, 2432))
    assert objective(TRAIN, good) == -1842
    for bad in (good[:, :-1], good[0], np.zeros((2, 2432)), good.astype(int), np.zeros((1, 0))):
        with pytest.raises(InvalidSolution):
            objective(TRAIN, bad)
    bad = good.copy()
    bad[0, 7] = np.nan
    with pytest.raises(NonFinite):
        objective(TRAIN, bad)


@pytest.mark.parametrize("expression", ["'a'", "None", "el", "float('nan')", "1e999"])
def test_skeleton_refuses_bad_scores(expression: str) -> None:
    """Scores of another type or not finite are errors."""
    source = f"{problem.skeleton.prefix} {expression}{problem.skeleton.suffix}"
    with pytest.raises((TypeError, FloatingPointError)):
        run(load(source, problem.function, problem.arguments), TRAIN)


def test_references() -> None:
    """The best sizes known; none above the number of supports."""
    found = [problem.reference("test", n) for n in (12, 15, 21, 24)]
    assert [each.value for each in found if each] == [-792, -3003, -43596, -237984]
    assert problem.reference("train", 12) is None
