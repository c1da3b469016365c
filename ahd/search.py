"""The evolutionary loop: batches of proposals, their evaluation, learning, survival.

Resuming is the same loop: proposals and updates already in the store stand in for new ones.
"""

import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, replace
from typing import Protocol

from ahd import announce
from ahd.best_file import write_best
from ahd.carry_over import CarryOver
from ahd.config import ConfigError, RunConfig, Style
from ahd.confirm import confirm
from ahd.es.perturbation import scales
from ahd.es.schedule import sigma_at
from ahd.events import Display, Note
from ahd.finalists import choose, lead, with_others
from ahd.insights.source import source_of
from ahd.learning import Learner
from ahd.memory import Memory
from ahd.population import Individual, Population, entrants, individual
from ahd.schedule import TUNE, Batch, Schedule
from ahd.scoring import failed_itself
from ahd.store import Proposal, Store
from ahd.style import prompt_style
from ahd.tasks import Task, plan_batch, request_of
from ahd.tuning import Tuner
from evaluators.outcome import Outcome, Status
from evaluators.probe import Probe
from operators.model import Model, Reply
from operators.parsing import completion_in, normalise, parse_reply
from problems.problem import Problem


class Evaluator(Protocol):
    """Scores candidates outside this process (``evaluators.sandbox.Sandbox``)."""

    def submit(
        self, source: str, split: str = "train", size: int | None = None, *, probe: Probe | None = None
    ) -> "Future[Outcome]": ...


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
        self.learner = Learner(config, model, store, display)
        self.tuner = Tuner(config.seed, problem)
        insights = source_of(config, style, problem, model, store, lambda text: display.show(Note(text)))
        self.memory = Memory(config, store, insights)
        self._next_id = store.next_id()
        self._by_code: dict[str, tuple[int, Future[Outcome]]] = {}
        self._by_objective: dict[float, int] = {}
        self._by_behaviour: dict[str, float] = {}
        self._written: Individual | None = None

    def run(self) -> Individual:
        """Spend the budget; return the best heuristic found.

        Raises:
            ConfigError: when a resumed run cannot be rebuilt (other model, other weights).
        """
        self.learner.begin()
        self._initialise()
        for batch in self.schedule.batches:
            self._run(batch, "search")
        self._check_complete()
        return self._confirmed()

    def _confirmed(self) -> Individual:
        """The best heuristic that scores again what it scored, and elsewhere too: of the finalists, the best
        elsewhere. The problem's own where none does."""
        before = self.population.best

        def tell(text: str) -> None:
            self.display.show(Note(text))

        with CarryOver(self.problem, self.config, tell, self.check_stop) as carry_over:
            count = self.config.finalists
            rows = self.store.proposals() if count > len(self.population) else ()
            pool = with_others(self.population, rows, count)
            if count > 1 and self.problem.redraw is not None:
                tell(f"comparing the {min(count, len(pool))} best on fresh training sets")
            confirm(pool, self.evaluator.submit, self.store, tell, carry_over.fault, count)
            if count > 1:
                choose(pool, count, carry_over.fresh, self.store, tell, self.problem.decimals)
            lead(self.population, pool, self.store)
        if self.population.best is None:
            self._begin_with_simplest()
        if self.population.best != before:
            self._show_population()
        best = self.population.best
        assert best is not None, "it holds at least the problem's own"
        return best

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
            name = self._begin_with_simplest()
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
            if not self.population.full:
                text += ", the most that it may take"
            self.display.show(Note(f"{text} (rejected: {reasons})" if reasons else text))

    def _begin_with_simplest(self) -> str:
        """Put the problem's own simplest heuristic into the population; its name.

        Raises:
            ConfigError: it fails.
        """
        name, code = self.problem.simplest
        outcome = self.evaluator.submit(code).result()
        if outcome.objective is None:
            raise failed_itself(self.problem, name, outcome)
        completion = completion_in(code, self.problem)
        self.population.admit([Individual(outcome.objective, code, completion, "", None, name)])
        return name

    def _run(self, batch: Batch, phase: str) -> list[Proposal]:
        """Make and store the proposals of one batch; learn from them; let the best survive."""
        self.check_stop()
        tasks = self._tasks(batch)
        batch = tasks[0].batch
        stored = {row.slot: row for row in self.store.proposals(batch.number)}
        rows: list[Proposal] = []
        for slot, row in sorted(stored.items()):
            self._check_planned(row, tasks[slot] if 0 <= slot < len(tasks) else None)
            self._remember(row)
            self._announce(row, replayed=True)
            rows.append(row)
        rows += self._propose([task for task in tasks if task.slot not in stored], phase)
        rows.sort(key=lambda row: row.slot)
        if batch.operator == TUNE:
            self.tuner.tell([row.objective for row in rows])
        else:
            self.learner.learn(batch, tasks, rows, self.population)
        if self.config.tune:
            self.tuner.add(
                individual(row, row.objective)
                for row in rows
                if row.objective is not None and row.duplicate_of is None
            )
        known = {parent.proposal: parent.objective for task in tasks for parent in task.parents}
        self.population.admit(entrants(rows, known))
        if self.config.probe:
            self._by_behaviour = self.store.behaviours(batch.number) | self._by_behaviour
        self.memory.keep(batch)
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
        made = row.operator, row.request_seed, row.direction_seed, row.parents, row.prompt, row.prefill
        if task is not None:
            direction = task.direction.seed if task.direction else None
            parents = tuple(parent.proposal for parent in task.parents)
            asked = task.prompt.text, task.prompt.prefill
            planned = task.batch.operator, task.request_seed, direction, parents, *asked
        drafted = task is None or task.draft in ("", row.reply)
        if task is None or made != planned or not drafted or row.outcome not in set(Status):
            raise ConfigError(
                f"{self.store.folder}: proposal {row.id} is not the one this run would make: its "
                "configuration or rows were changed, or ahd was; resume with what the run began with"
            )

    def _tasks(self, batch: Batch) -> list[Task]:
        """The proposals of a batch. The model is asked too where a turn of tuning finds nothing to tune."""
        if batch.operator == TUNE:
            if tasks := self.tuner.tasks(batch):
                return tasks
            batch = replace(batch, operator="m1" if self.config.method.evolves else "i1")
        sigma = (
            sigma_at(batch.generation, self.schedule.generations, scales(self.config)[0])
            if batch.perturbed
            else 0.0
        )
        notes = self.memory.notes(batch)
        return plan_batch(self.config, self.style, self.problem, batch, sigma, self.population, notes)

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

        for index, reply in self._replies(tasks):
            pending[index] = self._evaluate(tasks[index], reply, phase)
            store_ready(wait=False)
            self.check_stop()
        store_ready(wait=True)
        return rows

    def _replies(self, tasks: Sequence[Task]) -> Iterator[tuple[int, Reply]]:
        """The replies to tasks by number, as they come: the model's, or the drafts."""
        if tasks[0].draft:
            return enumerate(Reply(task.draft, 0, 0, 0.0, 0.0) for task in tasks)
        requests = [request_of(self.config, self.style, self.problem, task) for task in tasks]
        return self.model.generate(requests, [task.direction for task in tasks])

    def _evaluate(self, task: Task, reply: Reply, phase: str) -> Pending:
        """Parse the reply and start its evaluation, unless the same code was evaluated before."""
        parsed = parse_reply(task.prompt.lead + reply.text, self.problem, prompt_style(self.style))
        normal = normalise(parsed.code)
        known = self._by_code.get(normal)
        outcome = known[1] if known else self.evaluator.submit(parsed.code, probe=self._probe)
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

    @property
    def _probe(self) -> Probe | None:
        """What is known of the batches before, whatever of this one is there already: a resumed run has to
        find the same."""
        return Probe(self.config.probe, self._by_behaviour) if self.config.probe else None

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
        self.store.add_proposal(row, outcome.behaviour if outcome.ok and not repeated else "")
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

    def _announce(self, row: Proposal, replayed: bool) -> None:
        held = [self.population.best.objective] if self.population.best else []
        best = min([*self._by_objective, *held], default=None)
        self.display.show(announce.proposed(row, self.spent, self.init_spent, best, replayed))

    def _show_population(self) -> None:
        best = self.population.best
        if best is not None and best != self._written:
            write_best(self.store.folder, self.problem, self.config, best)
            self._written = best
        self.display.show(announce.evolved(self.population))
