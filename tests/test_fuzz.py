"""Replies and answers of workers, damaged at random: whatever comes, it is typed and in time."""

import random
import warnings
from collections.abc import Callable

import pytest

from benchmarks import fuzz
from operators.parsing import parse_reply
from problems import registry
from problems.problem import Problem
from problems.tsp import problem as tsp

CHEAP = ("tsp", "knapsack", "bin-packing-online", "cvrp", "job-shop")
"""Problems whose answers are judged in a moment."""


@pytest.fixture(scope="module")
def problems() -> list[Problem]:
    return [registry.load(name) for name in registry.packaged()]


def test_damaged_replies_become_text(problems: list[Problem]) -> None:
    """In both styles, by every problem: the parser raises nothing, takes no longer than it may, finds some
    code in some replies, and none in others."""
    report = fuzz.Report()
    fuzz.fuzz_replies(report, random.Random(1), problems, fuzz.rounds(25))
    assert not report.failures
    assert sum(report.executions.values()) == 50 * len(problems)
    for style in ("skeleton", "free"):
        assert report.results[f"reply, {style}: {style}, code"] > 20
        assert report.results[f"reply, {style}: {style}, cannot be read"] > 20


def test_damaged_answers_become_outcomes() -> None:
    """What a worker sends is an outcome, with an objective exactly when it is ok, or a `SandboxError`; what a
    candidate can forge, the frame alone, never ends the run."""
    report = fuzz.Report()
    targets = [fuzz.target_of(registry.load(name)) for name in CHEAP]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fuzz.fuzz_answers(report, random.Random(1), targets, fuzz.rounds(2500))
    assert not report.failures
    for status in ("ok", "crashed", "invalid_solution", "nonfinite", "timeout"):
        assert report.results[f"forged frame: {status}"] > 0
    assert report.results["answer: SandboxError"] > 0


def test_damaged_conversations_become_outcomes() -> None:
    """What a candidate answers a loop in another process is a schedule of the loop's, or a typed failure."""
    report = fuzz.Report()
    fuzz.fuzz_conversations(report, random.Random(1), registry.load("job-shop"), fuzz.rounds(1500))
    assert not report.failures
    for what in ("decisions", "ended", "ended midway", "crashed", "invalid_solution", "not confined"):
        assert report.results[f"conversation: {what}"] > 0


@pytest.mark.parametrize("tail", ["@a\n", "a\\\n", "(\n", "if a:\n", "'''\n", "@a\nx = (\n"])
def test_a_reply_that_is_wrong_in_every_last_line_is_read_in_time(tail: str) -> None:
    """Lines that are wrong only because nothing follows them are not all tried without an end."""
    with fuzz.limited(fuzz.SECONDS):
        assert parse_reply("def f(): pass\n" + tail * 30_000, tsp, "free").code


@pytest.mark.parametrize(
    ("job", "what"),
    [
        (lambda: 1 // 0, "raises ZeroDivisionError"),
        (lambda: [None for _ in iter(int, 1)], "takes more than"),
        (lambda: (_ for _ in ()).throw(AssertionError("is wrong")), "is wrong"),
    ],
)
def test_failures_are_told(job: Callable[[], str], what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """An exception, an endless loop and a wrong result are failures, with what led to them."""
    monkeypatch.setattr(fuzz, "SECONDS", 0.05)
    report = fuzz.Report()
    report.attempt("reply", "tsp", b"data", job)
    assert report.failed["reply"] == 1
    assert report.failures[0].what.startswith(what)
    assert report.failures[0].data == "ZGF0YQ=="
