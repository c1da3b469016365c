"""Reads the file of a run again and again, while another process writes it: what is new, as events."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from itertools import pairwise
from typing import Any

from ahd.confirm import dropped
from ahd.display.replay import Narrator, kept, stored_start
from ahd.ending import end_of, stored_end
from ahd.events import Event, Evolved
from ahd.finalists import chosen
from ahd.store import Span, Store, is_being_written


class State(Enum):
    """How far a run is."""

    BEGINNING = "beginning"
    """Its file is there, its first proposal is not asked for yet."""
    GOING = "going"
    DONE = "done"
    INTERRUPTED = "interrupted"
    """Stopped in good order."""
    GONE = "gone"
    """Its process is no more, and has not said why."""

    @property
    def over(self) -> bool:
        return self not in (State.BEGINNING, State.GOING)


@dataclass(frozen=True)
class Look:
    """What one look found: ``events`` since the one before, each with its Unix seconds, and the ``pauses``
    between the sessions of the run, (from, to)."""

    state: State
    events: Sequence[tuple[float, Event]]
    pauses: Sequence[tuple[float, float]]


class Follower:
    """Looks at the run of ``store``, which is open for reading. A look reads one moment of the file; it waits
    for no writer and no writer waits for it."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._narrator: Narrator | None = None
        self._row = self._update = 0

    def look(self) -> Look:
        """What is new.

        Raises:
            ConfigError: the run stopped before it began, or its file is damaged.
        """
        store = self._store
        alive = is_being_written(store.folder)  # asked first: whoever has gone has stored everything
        with store.snapshot():
            spans = store.spans()
            if alive and store.meta("started_event") is None:
                return Look(State.BEGINNING, [], [])
            started = stored_start(store)
            rows, updates = store.proposals(after=self._row), store.updates(after=self._update)
            gone, ended = dropped(store), stored_end(store)
            first = chosen(store)
        self._row = rows[-1].id if rows else self._row
        self._update = updates[-1].id if updates else self._update
        events: list[tuple[float, Event]] = []
        if self._narrator is None:
            self._narrator = Narrator(started)
            events.append((store.created, started))
        narrator = self._narrator
        made = len(narrator.rows) + len(rows)
        state = _state(alive, spans, ended, made)
        events += narrator.tell(rows, updates, over=state is State.DONE)
        if state in (State.DONE, State.INTERRUPTED) and ended is not None:
            at = max([span.ended for span in spans] + [row.created for row in narrator.rows[-1:]])
            if gone or first:
                events.append((at, Evolved(kept(started, narrator.rows, gone, first))))
            if (end := end_of(store, ended)) is not None:  # else another version's: shown without its end
                events.append((at, end))
        return Look(state, events, list(_pauses(spans)))


def _state(alive: bool, spans: Sequence[Span], ended: dict[str, Any] | None, made: int) -> State:
    """``ended`` is the record of the last end, which is that of an earlier session unless it counts the
    ``made`` proposals."""
    told = ended or {}
    if told.get("status") == "done":
        return State.DONE
    if alive:
        return State.GOING
    last = spans[-1].status if spans else ""
    summary = told.get("summary") or {}
    counted = summary.get("spent", 0) + summary.get("init_spent", 0)
    return State.INTERRUPTED if last == "interrupted" and told and counted == made else State.GONE


def _pauses(spans: Sequence[Span]) -> Iterator[tuple[float, float]]:
    for earlier, later in pairwise(spans):
        yield earlier.ended, max(earlier.ended, later.started)
