"""Scores over several seeds."""

import dataclasses
import math
from itertools import pairwise

import pytest

from ahd.instances import with_instances
from ahd.scoring import combined, fresh_seeds, not_scored, submit
from evaluators.outcome import Outcome, SandboxError, Status
from evaluators.sandbox import Sandbox
from problems.registry import load
from tests.evaluators.aftermath import NEAREST, NEAREST_LENGTH


def ok(value: float) -> Outcome:
    return Outcome(Status.OK, value, "", 0.5)


def test_mean_and_standard_error() -> None:
    """Three values give their mean, the deviation of it, and all the seconds."""
    score = combined([ok(1.0), ok(2.0), ok(6.0)], (7, 8, 9))
    assert score.outcome.objective == pytest.approx(3.0)
    assert score.error == pytest.approx(math.sqrt(7.0) / math.sqrt(3.0))
    assert score.outcome.seconds == pytest.approx(1.5)
    assert score.seeds == (7, 8, 9)


def test_one_value_is_kept_as_it_is() -> None:
    """A single evaluation has no error and its objective to the last bit."""
    score = combined([ok(0.1 + 0.2)], (0,))
    assert score.outcome.objective == 0.1 + 0.2
    assert score.error is None


def test_the_first_failure_is_the_result() -> None:
    """A candidate that fails under one seed has that outcome and no objective."""
    score = combined([ok(1.0), Outcome(Status.TIMEOUT, None, "late", 2.0), ok(2.0)], (1, 2, 3))
    assert score.outcome.status is Status.TIMEOUT
    assert score.outcome.detail == "late"
    assert score.outcome.objective is None
    assert score.error is None


def test_fresh_seeds_are_apart() -> None:
    """Seeds are the same each time, and leave room for an instance each and for those of a search."""
    seeds = fresh_seeds(4)
    assert seeds == fresh_seeds(4)
    assert min(seeds) > 100_000
    assert min(b - a for a, b in pairwise(seeds)) >= 10_000


def test_only_seeded_problems_are_evaluated_again() -> None:
    """A problem without a seed is scored once however many are given."""
    with Sandbox(load("tsp")) as sandbox:
        score = submit(sandbox, NEAREST, seeds=fresh_seeds(3)).result()
    assert score.outcome.objective == NEAREST_LENGTH
    assert score.seeds == (0,)
    assert dataclasses.asdict(score)["error"] is None


def test_a_seeded_problem_scatters() -> None:
    """Under several seeds an ant colony has a mean with an error above zero, the same each time."""
    problem = load("tsp-aco")
    code = problem.simplest[1]
    with Sandbox(problem) as sandbox:
        first = submit(sandbox, code, seeds=fresh_seeds(3)).result()
        again = submit(sandbox, code, seeds=fresh_seeds(3)).result()
    assert first.error is not None
    assert first.error > 0
    assert first.outcome.objective == again.outcome.objective


FAULTS = ("problem mine: its run fails", "problem mine (/x/mine.py): its objective returns str, not a number")


@pytest.mark.parametrize("text", FAULTS)
def test_a_fault_of_a_problem_file_names_the_file(text: str) -> None:
    """Also with instances from files; the machine's own check has nothing to add."""
    mine = dataclasses.replace(load("tsp"), name="mine", origin="/x/mine.py")
    for problem in (mine, with_instances(mine, [mine.instances("train", 50)])):
        told = str(not_scored(problem, SandboxError(text)))
        assert told == f"problem mine (/x/mine.py): {text.partition(': ')[2]}"


def test_a_fault_of_the_sandbox_names_the_doctor() -> None:
    """What no problem file is to blame for is for `ahd doctor`, whatever the problem."""
    mine = dataclasses.replace(load("tsp"), name="mine", origin="/x/mine.py")
    for problem, text in (
        (mine, "the sandbox worker does not start: exit code 1"),
        (load("tsp"), "problem tsp: x"),
    ):
        assert str(not_scored(problem, SandboxError(text))) == f"{text}; `ahd doctor` says more"
