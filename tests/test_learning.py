"""Learning: what moves the weights, what takes moves back, and that the log alone says so."""

import math
from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ahd.config import ConfigError, Kind, Method, Reward, RunConfig, Shaping
from ahd.es.noise import noise
from ahd.es.perturbation import perturbation_of
from ahd.es.rewards import new_reward
from ahd.events import Evolved, Note, Updated
from ahd.learning import lineage
from ahd.models.scripted import ScriptedModel
from ahd.search import Search
from ahd.store import Store, UpdateRow
from evaluators.outcome import Outcome, Status
from operators.learning import learn
from operators.model import Direction, Model, Reply, Request, UpdateRefused, UpdateReport
from operators.parsing import normalise
from tests.fakes import PROBLEM, FakeEvaluator, Recorder, digest
from tests.test_search import search, timeless, timeless_updates

CONFIG = RunConfig("fake", budget=160, seed=3, scope="all", reward=Reward.PAPER, validity_floor=0.0)
OPTIONS: dict[str, dict[str, Any]] = {
    "new": {"reward": Reward.NEW},
    "distinct": {"reward": Reward.DISTINCT},
    "distinct samples": {"reward": Reward.DISTINCT, "method": Method.SAMPLE_ESOPT},
    "new samples": {"reward": Reward.NEW, "method": Method.SAMPLE_ESOPT},
    "ranks": {"shaping": Shaping.RANKS},
    "valid": {"shaping": Shaping.VALID, "per_direction": 2},
    "antithetic": {"antithetic": True, "per_direction": 3},
    "momentum": {"momentum": 0.6, "antithetic": True},
    "low rank": {"kind": Kind.LOWRANK, "rank": 2, "momentum": 0.3},
    "norms": {"scope": "norms", "reward": Reward.NEW, "shaping": Shaping.RANKS},
    "rollbacks": {"validity_floor": 0.8, "patience": 2, "momentum": 0.5, "sigma": 0.1},
    "all": {
        "validity_floor": 0.75,
        "patience": 1,
        "momentum": 0.5,
        "antithetic": True,
        "per_direction": 2,
        "reward": Reward.NEW,
        "shaping": Shaping.VALID,
        "scope": "norms",
    },
}


def write(request: Request, weights: np.ndarray) -> str:
    """A completion that depends on the seed and the weights; one in three does not compile."""
    number = digest(request.seed, request.prompt, weights.tobytes()) % 200
    return f" a + {number}" if number % 3 else f" ) {number}"


class Mortal:
    """A scripted model that is stopped when it is asked for something once too often, and refuses the
    updates it is told to refuse."""

    name, parameters = "mortal", 64

    def __init__(self, config: RunConfig, life: int = 10**9, refuse: Sequence[int] = ()) -> None:
        self.model = ScriptedModel(write, perturbation=perturbation_of(config))
        self.life, self.refuse, self.asked = life, refuse, 0

    def _live(self) -> None:
        self.life -= 1
        if self.life < 0:
            raise KeyboardInterrupt

    def generate(
        self, requests: Sequence[Request], directions: Sequence[Direction | None]
    ) -> Iterator[tuple[int, Reply]]:
        for answer in self.model.generate(requests, directions):
            self._live()
            yield answer

    def update(self, seeds: Sequence[int], weights: Sequence[float], alpha: float) -> UpdateReport:
        self._live()
        self.asked += 1
        if self.asked in self.refuse:
            raise UpdateRefused("too far")
        return self.model.update(seeds, weights, alpha)

    def reset(self) -> None:
        self._live()
        self.model.reset()

    def weights_hash(self) -> str:
        return self.model.weights_hash()

    def close(self) -> None: ...


def run(
    folder: Path,
    config: RunConfig,
    model: Model | None = None,
    recorder: Recorder | None = None,
    evaluator: FakeEvaluator | None = None,
) -> Search:
    """A run from its first proposal, or on from where it stopped."""
    store = Store.open(folder, write=True) if folder.exists() else Store.create(folder, config)
    try:
        each = search(store, model or Mortal(config), recorder, evaluator)
        each.run()
        return each
    finally:
        store.close()


