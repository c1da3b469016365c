"""The events of a stored run, in order, as its display saw them."""

import itertools
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path

from ahd import announce, typed
from ahd.config import ConfigError
from ahd.confirm import dropped
from ahd.events import Event, Evolved, Member, Note, Started
from ahd.finalists import chosen
from ahd.population import Individual, Population, entrants, individual
from ahd.schedule import plan
from ahd.store import Proposal, Store, UpdateRow
from problems.check import MAX_DECIMALS


def seeded(started: Started, rows: Sequence[Proposal]) -> Member | None:
    """The known heuristic the population began with because no initial proposal was valid, if so.

    Its code is not stored, so ``code`` is empty.
    """
    begun = any(row.phase == "search" for row in rows)
    if (
        not begun
        or not started.known
        or any(row.phase == "init" and row.objective is not None for row in rows)
    ):
        return None
    name, objective = next(iter(started.known.items()))
    return Member(objective, name, None, "")


class Survival:
    """The population of a run, batch by batch, from its rows."""

    def __init__(self, started: Started) -> None:
        self._started = started
        self._population = Population(started.config.population)
        self._known: dict[int | None, float] = {}

    def add(self, batch: Sequence[Proposal]) -> None:
        """Let the best survive of the rows of one batch more."""
        begun = any(row.phase == "search" for row in batch)
        if begun and self._started.known and not len(self._population):
            name, objective = next(iter(self._started.known.items()))
            self._population.admit([Individual(objective, "", "", "", None, name)])
        self._population.admit(entrants(batch, self._known))
        self._known |= {row.id: row.objective for row in batch if row.objective is not None}

    @property
    def members(self) -> tuple[Member, ...]:
        """Best first."""
        return tuple(map(_member, self._population.members))


def _member(each: Individual) -> Member:
    return Member(each.objective, each.operator, each.proposal, each.completion or each.code)


def generations(started: Started, rows: Sequence[Proposal]) -> Iterator[tuple[Proposal, tuple[Member, ...]]]:
    """The population after each batch, best first, with the last row of the batch."""
    survival = Survival(started)
    for _, group in itertools.groupby(rows, key=lambda row: (row.phase, row.batch)):
        batch = list(group)
        survival.add(batch)
        yield batch[-1], survival.members


def survivors(started: Started, rows: Sequence[Proposal]) -> tuple[Member, ...]:
    """The population after these rows, best first."""
    states = [members for _, members in generations(started, rows)]
    return states[-1] if states else ()


def kept(
    started: Started, rows: Sequence[Proposal], gone: Collection[int], first: int | None
) -> tuple[Member, ...]:
    """The population at the end of a run that dropped the proposals ``gone`` and chose ``first``: the others
    of it, the chosen one first, or the simplest known heuristic where there is none."""
    members = tuple(member for member in survivors(started, rows) if member.proposal not in gone)
    if first not in gone and all(member.proposal != first for member in members):
        others = ((row, row.objective) for row in rows if row.id == first)
        members = (*(_member(individual(row, value)) for row, value in others if value is not None), *members)
    if members or not gone or not started.known:
        return led(members, first)[: started.config.population]
    name, objective = next(iter(started.known.items()))
    return (Member(objective, name, None, ""),)


def led(members: Sequence[Member], first: int | None) -> tuple[Member, ...]:
    """``members`` with this proposal in front, where one was chosen."""
    return tuple(sorted(members, key=lambda member: first is None or member.proposal != first))


def stored_start(store: Store) -> Started:
    """The ``Started`` event of a run.

    Raises:
        ConfigError: if the run stopped before it began, or its start is damaged.
    """
    data = store.meta_record("started_event")
    if data is None:
        raise ConfigError(
            f"{store.folder} stopped before its first proposal: go on with `ahd resume {store.folder}`"
        )
    config = store.config
    try:
        started = typed.read(Started, data, config=config, folder=store.folder, spent=0)
        if not 0 <= started.decimals <= MAX_DECIMALS:
            raise ValueError("decimals")
        return started
    except (TypeError, ValueError, KeyError):
        raise ConfigError(f"{store.folder}: its start is damaged; restore the run file from a copy") from None


class Narrator:
    """Tells the events of a run from its rows, as they come, in the order its display saw them."""

    def __init__(self, started: Started) -> None:
        self.started = started
        self.rows: list[Proposal] = []
        self._survival = Survival(started)
        self._survived = 0
        """Rows whose batches are closed."""
        self._spent = 0
        self._best: float | None = None
        self._open = False
        """Whether the batch of the last row has not been closed by its population."""
        self._updates: dict[int, UpdateRow] = {}
        config = started.config
        schedule = plan(config.method, config.budget, config.tune)
        self._planned = {batch.number: batch for batch in schedule.batches}

    def tell(
        self, rows: Sequence[Proposal], updates: Sequence[UpdateRow], over: bool = False
    ) -> Iterator[tuple[float, Event]]:
        """``(Unix seconds, event)`` of rows that are new. An update comes with or after the last row of its
        batch. ``over``: nothing more will come, so the last batch is closed as it is."""
        self._updates |= {update.batch: update for update in updates}
        for row in rows:
            if self._open and row.batch != self.rows[-1].batch:
                yield from self._close()
            self.rows.append(row)
            self._open = True
            self._spent += row.phase == "search"
            if row.objective is not None:
                self._best = row.objective if self._best is None else min(self._best, row.objective)
            yield row.created, announce.proposed(row, self._spent, len(self.rows) - self._spent, self._best)
        if self._open and (over or self._whole()):
            yield from self._close()

    def _close(self) -> Iterator[tuple[float, Event]]:
        self._open = False
        update = self._updates.pop(self.rows[-1].batch, None)
        if update:
            if update.note:
                yield update.created, Note(update.note)
            yield update.created, announce.updated(update)
        self._survival.add(self.rows[self._survived :])
        self._survived = len(self.rows)
        yield self.rows[-1].created, Evolved(self._survival.members)

    def _whole(self) -> bool:
        """Whether the last batch is all there, with its update where it makes one."""
        batch, config = self.rows[-1].batch, self.started.config
        if batch in self._updates:
            return True
        made = sum(row.batch == batch for row in self.rows)
        planned = self._planned.get(batch)
        if planned is None:
            return made >= min(config.population, config.init_limit - (len(self.rows) - made))
        return made >= planned.proposals and not (planned.perturbed and config.method.learns)


def replay(folder: Path, proposals: int | None = None) -> Iterator[tuple[float, Event]]:
    """``(Unix seconds, event)`` of a stored run up to its given proposal (all when None).

    The closing event is left out: what is shown is the running dashboard.

    Raises:
        ConfigError: if ``folder`` is not a run folder or the run never began.
    """
    store = Store.open(folder)
    try:
        started, rows, updates = stored_start(store), store.proposals(), store.updates()
        created = store.created
        gone, first = dropped(store), chosen(store)
    finally:
        store.close()
    yield created, started
    shown = rows if proposals is None else rows[:proposals]
    if proposals is not None and shown:
        updates = [update for update in updates if update.batch != shown[-1].batch]
    yield from Narrator(started).tell(shown, updates, over=True)
    if (gone or first) and len(shown) == len(rows):
        yield rows[-1].created, Evolved(kept(started, rows, gone, first))
