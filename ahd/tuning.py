"""Constant tuning: CMA-ES (arXiv 1604.00772) sets the numbers in the best heuristics; no model is asked.

What is proposed is a function of the run's seed and of the objectives it has stored, so that a resumed run
proposes it again.
"""

import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from ahd.population import Individual
from ahd.schedule import Batch
from ahd.seeds import derive
from ahd.tasks import Task
from operators.constants import Constants, constants_of
from operators.parsing import completion_in
from operators.prompt import Prompt
from problems.problem import Problem

if TYPE_CHECKING:
    from cmaes import CMA

STEP = 0.5
"""Standard deviation of a number at first, as a share of its magnitude."""
SMALL = 0.1
"""Least magnitude taken for that."""
PATIENCE = 3
"""Turns in a row without a better objective after which other structures come first."""


class Study:
    """The search for the numbers of one structure, a generation of CMA-ES at a time."""

    def __init__(self, best: Individual, constants: Constants) -> None:
        self.best = best
        self.constants = constants
        self.done = False
        """Whether another turn would be wasted: in the last the numbers made no difference."""
        self._idle = 0
        """Turns in a row that found nothing better."""
        self._optimiser: CMA | None = None
        self._scale = np.ones(len(constants.values))
        self._asked: list[np.ndarray] = []

    @property
    def begun(self) -> bool:
        return self._optimiser is not None

    @property
    def rank(self) -> tuple[int, float]:
        """The least comes first: the best of those that get on, then of those that did not lately."""
        return self._idle // PATIENCE, self.best.objective

    def ask(self, count: int, seed: int) -> list[str]:
        """The code of ``count`` heuristics; ``seed`` is used the first time, ``count`` stays the same."""
        if self._optimiser is None:
            from cmaes import CMA

            values = np.array(self.constants.values)
            self._scale = STEP * np.maximum(np.abs(values), SMALL)
            self._optimiser = CMA(values / self._scale, 1.0, seed=seed, population_size=count)
        self._asked = [self._optimiser.ask() for _ in range(count)]
        return [self.constants.written((point * self._scale).tolist()) for point in self._asked]

    def tell(self, objectives: Sequence[float | None]) -> None:
        """Their objectives, in order; what has none comes last."""
        assert self._optimiser is not None, "it was asked"
        ranked = [math.inf if objective is None else objective for objective in objectives]
        self._optimiser.tell(list(zip(self._asked, ranked, strict=True)))
        self.done = len(set(ranked)) == 1
        self._idle = 0 if min(ranked) < self.best.objective else self._idle + 1


class Tuner:
    """Gives the turns of a run to the structures of its valid proposals: one to the best that gets on, the
    next to the best that had none yet, and so on. They need not be in the population: numbers that do not
    suit a good structure may have kept it out.
    """

    def __init__(self, seed: int, problem: Problem) -> None:
        self._seed = seed
        self._problem = problem
        self._studies: dict[str, Study] = {}
        self._turns = 0
        self._study: Study | None = None

    def tasks(self, batch: Batch) -> list[Task]:
        """The evaluations of a turn; none: there is nothing to tune."""
        left = [study for study in self._studies.values() if not study.done]
        fresh = [study for study in left if not study.begun]
        choice = fresh if fresh and self._turns % 2 else left
        self._study = min(choice, key=lambda study: study.rank, default=None)
        self._turns += 1
        if self._study is None:
            return []
        codes = self._study.ask(batch.proposals, derive(self._seed, "tune", batch.number))
        return [self._task(batch, slot, code, self._study.best) for slot, code in enumerate(codes)]

    def _task(self, batch: Batch, slot: int, code: str, parent: Individual) -> Task:
        """A proposal whose draft reads as the reply that would have written ``code``."""
        if parent.completion:
            draft = completion_in(code, self._problem)
        else:
            thought = parent.thought.replace("`", "'")
            draft = f"{{{thought}}}\n```python\n{code}\n```"
        return Task(batch, slot, (parent,), Prompt("", "", (), 0), 0, None, draft)

    def tell(self, objectives: Sequence[float | None]) -> None:
        """The objectives of a turn, in the order of its tasks."""
        assert self._study is not None, "the turn had tasks"
        self._study.tell(objectives)

    def add(self, individuals: Iterable[Individual]) -> None:
        """Know more valid heuristics: the best of each structure is the parent of its turns."""
        for individual in individuals:
            constants = constants_of(individual.code, self._problem)
            if constants is None:
                continue
            study = self._studies.setdefault(constants.structure, Study(individual, constants))
            if individual.objective < study.best.objective:
                study.best = individual
                if not study.begun:
                    study.constants = constants
