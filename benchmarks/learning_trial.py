"""One arm of the learning trial: the real search, with a population that never changes.

The prompts, the evaluation, the rewards and the updates are those of ``ahd.search``. Fixed are the parents,
so that they stay as hard to beat as they were, and the operators: m1 and m2 take turns. What happens in a
batch depends on the seed and the weights alone, so that methods are paired by seed.
"""

import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean
from typing import Any

from ahd.config import Method, RunConfig, Style
from ahd.es.rewards import evolution_reward, new_reward
from ahd.events import Event
from ahd.population import Individual, Population
from ahd.schedule import Batch, Schedule
from ahd.search import Evaluator, Search
from ahd.store import Proposal, Store, UpdateRow
from evaluators.outcome import Outcome
from evaluators.probe import Probe
from operators.model import Direction, Model, Reply, Request
from operators.syntax import normalise
from problems.problem import Problem

POPULATION = {
    "near - 0.5 * rest": 6.47196,
    "near - 0.2 * home - 0.2 * rest": 6.58188,
    "near / rest": 6.60833,
    "near - 0.3 * rest": 6.67674,
    "near - 0.3 * home": 6.71255,
    "near - 0.2 * rest": 6.74873,
    "near - 0.2 * home": 6.87685,
    "near": 7.00437,
}
"""The parents: completions of the skeleton of ``tsp`` and their objectives on its training instances. Three
are the problem's known heuristics, the others mild variants of them; all can be improved on."""


@dataclass(frozen=True)
class Trial:
    """What the arms of a trial share; ``config`` with sigma and alpha given, its method and seed unused.

    A batch holds ``directions`` times ``config.per_direction`` proposals. ``constant`` keeps sigma as it
    is; otherwise it follows the cosine over the ``updates`` batches.
    """

    config: RunConfig
    updates: int
    directions: int
    constant: bool = False

    @property
    def proposals(self) -> int:
        """Of one batch."""
        return self.directions * self.config.per_direction

    def settings(self, method: Method) -> dict[str, Any]:
        """Everything that an arm of this method depends on beside its seed, so that arms are not repeated
        for settings that do not concern them."""
        config = self.config
        found = {"model": config.model, "updates": self.updates, "proposals": self.proposals}
        if method.perturbs:
            found |= {
                "kind": config.kind.value,
                "scope": config.scope,
                "rank": config.rank,
                "sigma": config.sigma,
                "schedule": "constant" if self.constant else "cosine",
                "per_direction": config.per_direction,
                "antithetic": config.antithetic,
            }
        if method.learns:
            found |= {
                "alpha": config.alpha,
                "reward": config.reward.value,
                "shaping": config.shaping.value,
                "momentum": config.momentum,
            }
        return found

    def schedule(self, method: Method) -> Schedule:
        batches = (
            Batch(
                number,
                1 if self.constant else number,
                "m1" if number % 2 else "m2",
                self.proposals,
                method.perturbs,
            )
            for number in range(1, self.updates + 1)
        )
        return Schedule(tuple(batches), self.updates, "m1 and m2 in turns")

    def arm_config(self, method: Method, seed: int) -> RunConfig:
        """The arm as a run. No update is rolled back: a trial shows also what goes wrong."""
        return replace(
            self.config,
            method=method,
            seed=seed,
            budget=max(self.updates * self.proposals, len(POPULATION)),
            population=len(POPULATION),
            init_share=1.0,
            validity_floor=0.0,
        )


class Fixed(Population):
    """A population that is closed once it is full."""

    def admit(self, offspring: Iterable[Individual]) -> None:
        if not self.full:
            super().admit(offspring)


class Opened:
    """A model whose first replies are given: the population. The rest is up to the model."""

    def __init__(self, model: Model, texts: Sequence[str]) -> None:
        self._model = model
        self._texts = texts

    def __getattr__(self, name: str) -> Any:
        return getattr(self._model, name)

    def generate(
        self, requests: Sequence[Request], directions: Sequence[Direction | None]
    ) -> Iterator[tuple[int, Reply]]:
        if not self._texts:
            yield from self._model.generate(requests, directions)
            return
        for index in range(len(requests)):
            yield index, Reply(self._texts[index], 0, 0, 0.0)
        self._texts = ()