def rows_of(folder: Path) -> list[UpdateRow]:
    store = Store.open(folder)
    try:
        return store.updates()
    finally:
        store.close()


def whole(folder: Path) -> tuple[list[Any], list[Any]]:
    store = Store.open(folder)
    clockless = {"model_seconds": 0.0, "es_seconds": 0.0}
    proposals = [replace(row, **clockless) for row in timeless(store.proposals())]  # type: ignore[arg-type]
    updates = timeless_updates(store.updates())
    store.close()
    return proposals, updates


@pytest.mark.parametrize("name", OPTIONS)
def test_resume_equals_the_uninterrupted_run(tmp_path: Path, name: str) -> None:
    """With every option: stopped in the middle of batches, between them, and at updates and rollbacks (a
    resumed run repeats moves, so that its life ends at other places), the run ends as it would have."""
    config = replace(CONFIG, **OPTIONS[name])
    model = Mortal(config)
    run(tmp_path / "whole", config, model)
    for first in (40, 81, 175):
        folder, again = tmp_path / f"stopped{first}", Mortal(config, first)
        for more in range(11, 700, 11):
            try:
                run(folder, config, again)
                break
            except KeyboardInterrupt:
                again = Mortal(config, first + more)
        assert whole(folder) == whole(tmp_path / "whole")
        assert again.weights_hash() == model.weights_hash()


@pytest.mark.parametrize("name", OPTIONS)
def test_the_log_alone_gives_every_hash(tmp_path: Path, name: str) -> None:
    """After each update the weights are those of a fresh model that made the updates of its lineage."""
    config = replace(CONFIG, **OPTIONS[name])
    run(tmp_path / "run", config)
    updates = rows_of(tmp_path / "run")
    assert updates
    for update in updates:
        model = Mortal(config).model
        for row in lineage(updates, update.id):
            learn(model, row.seeds, row.weights, row.alpha)
        assert model.weights_hash() == update.weights_hash


def test_a_resumed_run_does_not_tell_old_rollbacks_again(tmp_path: Path) -> None:
    """Its updates are shown as replayed, their notes were told when they were made."""
    config = replace(CONFIG, budget=400, **OPTIONS["rollbacks"])
    first, again = Recorder(), Recorder()
    for recorder in (first, again):
        run(tmp_path / "run", config, recorder=recorder)
    notes, repeated = ([event for event in each.events if isinstance(event, Note)] for each in (first, again))
    assert any("below" in note.text for note in notes)
    assert not any("below" in note.text for note in repeated)
    updates = [event for event in again.events if isinstance(event, Updated)]
    assert updates
    assert all(update.replayed for update in updates)


def test_the_guard_goes_back_to_the_last_good_weights(tmp_path: Path) -> None:
    """After ``patience`` batches in a row below the floor nothing is issued; the weights are those that
    wrote the last batch at or above the floor, the user is told, and the count starts anew."""
    config = replace(CONFIG, budget=400, **OPTIONS["rollbacks"])
    recorder = Recorder()
    run(tmp_path / "run", config, recorder=recorder)
    store = Store.open(tmp_path / "run")
    updates, base = store.updates(), store.meta("base_hash")
    hashes = [base, *(update.weights_hash for update in updates)]
    poor, good = 0, 0
    for update in updates:
        rows = store.proposals(update.batch)
        if sum(row.outcome == "ok" for row in rows) >= config.validity_floor * len(rows):
            poor, good = 0, update.id - 1
        else:
            poor += 1
        assert (update.rollback_to is not None) == (poor == config.patience)
        if poor == config.patience:
            poor = 0
            assert update.rollback_to == good
            assert update.weights_hash == hashes[good]
            assert not any(update.weights)
            assert update.norm == 0
    places = [update.rollback_to for update in updates if update.rollback_to is not None]
    assert any(places)
    notes = [event.text for event in recorder.events if isinstance(event, Note)]
    assert sum("80.0% valid" in note for note in notes) == len(places)
    told = [event.rollback_to for event in recorder.events if isinstance(event, Updated)]
    assert told == [update.rollback_to for update in updates]


