"""The schedule spends exactly the budget, and the paper's budgets give the paper's schedule."""

from collections import Counter

import pytest

from ahd.config import Method
from ahd.schedule import TUNE, TURN, plan


@pytest.mark.parametrize(("budget", "k"), [(1000, 1), (2000, 3)])
def test_paper_schedule(budget: int, k: int) -> None:
    """1000 and 2000 are 25 generations of 10 e1, 10 e2, 10k m1 and 10k m2, in that order."""
    schedule = plan(Method.ESOPT, budget)
    assert schedule.generations == 25
    assert [(b.operator, b.proposals) for b in schedule.batches] == [
        ("e1", 10),
        ("e2", 10),
        ("m1", 10 * k),
        ("m2", 10 * k),
    ] * 25
    assert schedule.updates == 50
    assert "50 weight updates" in schedule.description


@pytest.mark.parametrize("method", list(Method))
def test_every_budget_is_spent_to_the_last_proposal(method: Method) -> None:
    """Whatever the budget, the batches add up to it and none is empty."""
    for budget in [*range(1, 260), 399, 400, 999, 1001, 1500, 1999, 2001, 5000, 12345]:
        schedule = plan(method, budget, (0.0, 0.3, 0.9)[budget % 3])
        assert sum(batch.proposals for batch in schedule.batches) == budget
        assert all(batch.proposals > 0 for batch in schedule.batches)
        assert [batch.number for batch in schedule.batches] == list(range(1, len(schedule.batches) + 1))
        assert {batch.generation for batch in schedule.batches} == set(range(1, schedule.generations + 1))
        assert f"= {budget} proposals" in schedule.description


def test_all_methods_spend_the_same() -> None:
    """Equal budgets mean equal spends, and learning methods make equally many updates."""
    for budget in (200, 1000, 2000):
        plans = {method: plan(method, budget) for method in Method}
        assert len({sum(b.proposals for b in each.batches) for each in plans.values()}) == 1
        assert (
            plans[Method.ESOPT].updates == plans[Method.NOISE].updates == plans[Method.SAMPLE_ESOPT].updates
        )
        assert plans[Method.EOH].updates == plans[Method.SAMPLE].updates == 0
        assert [(b.operator, b.proposals) for b in plans[Method.EOH].batches] == [
            (b.operator, b.proposals) for b in plans[Method.ESOPT].batches
        ]


def test_tuning_gets_its_share() -> None:
    """Whole turns make up at most the share, spread over the generations, and are said; none is perturbed.
    The rest is planned as a budget of its own."""
    schedule = plan(Method.ESOPT, 200, 0.3)
    turns = [batch for batch in schedule.batches if batch.operator == TUNE]
    assert [batch.generation for batch in turns] == [1, 1, 2, 2, 2, 3, 3, 4, 4, 4]
    assert {(batch.proposals, batch.perturbed) for batch in turns} == {(TURN, False)}
    assert "and 10 turns of 6 tune = 200 proposals; 8 weight updates" in schedule.description
    alone = plan(Method.ESOPT, 140)
    assert [(b.generation, b.operator, b.proposals) for b in schedule.batches if b.operator != TUNE] == [
        (b.generation, b.operator, b.proposals) for b in alone.batches
    ]
    none = plan(Method.ESOPT, 200, 0.029)
    assert none.batches == plan(Method.ESOPT, 200).batches
    assert "and no turn of 6 tune, for which the budget is too small = 200 proposals" in none.description


def test_only_mutations_are_perturbed() -> None:
    """m1 and m2 perturb the weights, e1 and e2 never do."""
    perturbed = Counter((b.operator, b.perturbed) for b in plan(Method.ESOPT, 1000).batches)
    assert set(perturbed) == {("e1", False), ("e2", False), ("m1", True), ("m2", True)}


def test_a_rest_makes_one_smaller_generation() -> None:
    """What a whole generation does not fit into is split in the generation's proportion and said."""
    schedule = plan(Method.ESOPT, 420)
    assert [(b.operator, b.proposals) for b in schedule.batches[-4:]] == [
        ("e1", 5),
        ("e2", 5),
        ("m1", 5),
        ("m2", 5),
    ]
    assert "then 5 e1 + 5 e2 + 5 m1 + 5 m2" in schedule.description
