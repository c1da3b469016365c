"""How far slow work is, told on standard error: one line that changes in a terminal, now and then a new one
elsewhere."""

import sys
import time
from types import TracebackType

from ahd.display.text import clean, duration

QUIET = 2.0
"""Seconds before anything is told."""
BETWEEN = {True: 0.2, False: 15.0}
"""Seconds between two lines, by whether standard error is a terminal."""


class Ticker:
    """Counts ``total`` steps of the work called ``what``; a context manager that clears its line.

    ``work`` is what all steps together take, in any unit, where they differ; each step tells its part.
    """

    def __init__(self, what: str, total: int, work: float | None = None) -> None:
        self.what, self.total, self.done = what, total, 0
        self._work, self._worked = total if work is None else work, 0.0
        self._live = sys.stderr.isatty()
        self._began = time.monotonic()
        self._next = self._began + QUIET
        self._shown = False

    def step(self, note: str = "", work: float = 1.0) -> None:
        """One more step is done; ``note`` says something about it, ``work`` how much it was."""
        self.done += 1
        self._worked += work
        now = time.monotonic()
        if now < self._next or self.done >= self.total:
            return
        self._next = now + BETWEEN[self._live]
        left = (now - self._began) / self._worked * (self._work - self._worked)
        text = clean(f"{self.what}: {self.done} of {self.total}, about {duration(left)} left", 200)
        text += f"; {clean(note, 100)}" if note else ""
        self._shown = True
        if self._live:
            print(f"\r\x1b[K{text}", end="", file=sys.stderr, flush=True)
        else:
            print(text, file=sys.stderr, flush=True)

    def __enter__(self) -> "Ticker":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._live and self._shown:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)