class Failing(FakeEvaluator):
    """Nothing that a model writes is valid."""

    def submit(self, source: str, *rest: Any, **named: Any) -> "Future[Outcome]":
        future: Future[Outcome] = Future()
        valid = super().submit(source, *rest, **named).result()
        known = source == PROBLEM.heuristics["plain"]
        future.set_result(valid if known else Outcome(Status.TIMEOUT, None, "too slow"))
        return future


class Fine(FakeEvaluator):
    """Hundreds of different objectives."""

    def submit(self, source: str, *rest: Any, **named: Any) -> "Future[Outcome]":
        outcome = super().submit(source, *rest, **named).result()
        fine: Future[Outcome] = Future()
        fine.set_result(replace(outcome, objective=digest(source) % 499 / 10) if outcome.ok else outcome)
        return fine


class Huge(FakeEvaluator):
    """Objectives so large that the difference of two can be infinite."""

    def submit(self, source: str, *rest: Any, **named: Any) -> "Future[Outcome]":
        outcome, number = super().submit(source, *rest, **named).result(), digest(source)
        huge: Future[Outcome] = Future()
        size = (1.2 + number % 500 / 1000) * 1e308
        huge.set_result(replace(outcome, objective=size if number % 4 else -size) if outcome.ok else outcome)
        return huge


def test_a_floor_of_zero_never_goes_back(tmp_path: Path) -> None:
    """Switched off, the guard lets failures go on; switched on, it goes back to the base model."""
    for floor in (0.0, 0.05):
        config = replace(CONFIG, validity_floor=floor)
        run(tmp_path / str(floor), config, evaluator=Failing())
        places = {update.rollback_to for update in rows_of(tmp_path / str(floor))}
        assert places == ({None, 0} if floor else {None})


def test_numbers_that_are_not_finite_move_nothing(tmp_path: Path) -> None:
    """Infinite rewards leave their update out, with a note once; the run goes on to its end, also resumed."""
    config = replace(CONFIG, momentum=0.5)
    for resumed in (False, True):
        model, recorder = Mortal(config), Recorder()
        assert run(tmp_path / "run", config, model, recorder, Huge()).spent == config.budget
        updates = rows_of(tmp_path / "run")
        assert model.weights_hash() == updates[-1].weights_hash
        notes = [event.text for event in recorder.events if isinstance(event, Note)]
        told = 0 if resumed else sum(bool(row.note) for row in updates)
        assert sum("not finite" in note for note in notes) == told
    left_out = [row for row in updates if row.note]
    assert left_out
    assert any(not all(map(math.isfinite, row.rewards)) for row in left_out)
    assert all(not any(row.weights) for row in left_out)
    assert all(map(math.isfinite, (weight for row in updates for weight in row.weights)))


def test_a_refused_update_moves_nothing(tmp_path: Path) -> None:
    """What the model refuses is logged with zero weights and a note; the next velocity starts anew, and a
    resumed run neither asks again nor ends elsewhere."""
    config = replace(CONFIG, momentum=0.5)
    run(tmp_path / "run", config, model := Mortal(config, refuse=[3]))
    updates = rows_of(tmp_path / "run")
    assert [row.id for row in updates if row.note] == [3]
    assert "too far" in updates[2].note
    assert updates[2].weights_hash == updates[1].weights_hash
    assert not any(updates[2].weights)
    assert (updates[3].seeds, updates[3].weights) == (updates[3].step_seeds, updates[3].step_weights)
    assert len(updates[4].seeds) == 2 * len(updates[4].step_seeds)
    run(tmp_path / "run", config, again := Mortal(config))
    assert again.weights_hash() == model.weights_hash()


