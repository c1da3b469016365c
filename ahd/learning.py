"""Learning: complete batches become rewards, rewards become updates, and bad updates are taken back.

The weights are a function of the base weights and the logged updates alone, so that a resumed run repeats
the log and goes on as if nothing had happened.
"""

import math
import time
from collections.abc import Iterator, Sequence

from ahd import announce
from ahd.config import ConfigError, Reward, RunConfig
from ahd.es.perturbation import scales
from ahd.es.rewards import evolution_reward, new_reward, new_sampling_rewards, sampling_rewards
from ahd.es.shaping import direction_weights
from ahd.es.steps import Step, step_of, velocity
from ahd.events import Display, Note
from ahd.population import Population
from ahd.schedule import Batch
from ahd.store import Proposal, Store, UpdateRow
from ahd.tasks import Task, directions_of
from operators.learning import learn
from operators.model import Model, UpdateRefused, UpdateReport
from operators.registry import OPERATORS

_COPY_WORTH = {Reward.NEW: 0.0, Reward.DISTINCT: -0.5}
"""What a copy is worth by the rules that tell copies apart."""


class Learner:
    """Moves the live weights of a run, batch by batch, and logs every move.

    Two guards. When ``patience`` batches in a row have a share of valid proposals below
    ``validity_floor``, the weights go back to those that wrote the last batch above it. And an update that
    is not finite, or that the model refuses, is left out. Either is told, and the velocity starts anew.
    """

    def __init__(self, config: RunConfig, model: Model, store: Store, display: Display) -> None:
        self.config = config
        self.model = model
        self.store = store
        self.display = display
        self.updates: list[UpdateRow] = []
        self._hash = ""
        self._poor = 0
        """Batches in a row below the floor."""
        self._good = 0
        """Number of the update whose weights wrote the last batch above the floor; 0 is the base."""

    def begin(self) -> None:
        """Compare the model with the one the run began with.

        Raises:
            ConfigError: its weights are others.
        """
        self._hash = self.model.weights_hash()
        expected = self.store.meta("base_hash")
        if expected is None:
            self.store.set_meta(base_hash=self._hash)
        elif expected != self._hash:
            raise ConfigError(
                f"{self.store.folder}: the model's weights differ from those the run began with "
                f"({self._hash[:12]} instead of {expected[:12]}); restore that model or start a new run"
            )

    def learn(
        self, batch: Batch, tasks: Sequence[Task], rows: Sequence[Proposal], population: Population
    ) -> None:
        """Reward the proposals of a complete mutation or sampling batch and, if the method learns, move the
        weights. ``population`` is the one the batch was made from.

        Raises:
            ConfigError: a logged update does not lead to the weights it led to before.
        """
        if not (batch.perturbed or OPERATORS[batch.operator].perturbs):
            return
        logged = self.store.update(batch.number)
        rewards: list[float] | None = None
        if logged is None:
            rewards = _rewards(self.config, tasks, rows, population)
            if rewards is not None:
                self.store.set_rewards({row.id: reward for row, reward in zip(rows, rewards, strict=True)})
        if not (batch.perturbed and self.config.method.learns):
            return
        self._judge(rows)
        if logged is None:
            update = self._update(batch, tasks, rows, rewards or [0.0] * len(rows))
            self.store.add_update(update)
        else:
            self._repeat(update := logged)
        self.updates.append(update)
        if update.rollback_to is not None:
            self._poor = 0
        if update.note and logged is None:
            self.display.show(Note(update.note))
        self.display.show(announce.updated(update, replayed=logged is not None))

    def _judge(self, rows: Sequence[Proposal]) -> None:
        """Count batches below the floor; remember the weights of one above it."""
        if sum(row.objective is not None for row in rows) < self.config.validity_floor * len(rows):
            self._poor += 1
        else:
            self._poor, self._good = 0, len(self.updates)

    def _update(
        self, batch: Batch, tasks: Sequence[Task], rows: Sequence[Proposal], rewards: Sequence[float]
    ) -> UpdateRow:
        """Make the update of a batch, or take earlier ones back."""
        started, number = time.perf_counter(), len(self.updates) + 1
        alpha, directions = scales(self.config)[1], directions_of(tasks, self.config.per_direction)
        weights, fault = _weights(self.config, rewards, rows)
        step = step_of(directions, weights)
        issued = velocity([step, *self._earlier()], self.config.momentum)
        rollback_to: int | None = None
        report: UpdateReport | None = None
        if self._poor >= self.config.patience:
            rollback_to = self._good
            self._return_to(rollback_to)
            place = f"those after update {rollback_to}" if rollback_to else "those of the base model"
            fault = f"{self._poor} batches in a row below {self.config.validity_floor:.1%} valid: "
            fault += f"the weights are {place} again"
        elif not fault:
            try:
                report = learn(self.model, issued.seeds, issued.weights, alpha)
            except UpdateRefused as error:
                fault = f"left out: {error}"
        if fault:
            issued = issued.still
        if report is not None:
            self._hash = report.weights_hash
        return UpdateRow(
            id=number,
            batch=batch.number,
            operator=batch.operator,
            seeds=issued.seeds,
            rewards=tuple(rewards),
            weights=issued.weights,
            sigma=directions[0].sigma,
            alpha=alpha,
            norm=report.norm if report else 0.0,
            moved=report.moved if report else 0.0,
            weights_hash=self._hash,
            seconds=time.perf_counter() - started,
            created=time.time(),
            step_seeds=step.seeds,
            step_weights=step.weights,
            rollback_to=rollback_to,
            note=f"update {number}: {fault}" if fault else "",
        )

    def _earlier(self) -> Iterator[Step]:
        """The steps that the velocity still holds, the newest first."""
        for row in reversed(self.updates):
            if row.note:
                return
            yield Step(row.step_seeds, row.step_weights)

    def _repeat(self, row: UpdateRow) -> None:
        """Repeat a logged update on the live weights and check the hash it left."""
        if row.rollback_to is not None:
            self._return_to(row.rollback_to)
        else:
            self._apply(row)
        self._check(row.weights_hash, f"update {row.id} rebuilt from the log")

    def _return_to(self, number: int) -> None:
        """Weights back to those after update ``number``, from the base model and the log."""
        self.model.reset()
        self._hash = self.model.weights_hash()
        for row in lineage(self.updates, number):
            self._apply(row)
        expected = self.updates[number - 1].weights_hash if number else self.store.meta("base_hash") or ""
        self._check(expected, f"going back to update {number}")

    def _apply(self, row: UpdateRow) -> None:
        try:
            report = learn(self.model, row.seeds, row.weights, row.alpha)
        except UpdateRefused as error:
            raise ConfigError(f"{self.store.folder}: update {row.id} cannot be repeated: {error}") from None
        if report is not None:
            self._hash = report.weights_hash

    def _check(self, expected: str, what: str) -> None:
        if self._hash != expected:
            raise ConfigError(
                f"{self.store.folder}: {what} gives weights {self._hash[:12]} instead of {expected[:12]}: "
                "resume with the versions of ahd, numba and the model that the run began with"
            )


