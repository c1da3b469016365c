"""The evolutionary loop: batches of proposals, their evaluation, rewards, updates, survival.

Resuming is the same loop: proposals and updates already in the store stand in for new ones.
"""

import time
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, replace
from typing import Protocol

from ahd import announce
from ahd.best_file import write_best
from ahd.config import ConfigError, RunConfig, Style
from ahd.es.rewards import evolution_reward, sampling_rewards, z_scores
from ahd.es.schedule import sigma_at
from ahd.events import Display, Note
from ahd.population import Individual, Population
from ahd.schedule import Batch, Schedule
from ahd.seeds import derive, generator
from ahd.store import Proposal, Store, UpdateRow
from ahd.style import SAMPLING, prompt_style
from evaluators.outcome import Outcome, Status
from operators.learning import learn
from operators.model import Direction, Model, Reply, Request
from operators.parsing import completion_in, normalise, parse_reply
from operators.prompt import Prompt
from operators.registry import OPERATORS
from problems.problem import Problem


class Evaluator(Protocol):
    """Scores candidates outside this process (``evaluators.sandbox.Sandbox``)."""

    def submit(self, source: str, split: str = "train", size: int | None = None) -> "Future[Outcome]": ...


@dataclass(frozen=True)
class Task:
    """One proposal before it is made."""

    batch: Batch
    slot: int
    parents: tuple[Individual, ...]
    prompt: Prompt
    request_seed: int
    direction: Direction | None


@dataclass(frozen=True)
class Pending:
    """One proposal whose reply is there and whose evaluation is under way."""

    row: Proposal
    normal: str
    outcome: "Future[Outcome]"


