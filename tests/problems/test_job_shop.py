"""Job shop by dispatching rules: instances, rules, verification."""

import hashlib
from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import pytest

from benchmarks.plain import job_shop as plain
from evaluators.candidate import load
from evaluators.job_shop import competing, dispatch, empty, makespan
from evaluators.outcome import InvalidSolution, NonFinite
from problems.job_shop import SIZES, instances, objective, problem, run

HASHES = {
    ("train", 15): "7ce4fa7f4ffbe3c4",
    ("val", 15): "c90889b139af3b06",
    ("val", 6): "efb568fb98b0d390",
    ("val", 10): "bd487a76ff6557c5",
    ("val", 20): "c338c74815fdd133",
    ("test", 15): "180facbfe03bd36c",
    ("test", 6): "00f272c15f901139",
    ("test", 10): "bc53f10ee8159ecd",
    ("test", 20): "9b186ae90b1aca50",
}
EVERY = [(split, size) for split, sizes in SIZES.items() for size in sizes]
SOME = instances("val", 6)[:3]
FT06 = np.array(
    [
        [[2, 1], [0, 3], [1, 6], [3, 7], [5, 3], [4, 6]],
        [[1, 8], [2, 5], [4, 10], [5, 10], [0, 10], [3, 4]],
        [[2, 5], [3, 4], [5, 8], [0, 9], [1, 1], [4, 7]],
        [[1, 5], [0, 5], [2, 5], [3, 3], [4, 8], [5, 9]],
        [[2, 9], [1, 3], [4, 5], [5, 4], [0, 3], [3, 1]],
        [[1, 3], [3, 3], [5, 9], [0, 10], [4, 4], [2, 1]],
    ]
)
"""The instance of Fisher and Thompson (1963) with 6 jobs; the least makespan is 55."""
FT06_BEST = [int(job) for job in "120203124531502543432150341502534104"]


def most_work(
    times: np.ndarray, ready: np.ndarray, free: int, work: np.ndarray, count: np.ndarray, *_: np.ndarray
) -> Any:
    return work.argmax()


def odd(*values: Any) -> Any:
    """Uses everything it is given."""
    return sum(7 * k * value for k, value in enumerate(values, 1)).argmin() % len(values[0])


def starts(instance: np.ndarray, order: list[int]) -> dict[tuple[int, int], int]:
    """When each operation of a schedule starts, by the definition: after its job and its machine."""
    done = [0] * len(instance)
    ready: dict[Any, int] = {}
    found = {}
    for job in order:
        machine, time = (int(value) for value in instance[job, done[job]])
        found[job, done[job]] = max(ready.get(("job", job), 0), ready.get(("machine", machine), 0))
        ready["job", job] = ready["machine", machine] = found[job, done[job]] + time
        done[job] += 1
    return found


@pytest.mark.parametrize(("split", "size"), EVERY)
def test_instances_are_the_documented_ones(split: str, size: int) -> None:
    """Pinned by hash; jobs on at most 15 machines, each once a job; times 1 to 99; read-only."""
    array = instances(split, size)
    machines = min(size, 15)
    assert array.shape == (32 if split == "test" else 16, size, machines, 2)
    assert array.dtype == np.int64
    assert hashlib.sha256(array.tobytes()).hexdigest().startswith(HASHES[split, size])
    assert (np.sort(array[..., 0], axis=-1) == np.arange(machines)).all()
    assert (array[..., 1].min(), array[..., 1].max()) == (1, 99)
    assert not array.flags.writeable


def test_unlisted_instances_are_refused() -> None:
    """Other sizes raise, naming what there is."""
    with pytest.raises(ValueError, match="15"):
        instances("train", 6)


def test_ft06_has_a_schedule_of_55() -> None:
    """The known optimum of ft06, by an order that the solver of OR-Tools found."""
    assert objective(FT06[None], np.array([FT06_BEST])) == 55
    spans = [objective(FT06[None], run(load_known(name), FT06[None])) for name in problem.heuristics]
    assert min(spans) >= 55


def load_known(name: str) -> Callable[..., Any]:
    return load(problem.heuristics[name], problem.function, problem.arguments)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("shortest time", 1948.9375),
        ("longest time", 1853.125),
        ("first come, first served", 1529.375),
        ("most operations left", 1479.5625),
        ("most work left", 1502.6875),
    ],
)
def test_known_heuristics(name: str, value: float) -> None:
    """Known rules are completions of the skeleton and score what they scored before."""
    source = problem.heuristics[name]
    assert source.startswith(problem.skeleton.prefix)
    assert source.endswith(problem.skeleton.suffix)
    train = instances("train", 15)
    assert objective(train, run(load_known(name), train)) == value