def test_the_weights_follow_the_velocity(tmp_path: Path) -> None:
    """With momentum and mirrored pairs the weights are the base plus the sum of
    ``v_t = B v_(t-1) + alpha / N * sum_i w_i sign_i eps(seed_i)`` over the N directions of each batch,
    computed here from the proposals."""
    config = replace(CONFIG, momentum=0.6, antithetic=True, shaping=Shaping.RANKS, alpha=0.5, sigma=0.1)
    run(tmp_path / "run", config, model := Mortal(config))
    store = Store.open(tmp_path / "run")
    weights = Mortal(config).model.weights.astype(float)
    speed = np.zeros(64)
    for update in store.updates():
        rows = store.proposals(update.batch)
        rewards = np.array([row.reward for row in rows])
        lower = [np.sum(rewards < each) + (np.sum(rewards == each) - 1) / 2 for each in rewards]
        step = np.zeros(64)
        for row, rank in zip(rows, lower, strict=True):
            eps = np.concatenate(
                [noise(row.direction_seed, "script.proj.weight", 0, 56)]
                + [noise(row.direction_seed, "script.norm.weight", 0, 8)]
            )
            step += np.sign(row.sigma) * (rank / (len(rows) - 1) - 0.5) * eps
        speed = 0.6 * speed + 0.5 / len(rows) * step
        weights += speed
    assert np.abs(speed).max() > 0.01
    assert np.allclose(model.model.weights, weights, atol=1e-5)


@pytest.mark.parametrize(("size", "antithetic"), [(1, True), (3, False), (3, True), (100, True)])
def test_directions_of_a_batch(tmp_path: Path, size: int, antithetic: bool) -> None:
    """So many proposals in a row share a direction; antithetic ones come in pairs of one seed and opposite
    sigma, and an odd last one is alone. The update has one step weight for each."""
    config = replace(CONFIG, per_direction=size, antithetic=antithetic)
    run(tmp_path / "run", config)
    store = Store.open(tmp_path / "run")
    for update in store.updates():
        slots = [(row.direction_seed, row.sigma) for row in store.proposals(update.batch)]
        directions = slots[::size]
        assert slots == [directions[slot // size] for slot in range(len(slots))]
        assert len(set(directions)) == len(directions) == len(update.step_weights)
        pairs = [directions[i : i + 2] for i in range(0, len(directions), 2 if antithetic else 1)]
        for pair in pairs if antithetic else []:
            assert len({seed for seed, _ in pair}) == 1
            assert [np.sign(sigma) for _, sigma in pair] == [1, -1][: len(pair)]  # type: ignore[call-overload]
        assert len(set(update.seeds)) == len(update.seeds) == len(pairs if antithetic else directions)


def test_new_rewards_in_a_run(tmp_path: Path) -> None:
    """Stored rewards are those of the rule: a copy is a code or an objective that an earlier proposal had,
    in the same batch or before, or that the population holds."""
    config, recorder = replace(CONFIG, budget=300, reward=Reward.NEW), Recorder()
    run(tmp_path / "run", config, recorder=recorder, evaluator=Fine())
    store = Store.open(tmp_path / "run")
    objectives = {row.id: row.objective for row in store.proposals()}
    members: list[float] = []
    held: dict[int, list[float]] = {}
    for event in recorder.events:
        if isinstance(event, Updated):
            held[event.number] = members
        if isinstance(event, Evolved):
            members = [member.objective for member in event.members]
    seen: set[object] = set()
    copies = {}
    for row in store.proposals():
        copies[row.id] = bool({normalise(row.code), row.objective} & seen)
        seen |= {normalise(row.code), row.objective} - {None}
    paid = [0, 0]
    for update in store.updates():
        for row in store.proposals(update.batch):
            parent = objectives[row.parents[0]]  # type: ignore[index]
            assert parent is not None
            assert row.reward == new_reward(row.objective, copies[row.id], parent, held[update.id])
            paid[row.reward > 0] += 1
    assert min(paid) > 5


def test_a_damaged_log_is_refused(tmp_path: Path) -> None:
    """A rollback that points forward, or to weights that it does not give, stops the resume."""
    config = replace(CONFIG, budget=400, **OPTIONS["rollbacks"])
    run(tmp_path / "run", config)
    back = next(row for row in rows_of(tmp_path / "run") if row.rollback_to)
    for wrong in (back.id, 99, -1, back.rollback_to - 1):  # type: ignore[operator]
        store = Store.open(tmp_path / "run", write=True)
        with store._connection as connection:
            connection.execute("UPDATE updates SET rollback_to = ? WHERE id = ?", (wrong, back.id))
        store.close()
        with pytest.raises(ConfigError, match="update"):
            run(tmp_path / "run", config)
