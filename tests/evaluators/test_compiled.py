"""Compiled candidates: the same outcomes, sooner."""

import dataclasses
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import numpy as np
import pytest
from numba import njit
from numba.core.errors import TypingError

from evaluators import candidate, compiled, sandbox
from evaluators.outcome import Outcome, Status
from evaluators.sandbox import Sandbox
from evaluators.stepwise import integer, readonly, tour
from problems.knapsack import problem as knapsack
from problems.problem import Problem
from problems.tsp import problem as tsp
from tests.evaluators.aftermath import NEAREST, NEAREST_LENGTH, assert_unharmed

NODE = "def select_next_node(current_node, destination_node, unvisited_nodes, distance_matrix):\n"
ITEM = "def select_next_item(remaining_capacity, weights, values):\n"
SCORES = {
    "loop": """
    best, least = None, float("inf")
    for node in unvisited_nodes:
        score = distance_matrix[current_node][node] - 0.3 * distance_matrix[node][destination_node]
        if score < least:
            best, least = node, score
    return best
""",
    "matrix": """
    apart = distance_matrix[unvisited_nodes][:, unvisited_nodes] + np.eye(len(unvisited_nodes))
    near = distance_matrix[current_node, unvisited_nodes]
    score = near - 0.3 * apart.mean(axis=-1) + 0.1 * np.max(apart, axis=0)
    return float(unvisited_nodes[np.argmin(score)])
""",
    "helper": """
    far = [spread(distance_matrix[node], unvisited_nodes) for node in unvisited_nodes]
    near = distance_matrix[current_node, unvisited_nodes].astype(float)
    return int(unvisited_nodes[np.argmin(near - WEIGHT * np.array(far))])

WEIGHT = 0.2

def spread(row, nodes):
    return math.sqrt(np.std(row[nodes]) ** 2)
""",
}
FITS = {
    "array": """
    score = np.where(weights <= remaining_capacity, values / weights**0.9, -1.0)
    return np.asarray(np.argmax(score), dtype=int)
""",
}
IMPORTS = "import math\nimport numpy as np\n"
CASES = {
    **{f"tsp {name}": (tsp, IMPORTS + NODE + body) for name, body in SCORES.items()},
    **{f"knapsack {name}": (knapsack, IMPORTS + ITEM + body) for name, body in FITS.items()},
    "tsp skeleton": (tsp, tsp.simplest[1]),
    "knapsack skeleton": (knapsack, knapsack.simplest[1]),
}


@pytest.fixture(scope="module")
def box() -> Iterator[Sandbox]:
    with Sandbox(tsp, memory_mb=1024) as made:
        yield made


@pytest.fixture
def compiling(box: Sandbox, monkeypatch: pytest.MonkeyPatch) -> Sandbox:
    """A sandbox for ``tsp`` that compiles what 64 instances are decided with."""
    monkeypatch.setattr(sandbox, "COMPILED_FROM", 1)
    monkeypatch.setattr(sandbox, "PATIENCE", 0.0)
    return box


@pytest.mark.parametrize("case", CASES)
def test_both_forms_decide_alike(case: str) -> None:
    """The skeletons, and functions in the manners of models, compile and decide as interpreted."""
    problem, source = CASES[case]
    instances = problem.instances("train", problem.sizes["train"][0])[:8]
    heuristic = candidate.load(source, problem.function, problem.arguments)
    np.testing.assert_array_equal(
        compiled.decisions(problem, source, instances), problem.run(heuristic, instances)
    )


REFUSED = {
    "random numbers": NEAREST + "\nx = np.random.rand()\n",
    "imports time": "import time\n" + NEAREST,
    "uses Try": IMPORTS
    + NODE
    + "    try:\n        return unvisited_nodes[0]\n    except Exception:\n        pass\n",
    "uses Global": "x = 0\n" + NODE + "    global x\n    x += 1\n    return unvisited_nodes[0]\n",
    "decorator": "from functools import cache\n@cache\n" + NODE + "    return unvisited_nodes[0]\n",
    "default": "def select_next_node(a, b, c, d, seen=[]):\n    return c[0]\n",
    "_ahd_finite": NODE + "    return _ahd_finite(unvisited_nodes[0])\n",
}


@pytest.mark.parametrize("reason", REFUSED)
def test_what_would_differ_is_refused(reason: str) -> None:
    """Random numbers, state and modules are seen before anything of the candidate runs."""
    with pytest.raises(compiled.NotCompilable, match=reason.replace("decorator", "functools")):
        compiled.rewritten(REFUSED[reason])


WRONG = {
    "writes to its input": "    unvisited_nodes[0] = unvisited_nodes[-1]\n    return unvisited_nodes[0]\n",
    "no index": "    return unvisited_nodes[len(unvisited_nodes) + 3]\n",
    "no index in an array": "    return unvisited_nodes[np.array([10**6, 0])][0]\n",
    "none": "    if current_node >= 0:\n        return None\n    return unvisited_nodes[0]\n",
    "fraction": "    return unvisited_nodes[0] + 0.5\n",
    "not a number": "    return math.nan\n",
    "truth": "    return True\n",
    "array": "    return unvisited_nodes[:1]\n",
    "division by zero": "    return unvisited_nodes[1 // current_node]\n",
    "root": "    return unvisited_nodes[int(0 * math.sqrt(-1.0 - current_node))]\n",
    "power": "    return unvisited_nodes[int(0 * (-1.0 - current_node) ** 0.5)]\n",
    "integer of nan": "    return unvisited_nodes[0 * int(np.nan * (current_node + 1))]\n",
}


@njit
def once(heuristic: Callable[..., Any], nodes: np.ndarray, matrix: np.ndarray) -> int:
    return integer(heuristic(0, 0, readonly(nodes), readonly(matrix)))


