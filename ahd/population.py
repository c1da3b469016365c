"""Individuals, parent selection and survival (EoH, arXiv 2401.02051)."""

import math
import random
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from ahd.schedule import TUNE
from ahd.store import Proposal
from operators.parent import Parent


@dataclass(frozen=True)
class Individual(Parent):
    """A valid heuristic. ``proposal`` is its number in the run, None for a known heuristic. It takes the
    place of the proposal ``instead_of``, which is the same heuristic with worse numbers."""

    proposal: int | None = None
    operator: str = ""
    instead_of: int | None = None


def individual(row: Proposal, objective: float) -> Individual:
    """A valid proposal as a member of the population."""
    return Individual(objective, row.code, row.completion, row.thought, row.id, row.operator)


def entrants(rows: Iterable[Proposal], known: Mapping[int | None, float]) -> list[Individual]:
    """The valid proposals of a batch that survival chooses from; ``known`` has the objectives of the
    proposals that were tuned.

    Tuning makes the same heuristic with other numbers, so of a turn the best alone counts, where it is better
    than its parent, and takes its parent's place. Else a population fills with copies of one heuristic. A
    parent that was dropped is worse than any.
    """
    found: list[Individual] = []
    tuned: Individual | None = None
    for row in rows:
        if row.objective is None:
            continue
        entrant = individual(row, row.objective)
        if row.operator != TUNE:
            found.append(entrant)
        elif row.objective < min(_of_parent(row, known), tuned.objective if tuned else math.inf):
            tuned = replace(entrant, instead_of=row.parents[0] if row.parents else None)
    return [*found, tuned] if tuned else found


def _of_parent(row: Proposal, known: Mapping[int | None, float]) -> float:
    parent = row.parents[0] if row.parents else None
    return math.inf if parent is None else known.get(parent, math.inf)


class Population:
    """At most ``size`` individuals with distinct objectives, best first."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.members: list[Individual] = []

    def __len__(self) -> int:
        return len(self.members)

    @property
    def full(self) -> bool:
        return len(self.members) >= self.size

    @property
    def best(self) -> Individual | None:
        return self.members[0] if self.members else None

    @property
    def worst_objective(self) -> float:
        """Largest objective in the population.

        Raises:
            IndexError: if it is empty.
        """
        return self.members[-1].objective

    def admit(self, offspring: Iterable[Individual]) -> None:
        """Survival: the best ``size`` with distinct objectives; among equals the earlier stays."""
        offspring = list(offspring)
        left = {each.instead_of for each in offspring if each.instead_of is not None}
        distinct: dict[float, Individual] = {}
        for each in (*(member for member in self.members if member.proposal not in left), *offspring):
            distinct.setdefault(each.objective, each)
        self.members = sorted(distinct.values(), key=lambda each: each.objective)[: self.size]

    def select(self, count: int, rng: random.Random) -> list[Individual]:
        """Draw ``count`` parents without repetition (fewer when the population is smaller).

        A parent of rank r = 0, 1, ... is drawn with probability proportional to 1 / (r + 1 + n) for
        n members (EoH). Best first.
        """
        pool = list(range(len(self.members)))
        chosen = []
        for _ in range(min(count, len(pool))):
            weights = [1.0 / (rank + 1 + len(self.members)) for rank in pool]
            chosen.append(pool.pop(rng.choices(range(len(pool)), weights)[0]))
        return [self.members[rank] for rank in sorted(chosen)]
