"""The best heuristic is evaluated again at the end, and dropped where it does not score the same."""

from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path

from ahd.config import RunConfig
from ahd.confirm import NOT_REPRODUCED, TRAINING_ONLY, Dropped, confirm, corrected, dropped
from ahd.population import Individual, Population
from ahd.store import Proposal, Store
from evaluators.outcome import Outcome, Status


def population() -> Population:
    made = Population(4)
    made.admit(Individual(float(k), f"code {k}", "", "", k, "m1") for k in (1, 2, 3))
    return made


def answering(answers: dict[str, list[Outcome]]) -> Callable[[str], "Future[Outcome]"]:
    """Evaluates ``code k`` as k, or as ``answers`` say, in their order."""

    def submit(code: str) -> "Future[Outcome]":
        future: Future[Outcome] = Future()
        waiting = answers.get(code)
        found = waiting.pop(0) if waiting else Outcome(Status.OK, float(code.split()[1]))
        future.set_result(found)
        return future

    return submit


FAILED = Outcome(Status.TIMEOUT, None, "used its 10 s")


def test_what_scores_the_same_stays(tmp_path: Path) -> None:
    """One more evaluation; nothing is told, nothing dropped. A failure that does
    not repeat counts for nothing."""
    store = Store.create(tmp_path / "run", RunConfig("tsp"))
    for answers in ({}, {"code 1": [FAILED]}):
        members, told = population(), []
        confirm(members, answering(answers), store, told.append)
        assert [each.proposal for each in members.members] == [1, 2, 3]
        assert told == []
        assert dropped(store) == {}


def test_what_scores_otherwise_is_dropped_and_told(tmp_path: Path) -> None:
    """Another objective, worse or better, and a repeated failure drop the best; the next one is looked at;
    the run file remembers, and the rows shown have no objective."""
    store = Store.create(tmp_path / "run", RunConfig("tsp"))
    members, told = population(), []
    answers = {"code 1": [Outcome(Status.OK, 0.5)], "code 2": [FAILED, FAILED]}
    confirm(members, answering(answers), store, told.append)
    assert [each.proposal for each in members.members] == [3]
    assert len(told) == 2
    assert "proposal 1 is dropped: its objective was 1, evaluated again 0.5" in told[0]
    assert "timeout" in told[1]
    assert {number: each.outcome for number, each in dropped(store).items()} == {
        1: NOT_REPRODUCED,
        2: NOT_REPRODUCED,
    }


def test_what_is_worth_less_elsewhere_is_dropped_too(tmp_path: Path) -> None:
    """Asked only of what scored the same; remembered beside the others, with an outcome of its own."""
    store = Store.create(tmp_path / "run", RunConfig("tsp"))
    members, told, asked = population(), [], []

    def fault(best: Individual) -> str:
        asked.append(best.proposal)
        return "it fits those" if best.proposal == 2 else ""

    confirm(members, answering({"code 1": [Outcome(Status.OK, 0.5)]}), store, told.append, fault)
    assert [each.proposal for each in members.members] == asked[1:] == [3]
    assert asked == [2, 3]
    assert told[1] == "proposal 2 is dropped: it fits those"
    assert dropped(store)[1].outcome == NOT_REPRODUCED
    assert dropped(store)[2] == Dropped(TRAINING_ONLY, "it fits those")


def test_rows_are_shown_without_the_objective_that_was_not_reproduced() -> None:
    """Only what was dropped changes, and its duplicates do."""
    rows = [
        Proposal(
            **dict.fromkeys(Proposal.__dataclass_fields__)
            | {"id": number, "objective": 1.0, "outcome": "ok", "detail": "", "duplicate_of": of}
        )
        for number, of in ((1, None), (2, None), (3, 1), (4, 2))
    ]
    first, second, third, fourth = corrected(rows, {2: Dropped(NOT_REPRODUCED, "why")})
    assert (first, third) == (rows[0], rows[2])
    for row in (second, fourth):
        assert (row.objective, row.outcome, row.detail) == (None, NOT_REPRODUCED, "why")
