"""The events of a stored run, in order, as its display saw them."""

from collections.abc import Iterator, Sequence
from dataclasses import fields
from pathlib import Path

from ahd import announce
from ahd.config import ConfigError
from ahd.events import Event, Evolved, Member, Note, Started
from ahd.store import Proposal, Store


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


def survivors(started: Started, rows: Sequence[Proposal]) -> tuple[Member, ...]:
    """The population: the best distinct objectives, best first; the earlier of equals stays."""
    first = seeded(started, rows)
    distinct = {first.objective: first} if first else {}
    for row in rows:
        if row.objective is not None:
            member = Member(row.objective, row.operator, row.id, row.completion or row.code)
            distinct.setdefault(row.objective, member)
    return tuple(sorted(distinct.values(), key=lambda member: member.objective)[: started.config.population])


def stored_start(store: Store) -> Started:
    """The ``Started`` event of a run.

    Raises:
        ConfigError: if the run stopped before it began.
    """
    data = store.meta_record("started_event")
    if data is None:
        raise ConfigError(
            f"{store.folder} stopped before its first proposal: go on with `ahd resume {store.folder}`"
        )
    known = {field.name: data[field.name] for field in fields(Started) if field.name in data}
    try:
        return Started(**(known | {"config": store.config, "folder": store.folder, "spent": 0}))
    except TypeError:
        raise ConfigError(f"{store.folder}: its start is damaged; restore the run file from a copy") from None


def replay(folder: Path, proposals: int | None = None) -> Iterator[tuple[float, Event]]:
    """``(Unix seconds, event)`` of a stored run up to its given proposal (all when None).

    The closing event is left out: what is shown is the running dashboard.

    Raises:
        ConfigError: if ``folder`` is not a run folder or the run never began.
    """
    store = Store.open(folder)
    try:
        started, rows, updates = stored_start(store), store.proposals(), store.updates()
        created = float(store.meta("created") or 0.0)
    finally:
        store.close()
    yield created, started
    rows = rows if proposals is None else rows[:proposals]
    by_batch = {update.batch: update for update in updates}
    spent = 0
    best: float | None = None
    for index, row in enumerate(rows):
        spent += row.phase == "search"
        if row.objective is not None:
            best = row.objective if best is None else min(best, row.objective)
        yield row.created, announce.proposed(row, spent, index + 1 - spent, best)
        if index + 1 == len(rows) or rows[index + 1].batch != row.batch:
            update = by_batch.get(row.batch)
            complete = proposals is None or index + 1 < len(rows)
            if update and complete:
                if update.note:
                    yield update.created, Note(update.note)
                yield update.created, announce.updated(update)
            yield row.created, Evolved(survivors(started, rows[: index + 1]))
