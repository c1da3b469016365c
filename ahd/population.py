"""Individuals, parent selection and survival (EoH, arXiv 2401.02051)."""

import random
from collections.abc import Iterable
from dataclasses import dataclass

from ahd.schedule import TUNE
from ahd.store import Proposal
from operators.parent import Parent


@dataclass(frozen=True)
class Individual(Parent):
    """A valid heuristic. ``proposal`` is its number in the run, None for a known heuristic."""

    proposal: int | None = None
    operator: str = ""


def entrants(rows: Iterable[Proposal]) -> list[tuple[Proposal, float]]:
    """The valid proposals of some batches that survival chooses from, with their objectives: of a turn of
    tuning the best alone, since the others are the same heuristic with worse numbers."""
    valid = [(row, row.objective) for row in rows if row.objective is not None]
    best: dict[int, float] = {}
    for row, objective in valid:
        best[row.batch] = min(objective, best.get(row.batch, objective))
    return [
        (row, objective) for row, objective in valid if row.operator != TUNE or objective == best[row.batch]
    ]


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
        distinct: dict[float, Individual] = {}
        for individual in (*self.members, *offspring):
            distinct.setdefault(individual.objective, individual)
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
