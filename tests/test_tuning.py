"""Constant tuning: what it proposes, what it costs, and that a resumed run proposes it again."""

import math
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ahd.config import ConfigError, Method, RunConfig, Style
from ahd.display.replay import Narrator, survivors
from ahd.events import Evolved, Proposed, Started
from ahd.population import Individual, entrants
from ahd.schedule import TUNE, TURN, Batch, plan
from ahd.search import Search
from ahd.store import Proposal, Store
from ahd.tuning import PATIENCE, Study, Tuner
from evaluators.outcome import Outcome, Status
from operators.constants import constants_of
from operators.parsing import completion_in, fill, parse_reply
from tests.fakes import PROBLEM, FakeEvaluator, FakeModel, Recorder

CONFIG = RunConfig("fake", budget=60, population=5, seed=3, scope="all", tune=0.5)


class Bowl(FakeEvaluator):
    """Code that reads as one number after another is better the nearer they are to the centre; below -1 it
    fails."""

    def __init__(self, centre: float = 2.0) -> None:
        super().__init__()
        self.centre = centre

    def submit(self, source: str, *rest: Any, **named: Any) -> "Future[Outcome]":
        self.sources.append(source)
        constants = constants_of(source, PROBLEM)
        values = constants.values if constants else ()
        future: Future[Outcome] = Future()
        if min(values, default=0) < -1:
            future.set_result(Outcome(Status.RUNTIME_ERROR, None, "below -1", 0.01))
        elif values:
            future.set_result(
                Outcome(Status.OK, sum((value - self.centre) ** 2 for value in values), "", 0.01)
            )
        else:
            return super().submit(source, *rest, **named)
        return future


def individual(completion: str, objective: float, number: int = 1) -> Individual:
    return Individual(objective, fill(PROBLEM, completion), completion, "", number, "m1")


def search(
    store: Store,
    model: FakeModel | None = None,
    stop: Callable[[], None] = lambda: None,
    centre: float = 2.0,
) -> Search:
    config, recorder = store.config, Recorder()
    schedule = plan(config.method, config.budget, config.tune)
    return Search(
        config, Style.SKELETON, PROBLEM, schedule, model or FakeModel(), Bowl(centre), store, recorder, stop
    )


def timeless(rows: list[Proposal]) -> list[Proposal]:
    return [replace(row, created=0.0) for row in rows]


def turns(tuner: Tuner, count: int) -> list[list[float | None]]:
    """The objectives of some turns by ``Bowl``, told to the tuner as a search tells them."""
    found, bowl = [], Bowl()
    for number in range(1, count + 1):
        tasks = tuner.tasks(Batch(number, 1, TUNE, TURN, False))
        objectives = [bowl.submit(fill(PROBLEM, task.draft)).result().objective for task in tasks]
        tuner.tell(objectives)
        pairs = zip(tasks, objectives, strict=True)
        tuner.add(individual(task.draft, value) for task, value in pairs if value is not None)
        found.append(objectives)
    return found


def test_it_finds_the_best_numbers() -> None:
    """From a poor start the two numbers of a structure come near the best, also where some of them fail."""
    tuner = Tuner(1, PROBLEM)
    tuner.add([individual("a - 0.5 * b + 0.3", 9.14)])
    found = turns(tuner, 20)
    assert min(value for turn in found for value in turn if value is not None) < 0.02
    assert any(value is None for turn in found for value in turn)


def test_turns_alternate_between_the_best_and_the_untried() -> None:
    """The best structure has every other turn; between, the others are tried, the best of them first."""
    tuner = Tuner(1, PROBLEM)
    tuner.add([individual("a + 30 * b", 784.0), individual("a + 9 * b * b", 49.0), individual("a", 1.0)])
    tuner.add([individual("a + 20 * b / a", 324.0), individual("30 * b + a", 784.0)])
    drafts = []
    for number in range(1, 5):
        tasks = tuner.tasks(Batch(number, 1, TUNE, TURN, False))
        drafts.append(completion_in(tasks[0].parents[0].code, PROBLEM))
        tuner.tell([99.0 + slot for slot in range(TURN)])
    assert drafts == ["a + 9 * b * b", "a + 20 * b / a", "a + 9 * b * b", "a + 30 * b"]


