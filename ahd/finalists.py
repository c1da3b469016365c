"""Of the best heuristics of a run, the one that does best on instances drawn afresh is its result."""

from collections.abc import Callable, Iterable

from ahd.population import Individual, Population, individual
from ahd.store import Proposal, Store

CHOSEN = "chosen"
"""Key of the run file: the proposal that was chosen before the one that is best on the training instances."""


def with_others(population: Population, rows: Iterable[Proposal], count: int) -> Population:
    """All members of a population and, where that makes fewer than ``count``, the best of the other valid
    proposals with objectives of their own."""
    objectives = {member.objective for member in population.members}
    others = Population(count)
    others.admit(
        individual(row, row.objective)
        for row in rows
        if row.objective is not None and row.objective not in objectives and row.duplicate_of is None
    )
    made = Population(max(count, len(population)))
    made.admit([*population.members, *others.members[: max(0, count - len(population))]])
    return made


def lead(population: Population, pool: Population, store: Store) -> None:
    """Let the population hold what is left of it in ``pool``, behind the first of that, which is the result
    of the run. The run file remembers it where it is not of the population."""
    members = [member for member in population.members if member in pool.members]
    best = pool.best
    if best is not None:
        if best not in members:
            store.set_meta(**{CHOSEN: str(best.proposal)})
        members = [best, *(member for member in members if member != best)]
    population.members = members[: population.size]


def choose(
    population: Population,
    count: int,
    fresh: Callable[[Individual], float | None],
    store: Store,
    tell: Callable[[str], None],
    decimals: int = 5,
) -> None:
    """Bring the best of the first ``count`` members by ``fresh`` to the front of the population.

    ``fresh`` is the mean objective on instances drawn afresh, None where there is none. Of equals the one
    that is better on the training instances is chosen. The run file remembers it. Objectives are told with
    so many ``decimals``.
    """
    known = [(value, each) for each in population.members[:count] if (value := fresh(each)) is not None]
    if len(known) < 2:
        return
    value, best = min(known, key=lambda each: each[0])
    first, trained = known[0]
    if best == trained:
        tell(f"proposal {best.proposal} is also the best of {len(known)} on fresh training sets")
        return
    population.members.remove(best)
    population.members.insert(0, best)
    store.set_meta(**{CHOSEN: str(best.proposal)})
    tell(
        f"proposal {best.proposal} is chosen of {len(known)}: {value:.{decimals}f} on fresh training sets, "
        f"where proposal {trained.proposal}, the best on the training instances, has {first:.{decimals}f}"
    )


def chosen(store: Store) -> int | None:
    """The proposal that was chosen; None: the best on the training instances is the result."""
    text = store.meta(CHOSEN)
    return int(text) if text is not None and text.isdecimal() and len(text) < 19 else None
