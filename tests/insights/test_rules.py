"""Insights by rule: what is planted in the better ones is told, and nothing without a difference."""

import random

from ahd.insights.rules import LEAST, by_rule, compared, most_frequent
from ahd.store import Proposal
from tests.insights.rows import row


def population(better: str, worse: str, count: int = 16) -> list[Proposal]:
    """A quarter of ``count`` proposals has the first completion, the others the second."""
    return [row(k, float(k), better if k < count // 4 else worse) for k in range(count)]


def test_what_the_better_ones_have_is_told_with_its_numbers() -> None:
    """The term of the best quarter, with the median of its numbers, and the term of the others."""
    rows = [row(k, float(k), f"a - {0.4 + 0.1 * k} * b" if k < 4 else "a + b ** 2") for k in range(16)]
    assert compared(rows) == (["- 0.55 * b"], ["+ b ** 2"])
    assert by_rule(rows) == ("better ones have - 0.55 * b", "worse ones have + b ** 2")


def test_the_order_of_the_proposals_does_not_matter() -> None:
    """Insights depend on what was proposed, not on when."""
    rows = population("a / b", "a + b")
    shuffled = rows[:]
    random.Random(1).shuffle(shuffled)
    assert compared(shuffled) == compared(rows)


def test_nothing_is_told_without_a_difference() -> None:
    """All alike, too few, or copies of one: no line."""
    assert by_rule([]) == ()
    assert by_rule(population("a - b", "a - b")) == ()
    assert by_rule(population("a - b", "a + b", LEAST - 1)) == ()
    copies = [row(k, 1.0, "a - b", duplicate_of=1) for k in range(2, 40)]
    assert by_rule([row(1, 1.0, "a - b"), *copies]) == ()


def test_a_trait_of_one_heuristic_is_not_told() -> None:
    """The best alone has it: that is no pattern."""
    rows = [row(0, 0.0, "a / b"), *(row(k, float(k), "a + b") for k in range(1, 9))]
    assert compared(rows)[0] == []


def test_the_most_frequent_kind_of_failure_is_told_by_its_newest() -> None:
    """Names and numbers do not tell kinds apart; a kind that is rare or alone is not told."""
    names = [f"NameError: name '{name}' is not defined (line 8)" for name in "xyz"]
    others = ["score is not finite (line 9)", "used its 10 s"]
    rows = [row(k, None, detail=detail) for k, detail in enumerate([*names, *others])]
    assert most_frequent(rows) == "NameError: name 'z' is not defined"
    assert most_frequent(rows[-2:]) == ""
    assert most_frequent([]) == ""
    assert by_rule(rows) == ("most failures: NameError: name 'z' is not defined",)