@pytest.mark.parametrize("rule", [most_work, odd])
@pytest.mark.parametrize("size", [6, 10, 20])
def test_schedules_equal_a_plain_implementation(rule: Callable[..., Any], size: int) -> None:
    """The compiled loops show and accept exactly what naive ones do, operation by operation."""
    some = instances("val", size)[:3]
    orders = run(rule, some)
    for order, instance in zip(orders.tolist(), some, strict=True):
        jobs = [[(job, *pair) for pair in row] for job, row in enumerate(instance.tolist())]
        found = plain.schedule(jobs, rule)
        assert order == [job for (job, _, _), _ in found]
        ends = [start + instance[key][1] for key, start in starts(instance, order).items()]
        assert ends == [end for _, end in found]
    assert objective(some, orders) == pytest.approx(plain.evaluate(rule, some), abs=6e-6)


def test_choices_reach_a_best_schedule() -> None:
    """Of all schedules of a small instance, one that choices lead to is among the shortest."""
    machines = np.array([[0, 1, 2], [1, 0, 2], [2, 1, 0]])
    times = np.array([[3, 2, 2], [2, 4, 1], [4, 3, 1]])

    def least(order: list[int]) -> int:
        state, shop = empty(machines, times)
        for job in order:
            dispatch(job, machines, times, state, shop)
        rivals = competing(machines, times, state, shop)
        return min(least([*order, job]) for job in rivals) if len(rivals) else int(state[1].max())

    every = (order for order in product(range(3), repeat=9) if sorted(order) == [0, 0, 0, 1, 1, 1, 2, 2, 2])
    assert least([]) == min(makespan(machines, times, np.array(order)) for order in every)


def test_what_the_heuristic_sees() -> None:
    """At least two rivals on one machine; read-only integers that agree with a schedule kept by hand."""
    instance = SOME[0]
    calls = []

    def spy(*values: Any) -> Any:
        times, ready, free, work, count, following, load = values
        assert type(free) is int
        for array in (times, ready, work, count, following, load):
            assert (array.dtype, array.shape) == (np.int64, times.shape)
            assert not array.flags.writeable
        assert len(times) > 1
        assert ((work > times + following) == (count > 2)).all()
        assert ((following == 0) == (count == 1)).all()
        assert ((load >= following) | (count == 1)).all()
        first = np.maximum(ready, free)
        assert (first < (first + times).min()).all()
        calls.append(values)
        return 0

    run(spy, instance[None])
    _, _, free, work, count, _, _ = calls[0]
    assert free == 0
    assert (count == 6).any()
    whole = instance[:, :, 1].sum(axis=1)
    assert set(work[count == 6]) <= set(whole)


@pytest.mark.parametrize("value", [-1, 15, True, "1", None, 0.5, np.array([1])])
def test_wrong_decisions_are_invalid(value: Any) -> None:
    """Negative, missing and mistyped indices are typed errors."""
    with pytest.raises(InvalidSolution):
        run(lambda *_: value, SOME[:1])


def test_nan_is_nonfinite() -> None:
    """A NaN decision is no invalid index but a non-finite number."""
    with pytest.raises(NonFinite):
        run(lambda *_: float("nan"), SOME[:1])


def bad_orders() -> dict[str, np.ndarray]:
    good = np.tile(np.repeat(np.arange(6), 6), (2, 1))
    repeated, negative, high = good.copy(), good.copy(), good.copy()
    repeated[1, 5] = 1
    negative[0, 3] = -6
    high[0, 35] = 6
    return {
        "repeated": repeated,
        "negative alias": negative,
        "too high": high,
        "float": good.astype(float),
        "short": good[:, :-1],
        "one instance": good[:1],
        "flat": good.ravel(),
        "empty": np.zeros((0, 36), dtype=np.int64),
    }


@pytest.mark.parametrize("name", bad_orders())
def test_forged_orders_are_refused(name: str) -> None:
    """The verifier accepts orders that hold every operation once and nothing else."""
    with pytest.raises(InvalidSolution):
        objective(SOME[:2], bad_orders()[name])


@pytest.mark.parametrize(
    ("expression", "error"),
    [("work[:1]", ValueError), ("1.0", ValueError), ("work / 0", FloatingPointError), ("'a'", ValueError)],
)
def test_skeleton_refuses_bad_scores(expression: str, error: type[Exception]) -> None:
    """Scores of another shape, of another type or not finite are errors, never silently picked from."""
    source = f"{problem.skeleton.prefix} {expression}{problem.skeleton.suffix}"
    heuristic = load(source, problem.function, problem.arguments)
    with pytest.raises(error), np.errstate(all="ignore"):
        run(heuristic, SOME[:1])


def test_references_are_below_what_rules_reach() -> None:
    """A reference, where there is one, is below most work left and names its source."""
    for split, size in EVERY:
        found = problem.reference(split, size)
        if found is not None:
            some = instances(split, size)
            assert 0 < found.value < objective(some, run(most_work, some))
            assert found.source
