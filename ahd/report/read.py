"""Everything a report says of a run, from its run file alone: also of one that still goes on, or stopped.

No problem module is loaded: a report runs nobody's code.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ahd import show
from ahd.announce import directions
from ahd.display.replay import generations, seeded
from ahd.display.text import count, duration
from ahd.events import Member
from ahd.report.lineage import Lineage, lineage
from ahd.show import Run
from ahd.store import Proposal, Store

NOT_STORED = "not stored"


@dataclass(frozen=True)
class Point:
    """A proposal on the x axis: proposals of the budget spent, this one included; those of the first
    population lie left of 0 (-9 ... 0 for ten)."""

    at: int
    row: Proposal


@dataclass(frozen=True)
class Generation:
    """The population after a batch: its objectives, best first."""

    at: int
    objectives: tuple[float, ...]


@dataclass(frozen=True)
class RunReport:
    """A run as its report tells it. ``facts`` are those of ``ahd show --json``; ``top`` is the best of the
    population and ``row`` its proposal (None: a known heuristic, or none yet); ``code`` is empty where none
    is stored."""

    run: Run
    facts: dict[str, Any]
    points: tuple[Point, ...]
    generations: tuple[Generation, ...]
    top: Member | None
    row: Proposal | None
    code: str
    lineage: Lineage
    environment: dict[str, str]

    @property
    def begun_known(self) -> Member | None:
        """The known heuristic that the population began with, if it did."""
        return seeded(self.run.started, self.run.rows)


def read(folder: Path) -> RunReport:
    """Read a run folder.

    Raises:
        ConfigError: if it is not a run folder, cannot be read, or the run stopped before it began.
    """
    run = show.read(folder)
    members = run.members
    top = members[0] if members else None
    row = next((each for each in run.rows if top and each.id == top.proposal), None)
    return RunReport(
        run,
        show.summary(run),
        _points(run.rows),
        _generations(run),
        top,
        row,
        row.code if row else _best_file(folder, top),
        lineage(run.rows, row),
        _environment(run),
    )


def _points(rows: Sequence[Proposal]) -> tuple[Point, ...]:
    first = sum(row.phase == "init" for row in rows)
    return tuple(Point(index + 1 - first, row) for index, row in enumerate(rows))


def _generations(run: Run) -> tuple[Generation, ...]:
    """The population after every batch; the batch that a running or stopped run is in counts as well."""
    at = {point.row.id: point.at for point in _points(run.rows)}
    return tuple(
        Generation(at[row.id], tuple(member.objective for member in members))
        for row, members in generations(run.started, run.rows)
        if members
    )


def _best_file(folder: Path, top: Member | None) -> str:
    """The code of a known heuristic at the top, which only ``best.py`` holds; empty: it is not there."""
    if top is None:
        return ""
    try:
        return (folder / "best.py").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def _environment(run: Run) -> dict[str, str]:
    """What the run ran on, as far as its file says."""
    store = Store.open(run.folder)
    try:
        created = store.created
        machine = store.meta_record("environment") or {}
        told = {
            "begun": time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(created)) if created else NOT_STORED,
            "wall time": duration(run.wall_seconds),
            "model": f"{run.started.model}, {count(run.started.parameters)} weights",
            "number format": store.meta("dtype") or NOT_STORED,
            "style of the prompts": run.started.style,
            "directions": directions(run.started.config),
            "candidates are confined by": store.meta("sandbox") or run.started.sandbox or NOT_STORED,
            "weights before": (store.meta("base_hash") or NOT_STORED)[:16],
            "weights after": run.weights_hash[:16] or NOT_STORED,
        }
    finally:
        store.close()
    told |= {str(name): str(value) for name, value in machine.items()}
    return told if machine else told | {"machine and versions": NOT_STORED}