def lineage(updates: Sequence[UpdateRow], number: int) -> list[UpdateRow]:
    """The updates that lead from the base weights to those after update ``number``, in order: what a
    rollback took back is left out.

    Raises:
        ConfigError: a rollback points to an update that was not before it.
    """
    kept = []
    while number > 0:
        if number > len(updates):
            raise ConfigError(f"update {number} is not in the log: restore the run file from a copy")
        row = updates[number - 1]
        if row.rollback_to is None:
            kept.append(row)
            number -= 1
        elif 0 <= row.rollback_to < number:
            number = row.rollback_to
        else:
            raise ConfigError(f"update {number} is damaged: restore the run file from a copy")
    return kept[::-1]


def _rewards(
    config: RunConfig, tasks: Sequence[Task], rows: Sequence[Proposal], population: Population
) -> list[float] | None:
    """The rewards of a batch by the configured rule; None when nothing is to be learnt from it."""
    objectives = [row.objective for row in rows]
    members = [member.objective for member in population.members]
    copies = [row.duplicate_of is not None or row.objective in members for row in rows]
    worth = _COPY_WORTH.get(config.reward)
    if not config.method.evolves:
        return (
            sampling_rewards(objectives) if worth is None else new_sampling_rewards(objectives, copies, worth)
        )
    parents = [task.parents[0].objective for task in tasks]
    if worth is not None:
        return [
            new_reward(child, copy, parent, members, worth)
            for child, copy, parent in zip(objectives, copies, parents, strict=True)
        ]
    worst = population.worst_objective
    return [evolution_reward(child, parent, worst) for child, parent in zip(objectives, parents, strict=True)]


def _weights(
    config: RunConfig, rewards: Sequence[float], rows: Sequence[Proposal]
) -> tuple[list[float], str]:
    """The weights of the directions, and what is wrong with them; all zero if something is."""
    valid = [row.objective is not None for row in rows]
    try:
        weights = direction_weights(config.shaping, rewards, valid, config.per_direction)
        if all(map(math.isfinite, weights)):
            return weights, ""
    except ValueError:
        pass
    return [0.0] * -(-len(rows) // config.per_direction), "left out: rewards or their scores are not finite"
