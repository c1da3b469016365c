"""The loop: what it spends, what it learns from, and that resuming is the uninterrupted run."""

import math
import os
import signal
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ahd.config import ConfigError, Method, Reward, RunConfig, Style
from ahd.es.rewards import evolution_reward
from ahd.es.shaping import z_scores
from ahd.events import Evolved, Note, Proposed, Updated
from ahd.schedule import plan
from ahd.search import Search
from ahd.stop import Stop
from ahd.store import Proposal, Store, UpdateRow
from operators.model import Model
from tests.fakes import PROBLEM, FakeEvaluator, FakeModel, Recorder

CONFIG = RunConfig("fake", budget=130, seed=3, scope="all", reward=Reward.PAPER)
LOOKING = replace(CONFIG, probe=4)


def search(
    store: Store,
    model: Model | None = None,
    recorder: Recorder | None = None,
    evaluator: FakeEvaluator | None = None,
) -> Search:
    config = store.config
    return Search(
        config,
        Style.SKELETON,
        PROBLEM,
        plan(config.method, config.budget),
        model or FakeModel(),
        evaluator or FakeEvaluator(),
        store,
        recorder or Recorder(),
    )


def timeless(rows: list[Proposal]) -> list[Proposal]:
    return [replace(row, created=0.0) for row in rows]


def timeless_updates(rows: list[UpdateRow]) -> list[UpdateRow]:
    return [replace(row, created=0.0, seconds=0.0) for row in rows]


@pytest.mark.parametrize("method", list(Method))
def test_the_budget_is_spent_exactly(tmp_path: Path, method: Method) -> None:
    """Every method stores exactly the budget, apart from the initial population's proposals."""
    store = Store.create(tmp_path / "run", replace(CONFIG, method=method))
    model, recorder = FakeModel(), Recorder()
    run = search(store, model, recorder)
    run.run()
    rows = store.proposals()
    assert sum(row.phase == "search" for row in rows) == CONFIG.budget == run.spent
    assert sum(row.phase == "init" for row in rows) == run.init_spent <= CONFIG.init_limit
    assert [row.id for row in rows] == list(range(1, len(rows) + 1))
    assert len(model.generated) == len(rows) == sum(isinstance(event, Proposed) for event in recorder.events)
    updates = plan(method, CONFIG.budget).updates if method.learns else 0
    assert len(store.updates()) == updates == sum(isinstance(event, Updated) for event in recorder.events)
    assert (model.weights_hash() == FakeModel().weights_hash()) == (not method.learns)


def test_only_perturbing_methods_carry_directions(tmp_path: Path) -> None:
    """esopt and noise perturb m1 and m2 and nothing else, every offspring in its own direction."""
    for method in (Method.ESOPT, Method.NOISE, Method.EOH):
        store = Store.create(tmp_path / method.value, replace(CONFIG, method=method))
        search(store).run()
        moved = [row for row in store.proposals() if row.direction_seed is not None]
        assert {row.operator for row in moved} == ({"m1", "m2"} if method.perturbs else set())
        assert len({row.direction_seed for row in moved}) == len(moved)
        assert all(row.sigma for row in moved)


def test_methods_share_their_initial_population(tmp_path: Path) -> None:
    """Paired by seed: every method starts from the same initial proposals."""
    starts = []
    for method in Method:
        store = Store.create(tmp_path / method.value, replace(CONFIG, method=method))
        search(store).run()
        starts.append([(row.request_seed, row.code) for row in store.proposals() if row.phase == "init"])
    assert all(start == starts[0] for start in starts)


def test_a_stop_is_noted_and_asked_for(tmp_path: Path) -> None:
    """A signal only notes the request while the search runs; the search then stops by itself, and a
    second signal raises at once."""
    stop = Stop()
    stop.gently = True
    store = Store.create(tmp_path / "run", CONFIG)
    run = search(store)
    run.check_stop = stop
    with stop.listening():
        os.kill(os.getpid(), signal.SIGTERM)
        assert stop.requested
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGTERM)
    with pytest.raises(KeyboardInterrupt):
        run.run()
    assert len(store.proposals()) < 10


@pytest.mark.parametrize(
    "changed",
    [{"method": Method.ESOPT}, {"method": Method.EOH}, {"method": Method.SAMPLE_ESOPT}, {"probe": 4}],
    ids=str,
)
@pytest.mark.parametrize("stop", [0, 1, 7, 24, 25, 61, 90, 139])
def test_resume_equals_the_uninterrupted_run(tmp_path: Path, changed: dict[str, Any], stop: int) -> None:
    """Stopped after any number of replies and resumed: same rows, same updates, same weights."""
    config = replace(CONFIG, **changed)
    whole = Store.create(tmp_path / "whole", config)
    model = FakeModel()
    best = search(whole, model).run()

    store = Store.create(tmp_path / "parts", config)
    first = FakeModel()
    first.fail_after = stop
    with pytest.raises(KeyboardInterrupt):
        search(store, first).run()
    store.close()
    again, second = Store.open(tmp_path / "parts", write=True), FakeModel()
    run = search(again, second)
    assert run.run() == best
    assert timeless(again.proposals()) == timeless(whole.proposals())
    assert timeless_updates(again.updates()) == timeless_updates(whole.updates())
    assert second.weights_hash() == model.weights_hash()
    assert run.spent == config.budget