@pytest.mark.parametrize("wrong", WRONG)
def test_what_is_wrong_stays_wrong(wrong: str) -> None:
    """Compiled code decides nothing where Python raises; indices beyond an array do not crash."""
    source = IMPORTS + NODE + WRONG[wrong]
    heuristic = compiled.jitted(compiled.rewritten(source), tsp.function, tsp.arguments)
    with pytest.raises((ValueError, IndexError, ZeroDivisionError, TypingError)):
        once(heuristic, np.arange(1, 4), np.ones((4, 4)))


@pytest.mark.parametrize("node", [0, 1, -1, 50])
def test_choices_that_break_the_rules_raise(node: int) -> None:
    """A node visited before, its negative alias, or none at all."""
    with pytest.raises(ValueError):  # noqa: PT011
        tour(always(), np.zeros((4, 4), np.int64), np.full((4, 4), float(node)), 4)


@cache
def always() -> Any:
    """A compiled heuristic that returns what the matrix holds."""
    source = NODE + "    return distance_matrix[0, 0]\n"
    return compiled.jitted(compiled.rewritten(source), tsp.function, tsp.arguments)


def test_parameters_in_another_order_are_matched_by_name() -> None:
    """As in the interpreted form."""
    source = "def select_next_node(unvisited_nodes, distance_matrix, current_node, destination_node, n=1):\n"
    source += "    return unvisited_nodes[current_node]\n"
    heuristic = compiled.jitted(compiled.rewritten(source), tsp.function, tsp.arguments)
    assert once(heuristic, np.arange(7, 9), np.ones((2, 2))) == 7


def test_a_difference_is_an_error() -> None:
    """A compiled form with other decisions is not used."""

    def other(heuristic: Any, instances: np.ndarray) -> np.ndarray:
        return np.zeros(instances.shape[:2], np.int64)

    problem = dataclasses.replace(tsp, compiled=other)
    with pytest.raises(compiled.NotCompilable, match="otherwise"):
        compiled.decisions(problem, NEAREST, tsp.instances("train", 50)[:2])


def result(box: Sandbox, source: str, **options: Any) -> Outcome:
    return box.submit(source, **options).result(timeout=120)


def test_the_path_taken_is_told(compiling: Sandbox) -> None:
    """``compiled`` where that worked; the outcome is that of the interpreted form."""
    outcome = result(compiling, NEAREST)
    assert (outcome.objective, outcome.path) == (NEAREST_LENGTH, "compiled")
    outcome = result(compiling, "import functools\n" + NEAREST)
    assert (outcome.objective, outcome.path) == (NEAREST_LENGTH, "interpreted")


@pytest.mark.parametrize("body", [WRONG["writes to its input"], WRONG["no index"]])
def test_failures_are_those_of_the_interpreted_form(
    compiling: Sandbox, tsp_sandbox: Sandbox, body: str
) -> None:
    """Status and detail do not depend on whether compiling was tried."""
    one, other = (result(box, IMPORTS + NODE + body) for box in (compiling, tsp_sandbox))
    assert not one.ok
    assert dataclasses.replace(one, seconds=0.0) == dataclasses.replace(other, seconds=0.0)


ENDLESS = (
    NODE
    + "    return endless(current_node)\n\ndef endless(n):\n    return endless(n + 1) + 1 if n >= 0 else 0\n"
)


def test_a_crash_of_compiled_code_is_nobodys_loss(compiling: Sandbox) -> None:
    """Recursion without end kills the compiled process; interpreted it is the error that Python raises."""
    outcome = result(compiling, ENDLESS)
    assert outcome.status is Status.RUNTIME_ERROR
    assert "RecursionError" in outcome.detail
    assert_unharmed(compiling)


def test_compiling_has_a_deadline_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """A candidate that takes too long before it is compiled runs interpreted, with its limit untouched."""
    monkeypatch.setattr(sandbox, "COMPILED_FROM", 1)
    monkeypatch.setattr(sandbox, "PATIENCE", 0.0)
    slow = dataclasses.replace(tsp, compiled=never)
    with Sandbox(slow, memory_mb=1024) as other:
        outcome = result(other, NEAREST, time_limit=60)
    assert (outcome.objective, outcome.path) == (NEAREST_LENGTH, "interpreted")


def never(heuristic: Any, instances: np.ndarray) -> np.ndarray:
    """Takes the time that compiling has, and then does not care for other signals."""
    import os
    import signal

    if not os.environ:  # in a candidate's process
        signal.setitimer(signal.ITIMER_PROF, 0.3)
        while True:
            pass
    return instances


def test_what_is_quick_stays_interpreted(box: Sandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only what has not ended after a few seconds is compiled, and what ends with an error has ended."""
    monkeypatch.setattr(sandbox, "COMPILED_FROM", 1)
    assert result(box, NEAREST).path == "interpreted"
    assert result(box, IMPORTS + NODE + WRONG["no index"]).path == "interpreted"
    monkeypatch.setattr(sandbox, "PATIENCE", 0.01)
    assert result(box, NEAREST).path == "compiled"
    assert result(box, NEAREST, time_limit=0.01).status is Status.TIMEOUT


@pytest.mark.parametrize("problem", [tsp, knapsack])
def test_test_sets_may_be_compiled(problem: Problem) -> None:
    """Of a thousand instances; 64 are too few, and not every problem has a compiled form."""
    size = problem.sizes["test"][0]
    assert sandbox.may_be_compiled(problem, problem.instances("test", size))
    assert not sandbox.may_be_compiled(problem, problem.instances("val", size))
    other = dataclasses.replace(problem, compiled=None)
    assert not sandbox.may_be_compiled(other, problem.instances("test", size))
