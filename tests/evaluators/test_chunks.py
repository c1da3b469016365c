"""Evaluations in several processes, each with some of the instances."""

import dataclasses
import os
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from evaluators.outcome import InvalidSolution, Status
from evaluators.sandbox import Sandbox
from problems.tsp import problem as tsp
from tests.evaluators.aftermath import assert_unharmed

FIRST = "def select_next_node(a, b, c, d):\n    return d[0, 0]\n"
Judged = list[tuple[int, int, float]]
"""Per call of the objective: number of instances, seed, what it returned."""


def told(heuristic: Callable[..., Any], instances: np.ndarray) -> np.ndarray:
    """Per instance: its first number, what the heuristic returns, and the process."""
    return np.array([[each[0, 0], heuristic(0, 0, np.arange(9), each), os.getpid()] for each in instances])


@pytest.fixture(scope="module")
def judged() -> Judged:
    return []


@pytest.fixture(scope="module")
def chunked(judged: Judged) -> Iterator[Sandbox]:
    """A seeded problem of 64 training instances, 10 to a process; objective: mean of what is returned."""

    def objective(instances: np.ndarray, decisions: np.ndarray, seed: int) -> float:
        assert (decisions[:, 0] == instances[:, 0, 0]).all()
        assert len(set(decisions[:, 2])) == 1
        if (decisions[:, 1] < 0).any():
            raise InvalidSolution("below 0")
        judged.append((len(instances), seed, float(decisions[:, 1].mean())))
        return judged[-1][2]

    problem = dataclasses.replace(
        tsp,
        heuristics={"first": FIRST},
        run=told,
        objective=objective,
        seeded=True,
        chunk=10,
        compiled=None,
        time_limit=20.0,
    )
    with Sandbox(problem, memory_mb=512) as made:
        made.submit(FIRST).result()  # what a worker judges to warm up is done by then
        yield made


def test_each_chunk_is_judged_apart(chunked: Sandbox, judged: Judged) -> None:
    """All instances are seen once, in order; the seed of a chunk is that of the job plus the number of its
    first instance; the objective is the mean over instances, also where the last chunk is smaller."""
    judged.clear()
    outcome = chunked.submit(FIRST, seed=100).result(timeout=60)
    assert [(count, seed) for count, seed, _ in judged] == [
        *((10, 100 + first) for first in range(0, 60, 10)),
        (4, 160),
    ]
    expected = tsp.instances("train", 50)[:, 0, 0].mean()
    assert outcome.objective == pytest.approx(float(expected), rel=1e-15)
    assert outcome.path == "interpreted"


def test_no_state_passes_from_chunk_to_chunk(chunked: Sandbox, judged: Judged) -> None:
    """Each chunk has a process of its own."""
    judged.clear()
    source = "calls = [0]\ndef select_next_node(a, b, c, d):\n    calls[0] += 1\n    return calls[0]\n"
    assert chunked.submit(source).result(timeout=60).ok
    assert [mean for _, _, mean in judged] == [5.5] * 6 + [2.5]


def test_the_first_failure_ends_it(chunked: Sandbox, judged: Judged) -> None:
    """Whether the candidate raises or is refused; later chunks do not run."""
    value = float(tsp.instances("train", 50)[25, 0, 0])
    for what, status in (("1 / 0", Status.RUNTIME_ERROR), ("-1", Status.INVALID_SOLUTION)):
        judged.clear()
        source = f"def select_next_node(a, b, c, d):\n    return ({what}) if d[0, 0] == {value!r} else 1\n"
        outcome = chunked.submit(source).result(timeout=60)
        assert outcome.status is status
        assert len(judged) == 2


def test_limits_are_shares(chunked: Sandbox) -> None:
    """A chunk gets its share of the limit, at least 1 s where the whole limit allows for that."""
    slow = "import time\ndef select_next_node(a, b, c, d):\n    time.sleep({})\n    return 1\n"
    outcome = chunked.submit(slow.format(0.4), time_limit=12.0).result(timeout=60)
    assert outcome.status is Status.TIMEOUT
    assert outcome.detail == "used its 1.875 s"
    outcome = chunked.submit(slow.format(0.4), time_limit=2.0).result(timeout=60)
    assert outcome.detail == "used its 1 s"


def test_fewer_instances_than_a_chunk_are_one() -> None:
    """Without chunks, and with chunks that are large enough, nothing changes."""
    with Sandbox(dataclasses.replace(tsp, chunk=64), memory_mb=512) as sandbox:
        assert_unharmed(sandbox)