@pytest.mark.parametrize("thought", ["less of b", "idea ``` y", "```python", "a { b } c", "`x`"])
def test_whole_functions_are_drafted_as_replies(thought: str) -> None:
    """In free style the draft has the code and the thought of the parent where a reply has them, whatever
    the thought is."""
    code = "def choose(a, b):\n    # a little\n    return a - 0.25 * b\n"
    tuner = Tuner(1, PROBLEM)
    tuner.add([Individual(5.0, code, "", thought, 1, "e1")])
    (first, *others) = (
        parse_reply(task.draft, PROBLEM, "free") for task in tuner.tasks(Batch(1, 1, TUNE, TURN, False))
    )
    constants = constants_of(first.code, PROBLEM)
    assert constants is not None
    assert constants.written([-0.25]) == code
    if thought == "less of b":
        assert {each.thought for each in (first, *others)} == {thought}
    assert len({each.code for each in (first, *others)}) == TURN


def test_another_tuning_than_the_stored_one_is_refused(tmp_path: Path) -> None:
    """A tuned row that was changed, or an optimiser that proposes something else, stops the resume."""
    store = Store.create(tmp_path / "run", CONFIG)
    search(store).run()
    row = next(row for row in store.proposals() if row.operator == TUNE)
    with store._connection as connection:
        connection.execute("UPDATE proposals SET reply = 'a + 1.25' WHERE id = ?", (row.id,))
    with pytest.raises(ConfigError, match=f"proposal {row.id} is not the one this run would make"):
        search(store).run()


def study(completion: str, objective: float) -> Study:
    start = individual(completion, objective)
    constants = constants_of(start.code, PROBLEM)
    assert constants is not None
    return Study(start, constants)


def test_structures_that_do_not_get_on_come_last() -> None:
    """After some turns without anything better a structure is behind all that get on, whatever they reach."""
    good, poor = study("a + 3 * b", 1.0), study("a + 3 * b * b", 5.0)
    for _ in range(PATIENCE):
        assert good.rank < poor.rank
        good.ask(TURN, 1)
        good.tell([9.0 + slot for slot in range(TURN)])
    assert good.rank > poor.rank
    assert not good.done


@pytest.mark.parametrize("told", [None, 3.0])
def test_a_structure_whose_numbers_do_nothing_is_done(told: float | None) -> None:
    """A turn without anything valid, or with one objective throughout, is the last."""
    made = study("a + 3 * b", 1.0)
    made.ask(TURN, 1)
    made.tell([*[told] * (TURN - 1), 2.0])
    assert not made.done
    made.ask(TURN, 1)
    made.tell([told] * TURN)
    assert made.done


@pytest.mark.parametrize("method", list(Method))
def test_tuning_is_part_of_the_budget(tmp_path: Path, method: Method) -> None:
    """All methods spend the budget to the last proposal, and begin as they do without tuning. A tuned
    proposal has a parent and no prompt, tokens, direction or reward; the model is not asked for it."""
    store = Store.create(tmp_path / "run", replace(CONFIG, method=method))
    model = FakeModel()
    search(store, model).run()
    rows = store.proposals()
    tuned = [row for row in rows if row.operator == TUNE]
    assert sum(row.phase == "search" for row in rows) == CONFIG.budget
    assert 0 < len(tuned) <= 30
    assert len(model.generated) == len(rows) - len(tuned)
    for row in tuned:
        assert (row.prompt, row.prefill, row.prompt_tokens, row.completion_tokens) == ("", "", 0, 0)
        assert (row.direction_seed, row.reward, row.model_seconds, row.es_seconds) == (None, None, 0.0, 0.0)
        assert row.parents[0] in range(1, row.id)
    assert len(store.updates()) == (plan(method, 60, 0.5).updates if method.learns else 0)
    without = Store.create(tmp_path / "without", replace(CONFIG, method=method, tune=0.0))
    search(without).run()
    begun = [[row.code for row in each.proposals() if row.phase == "init"] for each in (store, without)]
    assert begun[0] == begun[1]


