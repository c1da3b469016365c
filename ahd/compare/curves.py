"""Anytime curves: the best objective so far against what was spent so far."""

import bisect
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ahd.compare.result import Curve
from ahd.display.replay import seeded
from ahd.events import Started
from ahd.store import Proposal, UpdateRow

POINTS = 100
"""Most steps of a curve; it has one point more."""


@dataclass(frozen=True)
class Trace:
    """A run step by step. Step 0 is the end of the initial population, step k the k-th proposal of the
    budget. ``best`` is the best training objective after the step, ``seconds`` the working time until then.
    """

    best: tuple[float | None, ...]
    seconds: tuple[float, ...]


def trace(
    started: Started, rows: Sequence[Proposal], updates: Sequence[UpdateRow], final: float | None
) -> Trace:
    """The trace of a finished run whose best objective in the end is ``final``.

    Working time is that of model, weights and evaluation, an update's at the end of its batch: what a run
    waited for, was stopped for or had to repeat does not count.
    """
    moves = {update.batch: update.seconds for update in updates}
    member = seeded(started, rows)
    best = [member.objective if member else None]
    clock = 0.0
    seconds = [clock]
    for row, following in zip(rows, [*rows[1:], None], strict=True):
        clock += row.model_seconds + row.es_seconds + row.evaluation_seconds
        if following is None or following.batch != row.batch:
            clock += moves.get(row.batch, 0.0)
        value = best[-1]
        if row.objective is not None:
            value = row.objective if value is None else min(value, row.objective)
        if row.phase == "init":
            best[-1], seconds[-1] = value, clock
        else:
            best.append(value)
            seconds.append(clock)
    best[-1] = final
    return Trace(tuple(best), tuple(seconds))


def proposals_grid(budget: int) -> tuple[float, ...]:
    """Numbers of proposals from 0 to ``budget``, at most ``POINTS`` + 1 of them."""
    steps = min(budget, POINTS)
    return tuple(float(round(budget * step / steps)) for step in range(steps + 1))


def seconds_grid(traces: Sequence[Trace]) -> tuple[float, ...]:
    """Seconds from 0 to the end of the longest trace."""
    longest = max(each.seconds[-1] for each in traces)
    return tuple(float(value) for value in np.linspace(0.0, longest, POINTS + 1))


def by_proposals(traces: Sequence[Trace], grid: Sequence[float]) -> Curve:
    """The traces of an arm over numbers of proposals."""
    return _curve([[each.best[int(x)] for x in grid] for each in traces], grid)


def by_seconds(traces: Sequence[Trace], grid: Sequence[float]) -> Curve:
    """The traces of an arm over working seconds; one that has ended keeps its last value."""
    return _curve([[_at(each, x) for x in grid] for each in traces], grid)


def _at(each: Trace, second: float) -> float | None:
    step = bisect.bisect_right(each.seconds, second * (1 + 1e-12)) - 1
    return None if step < 0 else each.best[step]


def _curve(values: Sequence[Sequence[float | None]], grid: Sequence[float]) -> Curve:
    mean: list[float | None] = []
    spread: list[float | None] = []
    best: list[float | None] = []
    for column in zip(*values, strict=True):
        known = [value for value in column if value is not None]
        whole = len(known) == len(column)
        mean.append(float(np.mean(known)) if whole else None)
        spread.append(float(np.std(known, ddof=1)) if whole and len(known) > 1 else None)
        best.append(min(known) if whole else None)
    return Curve(tuple(grid), tuple(mean), tuple(spread), tuple(best))
