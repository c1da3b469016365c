"""The benchmark of evaluators: what it compares is the same, and its arithmetic is right."""

import dataclasses
import time

import pytest

from benchmarks import evaluators
from benchmarks.plain import knapsack, tsp
from evaluators.candidate import load
from problems import registry


@pytest.mark.parametrize("plain", [tsp, knapsack])
def test_plain_evaluators_give_the_same_objectives(plain: object) -> None:
    """To the last of their five decimals, on the training instances."""
    name = plain.__name__.rpartition(".")[2]  # type: ignore[attr-defined]
    problem = registry.load(name)
    instances = problem.instances("train", problem.sizes["train"][0])
    for source in (evaluators.LEAN[name], *problem.heuristics.values()):
        heuristic = load(source, problem.function, problem.arguments)
        ours = problem.objective(instances, problem.run(heuristic, instances))
        assert plain.evaluate(heuristic, instances) == ours  # type: ignore[attr-defined]


def test_every_task_has_a_plain_evaluator() -> None:
    """So none is left out of the table."""
    assert evaluators.tasks() == registry.packaged()


def test_jobs_are_repeated_in_turn_until_they_have_taken_too_long() -> None:
    """The first time does not count for what is quick; what is slow is not repeated."""
    order = []

    def quick() -> None:
        order.append("quick")

    def slow() -> None:
        order.append("slow")
        end = time.process_time() + 0.2
        while time.process_time() < end:
            pass

    found = evaluators.medians(3, 0.1, {"quick": quick, "slow": slow})
    assert order == ["quick", "slow", "quick", "slow", "quick", "quick"]
    assert found["quick"] < 0.1 < 0.2 <= found["slow"]


def test_ratios_are_of_plain_to_ours() -> None:
    """Whole evaluations and solvers apart; no solver, no ratio."""
    row = evaluators.Row("task", ours=2.0, plain=10.0, solver=0.5, plain_solver=8.0)
    assert row.cells() == [2.0, 10.0, 5.0, 0.5, 8.0, 16.0, None]
    assert dataclasses.replace(row, solver=None).cells()[5] is None
    assert row.line().split() == ["task", "2", "10", "5", "0.5", "8", "16"]
