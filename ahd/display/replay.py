"""The events of a stored run, in order, as its display saw them."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import fields
from pathlib import Path
from statistics import fmean, pstdev

from ahd.config import ConfigError
from ahd.events import Event, Evolved, Member, Proposed, Started, Updated
from ahd.store import Proposal, Store, UpdateRow


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
    text = store.meta("started_event")
    if text is None:
        raise ConfigError(
            f"{store.folder} stopped before its first proposal: go on with `ahd resume {store.folder}`"
        )
    data = json.loads(text)
    known = {field.name: data[field.name] for field in fields(Started) if field.name in data}
    return Started(**(known | {"config": store.config, "folder": Path(data["folder"]), "spent": 0}))


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
        yield row.created, _proposed(row, spent, index + 1 - spent, best)
        if index + 1 == len(rows) or rows[index + 1].batch != row.batch:
            update = by_batch.get(row.batch)
            complete = proposals is None or index + 1 < len(rows)
            if update and complete:
                yield update.created, _updated(update)
            yield row.created, Evolved(survivors(started, rows[: index + 1]))


def _proposed(row: Proposal, spent: int, init_spent: int, best: float | None) -> Proposed:
    return Proposed(
        id=row.id,
        phase=row.phase,
        generation=row.generation,
        operator=row.operator,
        outcome=row.outcome,
        objective=row.objective,
        detail=row.detail,
        duplicate=row.duplicate_of is not None,
        completion_tokens=row.completion_tokens,
        model_seconds=row.model_seconds,
        es_seconds=row.es_seconds,
        evaluation_seconds=row.evaluation_seconds,
        spent=spent,
        init_spent=init_spent,
        best=best,
    )


def _updated(row: UpdateRow) -> Updated:
    return Updated(
        number=row.id,
        sigma=row.sigma,
        reward_mean=fmean(row.rewards),
        reward_std=pstdev(row.rewards),
        norm=row.norm,
        moved=row.moved,
        weights_hash=row.weights_hash,
        seconds=row.seconds,
    )