def test_resuming_a_finished_run_changes_nothing(tmp_path: Path) -> None:
    """A second pass over a complete file generates nothing, evaluates only the best once more, and ends in
    the same place."""
    store = Store.create(tmp_path / "run", CONFIG)
    best = search(store).run()
    model, evaluator = FakeModel(), FakeEvaluator()
    assert search(store, model, evaluator=evaluator).run() == best
    assert model.generated == []
    assert evaluator.sources == [best.code]


def test_weights_that_cannot_be_rebuilt_are_refused(tmp_path: Path) -> None:
    """A log that does not lead to the logged hash, or another base model, stops the resume."""
    store = Store.create(tmp_path / "run", CONFIG)
    search(store).run()
    with store._connection as connection:
        connection.execute("UPDATE updates SET weights = replace(weights, '1', '2') WHERE id = 2")
    with pytest.raises(ConfigError, match="update 2 rebuilt from the log"):
        search(store).run()
    other = FakeModel()
    other.weights += 1
    with pytest.raises(ConfigError, match="weights differ"):
        search(store, other).run()


def test_rewards_follow_the_rule(tmp_path: Path) -> None:
    """Stored rewards and weights of every update are those of the paper's rule on the stored rows."""
    store = Store.create(tmp_path / "run", CONFIG)
    recorder = Recorder()
    search(store, recorder=recorder).run()
    objectives = {row.id: row.objective for row in store.proposals()}
    worst = {}
    members: tuple[float, ...] = ()
    number = 0
    for event in recorder.events:
        if isinstance(event, Updated):
            number += 1
            worst[number] = max(members)
        if isinstance(event, Evolved):
            members = tuple(member.objective for member in event.members)
    for update in store.updates():
        rows = store.proposals(update.batch)
        rewards = [
            evolution_reward(row.objective, objectives[row.parents[0]], worst[update.id]) for row in rows
        ]
        assert list(update.rewards) == rewards == [row.reward for row in rows]
        assert list(update.weights) == z_scores(rewards)
        assert list(update.seeds) == [row.direction_seed for row in rows]
        assert all(math.isfinite(weight) for weight in update.weights)


def test_repeats_are_not_evaluated_again(tmp_path: Path) -> None:
    """The same code is evaluated once, but for the best at the end; the repeat names the first proposal and
    keeps its outcome."""
    store = Store.create(tmp_path / "run", CONFIG)
    evaluator = FakeEvaluator()
    best = search(store, evaluator=evaluator).run()
    *sources, last = evaluator.sources
    assert len(sources) == len(set(sources))
    assert last == best.code
    rows = {row.id: row for row in store.proposals()}
    repeats = [row for row in rows.values() if row.duplicate_of is not None]
    assert repeats
    for row in repeats:
        first = rows[row.duplicate_of]  # type: ignore[index]
        assert first.id < row.id
        assert first.outcome == row.outcome
        assert first.objective == row.objective


def test_looking_first_saves_evaluations_and_changes_nothing_else(tmp_path: Path) -> None:
    """Where equal behaviour means an equal objective, a run that looks at candidates first proposes and keeps
    the same; what it recognises is a duplicate that was not evaluated itself."""
    plain, looking = Store.create(tmp_path / "plain", CONFIG), Store.create(tmp_path / "looking", LOOKING)
    assert search(plain).run() == search(looking).run()
    known = [row for row in looking.proposals() if row.objective is not None and row.detail]
    assert known
    for row in known:
        assert row.duplicate_of is not None
        assert not row.evaluated
    same = [[replace(row, detail="") for row in timeless(store.proposals())] for store in (plain, looking)]
    assert same[0] == same[1]
    assert sum(row.evaluated for row in looking.proposals()) < sum(row.evaluated for row in plain.proposals())


def test_candidates_are_told_from_those_of_earlier_batches_only(tmp_path: Path) -> None:
    """Which of a batch comes first is chance, so that none of it is known to the others."""
    store = Store.create(tmp_path / "run", LOOKING)
    search(store).run()
    rows = {row.id: row for row in store.proposals()}
    first = {}
    for row in rows.values():
        if row.objective is not None:
            first.setdefault(row.objective, row.batch)
    for row in rows.values():
        if row.objective is not None and row.detail:
            assert first[row.objective] != row.batch


def test_a_population_that_finds_nothing_starts_from_a_known_heuristic(tmp_path: Path) -> None:
    """Nothing valid: the limit is kept, the simplest heuristic starts the run, and the run says so."""
    store = Store.create(tmp_path / "run", CONFIG)
    recorder = Recorder()
    run = search(store, FakeModel(valid=False), recorder)
    best = run.run()
    assert run.init_spent == CONFIG.init_limit == 26
    assert best.proposal is None
    assert best.operator == "plain"
    assert any(isinstance(event, Note) and "starting from plain" in event.text for event in recorder.events)
    assert run.spent == CONFIG.budget
    assert "plain" in (tmp_path / "run" / "best.py").read_text()


def test_best_file_holds_the_best(tmp_path: Path) -> None:
    """best.py is the best stored heuristic, says where it is from, and compiles."""
    store = Store.create(tmp_path / "run", CONFIG)
    best = search(store).run()
    text = (tmp_path / "run" / "best.py").read_text()
    compile(text, "best.py", "exec")
    assert best.code.strip() in text
    assert f"proposal {best.proposal}" in text
    assert f"{best.objective:.5f}" in text
    assert best.objective == min(row.objective for row in store.proposals() if row.objective is not None)