def test_where_there_is_nothing_to_tune_the_model_is_asked(tmp_path: Path) -> None:
    """A population without numbers: turns are spent on m1, or i1 where a method has nothing else."""
    for method, operator in ((Method.ESOPT, "m1"), (Method.SAMPLE, "i1")):
        store = Store.create(tmp_path / method.value, replace(CONFIG, method=method))
        search(store, FakeModel(valid=False)).run()
        planned = plan(method, CONFIG.budget, CONFIG.tune)
        numbers = [batch.number for batch in planned.batches if batch.operator == TUNE]
        rows = [row for row in store.proposals() if row.batch in numbers]
        assert {row.operator for row in rows} == {operator}
        assert len(rows) == TURN * len(numbers)
        assert len(store.updates()) == (planned.updates if method.learns else 0)


def test_killed_at_every_row_a_run_resumes_to_the_same_end(tmp_path: Path) -> None:
    """Stopped at any call, in turns of tuning and elsewhere, and resumed: the same rows and the same best."""
    config = replace(CONFIG, budget=40, tune=0.6)
    calls = 0

    def count() -> None:
        nonlocal calls
        calls += 1

    whole = Store.create(tmp_path / "whole", config)
    best = search(whole, stop=count).run()
    rows = timeless(whole.proposals())
    assert sum(row.operator == TUNE for row in rows) >= 3 * TURN
    for stop in range(1, calls + 1):
        left = stop

        def check() -> None:
            nonlocal left
            left -= 1
            if left == 0:
                raise KeyboardInterrupt

        folder = tmp_path / str(stop)
        store = Store.create(folder, config)
        with pytest.raises(KeyboardInterrupt):
            search(store, stop=check).run()
        store.close()
        again = Store.open(folder, write=True)
        assert search(again).run() == best
        assert timeless(again.proposals()) == rows
        again.close()


def test_of_a_turn_the_best_alone_survives(tmp_path: Path) -> None:
    """In the search, in what is replayed from its rows, and in what a stored run shows."""
    store = Store.create(tmp_path / "run", CONFIG)
    run = search(store)
    run.run()
    rows = store.proposals()
    started = Started(CONFIG, store.folder, "fake", 4, "skeleton", "", 0, None, "", 5)
    members = [(member.objective, member.proposal) for member in run.population.members]
    assert [(each.objective, each.proposal) for each in survivors(started, rows)] == members
    told = [event for _, event in Narrator(started).tell(rows, store.updates(), over=True)]
    lived = run.display.events  # type: ignore[attr-defined]
    for kind in (Proposed, Evolved):
        ours, theirs = ([each for each in events if isinstance(each, kind)] for events in (told, lived))
        assert ours == theirs[: len(ours)]
    known = {row.id: row.objective for row in rows if row.objective is not None}
    for batch in {row.batch for row in rows if row.operator == TUNE}:
        turn = [row for row in store.proposals(batch) if row.objective is not None]
        best = min((row.objective for row in turn), default=math.inf)
        better = best < known[turn[0].parents[0]] if turn else False
        assert [(each.objective, each.instead_of) for each in entrants(turn, known)] == [
            (best, turn[0].parents[0])
        ] * better


def test_of_a_tuned_lineage_one_survives(tmp_path: Path) -> None:
    """No two members of a population are a heuristic and the same with other numbers by tuning."""
    store = Store.create(tmp_path / "run", CONFIG)
    run = search(store, centre=2.345)
    run.run()
    rows = {row.id: row for row in store.proposals()}

    def ancestors(number: int | None) -> set[int | None]:
        found = set()
        while number in rows and rows[number].operator == TUNE:
            number = rows[number].parents[0]
            found.add(number)
        return found

    members = {member.proposal for member in run.population.members if member.proposal is not None}
    assert TUNE in [rows[each].operator for each in members]
    assert not any(members & ancestors(each) for each in members)