class Remembering:
    """An evaluator that evaluates the same code once, over all arms."""

    def __init__(self, evaluator: Evaluator) -> None:
        self._evaluator = evaluator
        self._known: dict[str, Future[Outcome]] = {}

    def submit(
        self, source: str, split: str = "train", size: int | None = None, *, probe: Probe | None = None
    ) -> "Future[Outcome]":
        normal = normalise(source)
        if normal not in self._known:
            self._known[normal] = self._evaluator.submit(source, split, size, probe=probe)
        return self._known[normal]


class Silent:
    """A display that shows nothing."""

    def __enter__(self) -> "Silent":
        return self

    def __exit__(self, *exc: object) -> None: ...

    def show(self, event: Event) -> None: ...


def run_arm(
    trial: Trial, method: Method, seed: int, problem: Problem, model: Model, evaluator: Evaluator
) -> dict[str, Any]:
    """Run one arm from the base weights, which the model has again afterwards; its record.

    Raises:
        RuntimeError: the population did not come out as documented.
    """
    started = time.monotonic()
    config = trial.arm_config(method, seed)
    lead = problem.skeleton.lead
    opened = Opened(model, [formula.removeprefix(lead) for formula in POPULATION])
    with (
        tempfile.TemporaryDirectory() as folder,
        closing(Store.create(Path(folder) / "run", config)) as store,
    ):
        search = Search(
            config,
            Style.SKELETON,
            problem,
            trial.schedule(method),
            opened,
            evaluator,
            store,
            Silent(),
        )
        search.population = Fixed(len(POPULATION))
        search.run()
        if method.learns:
            model.reset()
        rows, updates = store.proposals(), {update.batch: update for update in store.updates()}
        base = store.meta("base_hash")
    objectives = [row.objective for row in rows[: len(POPULATION)]]
    if objectives != list(POPULATION.values()):
        raise RuntimeError(f"the population has objectives {objectives}: POPULATION is out of date")
    parents: dict[int | None, float] = {
        row.id: value for row, value in zip(rows, POPULATION.values(), strict=False)
    }
    return {
        "method": method.value,
        "seed": seed,
        "settings": trial.settings(method),
        "base_hash": base,
        "seconds": round(time.monotonic() - started, 1),
        "tokens": sum(row.completion_tokens for row in rows),
        "batches": [
            measure([row for row in rows if row.batch == number], parents, updates.get(number))
            for number in range(1, trial.updates + 1)
        ],
    }


def measure(
    rows: Sequence[Proposal], objectives: dict[int | None, float], update: UpdateRow | None
) -> dict[str, Any]:
    """What is kept of one batch: shares of its proposals, mean rewards under both rules, its update, and the
    objectives of children (None: invalid) and parents, for what somebody may want to know later.
    ``objectives`` are those of the parents by id."""
    population = list(POPULATION.values())
    children = [row.objective for row in rows]
    parents = [objectives[row.parents[0]] for row in rows]
    fresh = [row.objective is not None and row.duplicate_of is None for row in rows]
    pairs = list(zip(children, parents, strict=True))
    return {
        "operator": rows[0].operator,
        "sigma": rows[0].sigma or 0.0,
        "valid": fmean(child is not None for child in children),
        "new": fmean(fresh),
        "distinct": len(set(children) - {None, *population}) / len(rows),
        "better": fmean(child is not None and child < parent for child, parent in pairs),
        "reward_paper": fmean(evolution_reward(child, parent, max(population)) for child, parent in pairs),
        "reward_new": fmean(
            new_reward(child, not new, parent, population)
            for (child, parent), new in zip(pairs, fresh, strict=True)
        ),
        "norm": update.norm if update else 0.0,
        "weights_hash": update.weights_hash[:16] if update else "",
        "note": update.note if update else "",
        "children": children,
        "parents": parents,
    }
