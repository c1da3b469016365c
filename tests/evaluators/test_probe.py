"""Looking at a candidate on a few instances: what is known there is not evaluated, nothing else changes."""

import numpy as np
import pytest

from evaluators.outcome import Status
from evaluators.probe import Probe, behaviour
from evaluators.sandbox import Sandbox
from operators.parsing import fill
from problems import registry

TSP = registry.load("tsp")
COUNTS = TSP.instances("train", 50).shape[0]


def tsp(score: str) -> str:
    return fill(TSP, f" {score}")


@pytest.mark.parametrize(
    "other",
    [
        np.arange(6.0).reshape(3, 2),
        np.arange(6, dtype=np.int32).reshape(2, 3),
        np.zeros((2, 3), dtype=np.int64),
    ],
)
def test_other_decisions_are_other_behaviour(other: np.ndarray) -> None:
    """Values, shape and type count; where they lie in memory does not."""
    mine = np.arange(6, dtype=np.int64).reshape(2, 3)
    assert behaviour(mine) == behaviour(np.asfortranarray(mine)) != behaviour(other)


@pytest.mark.parametrize(("asked", "instances", "count"), [(4, 64, 4), (4, 8, 2), (4, 3, 0), (0, 64, 0)])
def test_a_look_takes_a_quarter_at_most(asked: int, instances: int, count: int) -> None:
    """So that it costs little of what it may save; where there are few instances there is none."""
    assert Probe(asked, {}).count(instances) == count


def test_what_is_known_gets_its_objective_and_all_else_is_as_without() -> None:
    """Known behaviour: the objective that the probe names. Other behaviour, failures on the probe and
    failures later: what an evaluation without one finds."""
    cases = ["near", "2 * near", "near - 0.5 * rest", "near + nobody", "near / (len(near) != 49)"]
    cases.append("near if current_node else near[:2]")
    with Sandbox(TSP) as sandbox:
        plain = [sandbox.submit(tsp(case)).result() for case in cases]
        first = sandbox.submit(tsp("near"), probe=Probe(4, {})).result()
        known = {first.behaviour: 1.25}
        looked = [sandbox.submit(tsp(case), probe=Probe(4, known)).result() for case in cases]
    assert first.objective == plain[0].objective
    assert first.behaviour
    assert first.detail == ""
    for outcome in looked[:2]:
        assert (outcome.status, outcome.objective, outcome.behaviour) == (Status.OK, 1.25, first.behaviour)
        assert outcome.detail == "decides as an earlier candidate on 4 instances"
    for mine, theirs in zip(looked[2:], plain[2:], strict=True):
        assert (mine.status, mine.objective, mine.detail) == (theirs.status, theirs.objective, theirs.detail)
    assert looked[2].behaviour not in ("", first.behaviour)


def test_one_that_fails_only_later_has_failed() -> None:
    """A look is no verdict: one that decides well on the first instances and fails on the last fails."""
    code = tsp("near").replace("def select", "calls = 0\n\ndef select", 1)
    code = code.replace(
        "    near =", f"    global calls\n    calls += 1\n    assert calls < {48 * COUNTS - 5}\n    near =", 1
    )
    with Sandbox(TSP) as sandbox:
        outcome = sandbox.submit(code, probe=Probe(4, {})).result()
        assert outcome.status is Status.RUNTIME_ERROR
        assert sandbox.submit(code.replace("assert", "pass #"), probe=Probe(4, {})).result().ok


@pytest.mark.parametrize("name", registry.packaged())
def test_every_problem_can_be_looked_at(name: str) -> None:
    """Also where a referee asks, a solver is guided, or instances come in parts: the objective is that of an
    evaluation without a look, and the second of two equal candidates is known."""
    problem = registry.load(name)
    _, code = problem.simplest
    with Sandbox(problem) as sandbox:
        plain = sandbox.submit(code).result()
        first = sandbox.submit(code, probe=Probe(4, {})).result()
        assert (first.status, first.objective, first.detail) == (plain.status, plain.objective, plain.detail)
        count = Probe(4, {}).count(len(problem.instances("train", problem.sizes["train"][0])))
        assert bool(first.behaviour) == bool(count)
        if count:
            second = sandbox.submit(code + "\n# again\n", probe=Probe(4, {first.behaviour: 2.5})).result()
            assert second.objective == 2.5
