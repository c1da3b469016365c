"""One line per event of note: for logs, pipes and dumb terminals."""

import sys
import time
from collections.abc import Callable
from typing import TextIO

from ahd.announce import directions
from ahd.display.final import final_rows
from ahd.display.progress import Progress
from ahd.display.text import clean, count, duration, percent, rate, signed_percent
from ahd.events import Event, Evolved, Finished, Loading, Note, Proposed, Started, Updated

EVERY = 10.0
"""Seconds between progress lines."""


class PlainDisplay:
    """Writes lines without any terminal control codes."""

    def __init__(
        self,
        out: TextIO | None = None,
        clock: Callable[[], float] = time.monotonic,
        watching: bool = False,
    ) -> None:
        self.progress = Progress(watching=watching)
        self._out = out or sys.stdout
        self._clock = clock
        self._said = 0.0

    def __enter__(self) -> "PlainDisplay":
        return self

    def __exit__(self, *exc: object) -> None:
        progress = self.progress
        if progress.started and not progress.finished:
            if progress.watching:
                self._pace(self._clock())
            self._say(progress.parting)

    def _say(self, line: str) -> None:
        encoding = getattr(self._out, "encoding", None) or "utf-8"
        print(line.encode(encoding, "replace").decode(encoding), file=self._out, flush=True)

    def show(self, event: Event) -> None:
        now, before, loading = self._clock(), self.progress.best, self.progress.loading
        self.progress.add(event, now)
        match event:
            case Loading(what, seconds):
                if seconds is not None:
                    self._say(f"{clean(what)}: {seconds:.1f} s")
                elif self.progress.loading is not loading:
                    self._say(f"{clean(what)} ...")
            case Started():
                self._said = now
                self._start(event)
            case Note(text) if not self.progress.told_before:
                self._say(f"note: {clean(text)}")
            case Proposed(replayed=False):
                if self.progress.best != before:
                    self._say(f"{self._where()}  better: {self._best()}  by {event.operator} #{event.id}")
                if now - self._said >= EVERY:
                    self._pace(now)
            case Evolved() if not self.progress.catching_up:
                if now - self._said >= 1.0:
                    self._pace(now)
            case Updated(note="") if not event.replayed:
                self._say(
                    f"{self._where()}  update {event.number}: sigma {event.sigma:.2e}, reward "
                    f"{event.reward_mean:+.4g} (spread {event.reward_std:.3g}), step norm {event.norm:.3g}, "
                    f"{percent(event.moved)} of the weights moved, {event.seconds:.1f} s"
                )
            case Finished():
                self._finish(now)

    def _where(self) -> str:
        progress = self.progress
        if progress.phase == "init":
            return f"[init {progress.init_spent}]"
        return f"[{progress.spent}/{progress.budget}]"

    def _best(self) -> str:
        gap = signed_percent(self.progress.gap(self.progress.best))
        return f"{self.progress.number(self.progress.best)}" + (f" ({gap})" if gap else "")

    def _start(self, event: Started) -> None:
        config, number = event.config, self.progress.number
        self._say(
            f"{clean(config.problem)}, method {config.method}, seed {config.seed}: "
            f"{clean(event.model)} ({count(event.parameters)} weights, {clean(event.style)} style)"
        )
        self._say(f"schedule: {clean(event.schedule)}")
        self._say(f"directions: {clean(directions(config))}")
        if event.sandbox:
            self._say(f"sandbox: {clean(event.sandbox)}")
        if event.reference is not None:
            self._say(f"reference: {number(event.reference)} ({clean(event.reference_source)})")
        for name, value in event.known.items():
            self._say(f"known: {clean(name)} {number(value)}")
        self._say(f"run folder: {clean(str(event.folder))}")
        if event.spent:
            self._say(f"going on after {event.spent} proposals")

    def _pace(self, now: float) -> None:
        progress = self.progress
        self._said = now
        left = progress.left(now)
        self._say(
            f"{self._where()}  best {self._best()}, valid {percent(progress.validity or 0.0)}, "
            f"{rate(progress.tokens_per_second)} tokens/s, "
            f"{rate(progress.evaluations_per_second)} evaluations/s, "
            f"{duration(progress.elapsed(now))} {progress.since}"
            + (f", {duration(left)} left" if left is not None else "")
        )

    def _finish(self, now: float) -> None:
        self._say(f"{self.progress.finished.status if self.progress.finished else ''}:")
        rows = final_rows(self.progress, now)
        width = max(len(row.label) for row in rows)
        for row in rows:
            self._say(f"  {row.label:{width}}  {row.value}" + (f"  {row.rest}" if row.rest else ""))