class Search:
    """One run from its first proposal to its last. ``check_stop`` raises ``KeyboardInterrupt`` when the
    run is to stop; it is called at every reply."""

    def __init__(
        self,
        config: RunConfig,
        style: Style,
        problem: Problem,
        schedule: Schedule,
        model: Model,
        evaluator: Evaluator,
        store: Store,
        display: Display,
        check_stop: Callable[[], None] = lambda: None,
    ) -> None:
        self.config = config
        self.style = style
        self.problem = problem
        self.schedule = schedule
        self.model = model
        self.evaluator = evaluator
        self.store = store
        self.display = display
        self.check_stop = check_stop
        self.population = Population(config.population)
        self.spent = 0
        self.init_spent = 0
        self._next_id = store.next_id()
        self._updates = 0
        self._weights_hash = ""
        self._by_code: dict[str, tuple[int, Future[Outcome]]] = {}
        self._by_objective: dict[float, int] = {}
        self._written: Individual | None = None

    def run(self) -> Individual:
        """Spend the budget; return the best heuristic found.

        Raises:
            ConfigError: when a resumed run cannot be rebuilt (other model, other weights).
        """
        self._check_base()
        self._initialise()
        for batch in self.schedule.batches:
            self._run(batch, "search")
        self._check_complete()
        best = self.population.best
        assert best is not None, "the initial population is never empty"
        return best

    def _check_base(self) -> None:
        self._weights_hash = self.model.weights_hash()
        expected = self.store.meta("base_hash")
        if expected is None:
            self.store.set_meta(base_hash=self._weights_hash)
        elif expected != self._weights_hash:
            raise ConfigError(
                f"{self.store.folder}: the model's weights differ from those the run began with "
                f"({self._weights_hash[:12]} instead of {expected[:12]}); restore that model or "
                "start a new run"
            )

    def _initialise(self) -> None:
        """Draw i1 proposals until the population is full or the limit on them is reached."""
        limit = self.config.init_limit
        number = 0
        failures: Counter[str] = Counter()
        while not self.population.full and self.init_spent < limit:
            count = min(self.config.population, limit - self.init_spent)
            for row in self._run(Batch(number, 0, "i1", count, False), "init"):
                if row.duplicate_of is not None:
                    failures["repeats an earlier one"] += 1
                elif row.outcome != Status.OK:
                    failures[row.outcome] += 1
            number -= 1
        reasons = ", ".join(f"{count} {what}" for what, count in failures.most_common())
        if len(self.population) == 0:
            name, code = self.problem.simplest
            outcome = self.evaluator.submit(code).result()
            if outcome.objective is None:
                raise ConfigError(
                    f"problem {self.problem.name}: its own heuristic {name} failed: {outcome.detail}"
                )
            completion = completion_in(code, self.problem)
            self.population.admit([Individual(outcome.objective, code, completion, "", None, name)])
            self._show_population()
            self.display.show(
                Note(
                    f"no valid heuristic in {self.init_spent} initial proposals ({reasons}): "
                    f"starting from {name}"
                )
            )
        else:
            text = f"initial population: {len(self.population)} of {self.config.population}"
            text += f" after {self.init_spent} proposals"
            self.display.show(Note(f"{text} (rejected: {reasons})" if reasons else text))

    def _run(self, batch: Batch, phase: str) -> list[Proposal]:
        """Make and store the proposals of one batch; learn from them; let the best survive."""
        self.check_stop()
        tasks = self._tasks(batch)
        stored = {row.slot: row for row in self.store.proposals(batch.number)}
        rows: list[Proposal] = []
        for slot, row in sorted(stored.items()):
            self._check_planned(row, tasks[slot] if 0 <= slot < len(tasks) else None)
            self._remember(row)
            self._announce(row, replayed=True)
            rows.append(row)
        rows += self._propose([task for task in tasks if task.slot not in stored], phase)
        rows.sort(key=lambda row: row.slot)
        self._learn(batch, tasks, rows)
        self.population.admit(
            Individual(row.objective, row.code, row.completion, row.thought, row.id, row.operator)
            for row in rows
            if row.objective is not None
        )
        self._show_population()
        return rows

    def _check_complete(self) -> None:
        """Refuse a file whose proposals so far are not those this loop has met: some are missing, or the
        configuration has no place for them."""
        if self.init_spent + self.spent + 1 != self._next_id:
            raise ConfigError(
                f"{self.store.folder}: its proposals do not fit its configuration: rows are missing or the "
                "budget was changed; restore the run file from a copy"
            )

    def _check_planned(self, row: Proposal, task: Task | None) -> None:
        """Refuse a stored proposal that this configuration would not have made."""
        made = row.operator, row.request_seed, row.direction_seed, row.parents, row.prompt
        if task is not None:
            direction = task.direction.seed if task.direction else None
            parents = tuple(parent.proposal for parent in task.parents)
            planned = task.batch.operator, task.request_seed, direction, parents, task.prompt.text
        if task is None or made != planned or row.outcome not in set(Status):
            raise ConfigError(
                f"{self.store.folder}: proposal {row.id} is not the one this run would make: its "
                "configuration or rows were changed, or ahd was; resume with what the run began with"
            )

    def _tasks(self, batch: Batch) -> list[Task]:
        """The batch's proposals: they depend on the run's seed and the population only."""
        operator = OPERATORS[batch.operator]
        rng = generator(self.config.seed, "parents", batch.number)
        sigma = (
            sigma_at(batch.generation, self.schedule.generations, self.config.sigma)
            if batch.perturbed
            else 0.0
        )
        tasks = []
        for slot in range(batch.proposals):
            wanted = self.config.parents if operator.parents is None else operator.parents
            parents = tuple(self.population.select(wanted, rng))
            prompt = operator.prompt(self.problem, parents, prompt_style(self.style))
            direction = (
                Direction(derive(self.config.seed, "direction", batch.number, slot), sigma)
                if batch.perturbed
                else None
            )
            request_seed = derive(self.config.seed, "request", batch.number, slot)
            tasks.append(Task(batch, slot, parents, prompt, request_seed, direction))
        return tasks

    def _request(self, task: Task) -> Request:
        config, usual = self.config, SAMPLING[self.style]
        return Request(
            prompt=task.prompt.text,
            seed=task.request_seed,
            prefill=task.prompt.prefill,
            stop=task.prompt.stop,
            max_tokens=config.max_tokens or task.prompt.max_tokens,
            temperature=usual.temperature if config.temperature is None else config.temperature,
            top_p=usual.top_p if config.top_p is None else config.top_p,
        )

    def _propose(self, tasks: Sequence[Task], phase: str) -> list[Proposal]:
        """Generate and evaluate at the same time; store in the order of the slots."""
        if not tasks:
            return []
        self._check_complete()
        rows: list[Proposal] = []
        pending: dict[int, Pending] = {}

        def store_ready(wait: bool) -> None:
            while len(rows) < len(tasks):
                following = pending.get(len(rows))
                if following is None or not (wait or following.outcome.done()):
                    return
                rows.append(self._store(following))

        requests = [self._request(task) for task in tasks]
        for index, reply in self.model.generate(requests, [task.direction for task in tasks]):
            pending[index] = self._evaluate(tasks[index], reply, phase)
            store_ready(wait=False)
            self.check_stop()
        store_ready(wait=True)
        return rows

    def _evaluate(self, task: Task, reply: Reply, phase: str) -> Pending:
        """Parse the reply and start its evaluation, unless the same code was evaluated before."""
        parsed = parse_reply(task.prompt.lead + reply.text, self.problem, prompt_style(self.style))
        normal = normalise(parsed.code)
        known = self._by_code.get(normal)
        outcome = known[1] if known else self.evaluator.submit(parsed.code)
        if known is None:
            self._by_code[normal] = (0, outcome)
        direction = task.direction
        row = Proposal(
            id=0,
            batch=task.batch.number,
            slot=task.slot,
            phase=phase,
            generation=task.batch.generation,
            operator=task.batch.operator,
            parents=tuple(parent.proposal for parent in task.parents),
            prompt=task.prompt.text,
            prefill=task.prompt.prefill,
            reply=reply.text,
            code=parsed.code,
            completion=parsed.completion,
            thought=parsed.thought,
            outcome="",
            objective=None,
            detail="",
            duplicate_of=None,
            request_seed=task.request_seed,
            direction_seed=direction.seed if direction else None,
            sigma=direction.sigma if direction else None,
            reward=None,
            prompt_tokens=reply.prompt_tokens,
            completion_tokens=reply.completion_tokens,
            model_seconds=reply.seconds,
            es_seconds=reply.perturb_seconds,
            evaluation_seconds=0.0,
            created=0.0,
        )
        return Pending(row, normal, outcome)

    def _store(self, pending: Pending) -> Proposal:
        """Number and commit one evaluated proposal."""
        outcome = pending.outcome.result()
        repeated = self._by_code[pending.normal][0] or None
        twin = None if outcome.objective is None else self._by_objective.get(outcome.objective)
        row = replace(
            pending.row,
            id=self._next_id,
            outcome=outcome.status.value,
            objective=outcome.objective,
            detail=outcome.detail,
            duplicate_of=repeated or twin,
            evaluation_seconds=0.0 if repeated else outcome.seconds,
            created=time.time(),
        )
        self.store.add_proposal(row)
        self._next_id += 1
        self._remember(row, pending.normal)
        self._announce(row, replayed=False)
        return row

    def _remember(self, row: Proposal, normal: str | None = None) -> None:
        """Count a stored proposal and know its code and objective again."""
        if row.phase == "init":
            self.init_spent += 1
        else:
            self.spent += 1
        normal = normalise(row.code) if normal is None else normal
        first, outcome = self._by_code.get(normal, (0, None))
        if outcome is None:
            outcome = Future()
            outcome.set_result(Outcome(Status(row.outcome), row.objective, row.detail))
        self._by_code[normal] = (first or row.id, outcome)
        if row.objective is not None:
            self._by_objective.setdefault(row.objective, row.id)

    def _learn(self, batch: Batch, tasks: Sequence[Task], rows: Sequence[Proposal]) -> None:
        """Turn the objectives of a mutation or sampling batch into rewards and, if it learns, an update."""
        if not (batch.perturbed or OPERATORS[batch.operator].perturbs):
            return
        logged = self.store.update(batch.number)
        if logged is not None:
            self._replay(logged)
            return
        rewards = self._rewards(tasks, rows)
        if rewards is not None:
            self.store.set_rewards({row.id: reward for row, reward in zip(rows, rewards, strict=True)})
        if not (batch.perturbed and self.config.method.learns):
            return
        rewards = rewards if rewards is not None else [0.0] * len(rows)
        weights = z_scores(rewards)
        directions = [task.direction for task in tasks if task.direction is not None]
        seeds = [direction.seed for direction in directions]
        report = learn(self.model, seeds, weights, self.config.alpha)
        if report is not None:
            self._weights_hash = report.weights_hash
        update = UpdateRow(
            id=self._updates + 1,
            batch=batch.number,
            operator=batch.operator,
            seeds=tuple(seeds),
            rewards=tuple(rewards),
            weights=tuple(weights),
            sigma=directions[0].sigma,
            alpha=self.config.alpha,
            norm=report.norm if report else 0.0,
            moved=report.moved if report else 0.0,
            weights_hash=self._weights_hash,
            seconds=report.seconds if report else 0.0,
            created=time.time(),
        )
        self.store.add_update(update)
        self._announce_update(update, replayed=False)

    def _replay(self, update: UpdateRow) -> None:
        """Repeat a logged update on the live weights and check the hash it left."""
        report = learn(self.model, update.seeds, update.weights, update.alpha)
        if report is not None:
            self._weights_hash = report.weights_hash
        if self._weights_hash != update.weights_hash:
            raise ConfigError(
                f"{self.store.folder}: update {update.id} rebuilt from the log gives weights "
                f"{self._weights_hash[:12]} instead of {update.weights_hash[:12]}: resume with the versions "
                "of ahd, numba and the model that the run began with"
            )
        self._announce_update(update, replayed=True)

    def _rewards(self, tasks: Sequence[Task], rows: Sequence[Proposal]) -> list[float] | None:
        if not self.config.method.evolves:
            return sampling_rewards([row.objective for row in rows])
        worst = self.population.worst_objective
        return [
            evolution_reward(row.objective, task.parents[0].objective, worst)
            for task, row in zip(tasks, rows, strict=True)
        ]

    def _announce(self, row: Proposal, replayed: bool) -> None:
        held = [self.population.best.objective] if self.population.best else []
        best = min([*self._by_objective, *held], default=None)
        self.display.show(announce.proposed(row, self.spent, self.init_spent, best, replayed))

    def _announce_update(self, update: UpdateRow, replayed: bool) -> None:
        self._updates = update.id
        self.display.show(announce.updated(update, replayed))

    def _show_population(self) -> None:
        best = self.population.best
        if best is not None and best != self._written:
            write_best(self.store.folder, self.problem, self.config, best)
            self._written = best
        self.display.show(announce.evolved(self.population))
