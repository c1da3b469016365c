"""How far the runs of a comparison are, on standard error: a line where one begins and where it ends; between
these one line that changes in a terminal, now and then a new one elsewhere."""

import shutil
import sys
import time
from collections.abc import Sequence
from typing import Any

from ahd.compare.plan import Planned
from ahd.display.text import clean, duration

BETWEEN = {True: 0.2, False: 15.0}
"""Seconds between two looks at the runs, by whether standard error is a terminal."""


class Status:
    """A run as its events tell of it."""

    def __init__(self, run: Planned, number: int) -> None:
        self.run, self.number = run, number
        self.spent = self.fresh = 0
        self.best: float | None = None
        self.test: float | None = None
        self.decimals = 5
        self.loading = ""
        self.began = time.monotonic()

    def add(self, event: dict[str, Any]) -> None:
        """Take in one event (see ``ahd.events``)."""
        match event.get("event"):
            case "loading":
                self.loading = str(event.get("what", ""))
            case "started":
                self.loading, self.decimals = "", int(event.get("decimals", 5))
            case "proposed":
                self.spent, self.best = int(event["spent"]), event.get("best")
                self.fresh += not event.get("replayed", False)
            case "finished":
                self.best, self.test = event.get("best"), event.get("test")

    @property
    def name(self) -> str:
        config = self.run.config
        return f"{config.problem} {self.run.arm.label} seed {config.seed}"

    @property
    def told(self) -> str:
        """How far it is."""
        if self.loading:
            return clean(self.loading, 60)
        return f"{self.spent} of {self.run.config.budget}, best {self.figure(self.best)}"

    def figure(self, value: float | None) -> str:
        return "-" if value is None else f"{value:.{self.decimals}f}"


class Progress:
    """Tells of ``total`` runs, ``done`` of them before it began."""

    def __init__(self, total: int, done: int) -> None:
        self.total, self.done = total, done
        self._live = sys.stderr.isatty()
        self._began = self._told = time.monotonic()
        self._proposals = 0
        self._shown = False

    def begins(self, status: Status, again: bool) -> None:
        status.began = time.monotonic()
        self.say(f"{self._where(status)}: {'goes on' if again else 'begins'}")

    def ends(self, status: Status, left: int) -> None:
        """``left``: proposals of the budgets that are still to be made."""
        self.done += 1
        gone = duration(time.monotonic() - status.began)
        text = f"{self._where(status)}: done in {gone}, train {status.figure(status.best)}"
        text += f", test {status.figure(status.test)}"
        if left and self._proposals:
            rest = (time.monotonic() - self._began) / self._proposals * left
            text += f"; {self.total - self.done} to go, about {duration(rest)}"
        self.say(text)

    def fails(self, status: Status, fault: str, again: bool) -> None:
        self.say(f"{self._where(status)}: {clean(fault, 300)}{'; once more' if again else ''}")

    def proposed(self) -> None:
        """One more proposal was made."""
        self._proposals += 1

    def look(self, running: Sequence[Status]) -> None:
        """Tell how far the runs are, if it is time."""
        now = time.monotonic()
        if now - self._told < BETWEEN[self._live]:
            return
        self._told = now
        if self._live:
            text = " | ".join(f"{self._where(status)}: {status.told}" for status in running)
            self._shown = True
            print(
                f"\r\x1b[K{text[: shutil.get_terminal_size().columns - 1]}",
                end="",
                file=sys.stderr,
                flush=True,
            )
        else:
            for status in running:
                self.say(f"{self._where(status)}: {status.told}")

    def say(self, text: str) -> None:
        """A line that stays."""
        self.clear()
        print(text, file=sys.stderr, flush=True)

    def clear(self) -> None:
        """Take the changing line away."""
        if self._shown:
            self._shown = False
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)

    def _where(self, status: Status) -> str:
        return f"[{status.number}/{self.total}] {status.name}"
