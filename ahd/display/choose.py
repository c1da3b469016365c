"""Which display a run gets."""

import os
import sys
import time
from collections.abc import Callable

from ahd.config import ConfigError
from ahd.display.guard import Guarded

NAMES = ("auto", "rich", "plain", "json")


def resolved(name: str) -> str:
    """``name``; ``auto`` is the dashboard on a capable terminal, else plain lines."""
    if name == "auto":
        return "rich" if capable() else "plain"
    return name


def choose(
    name: str,
    clock: Callable[[], float] = time.monotonic,
    unix: Callable[[], float] = time.time,
    watching: bool = False,
) -> Guarded:
    """The display called ``name`` (see ``resolved``). ``clock`` has the seconds that a run has taken, from
    any start; ``unix`` those that JSON lines have. ``watching``: the run is another process's.

    It goes silent when its output is gone, and never stops the run.

    Raises:
        ConfigError: if there is no display of that name.
    """
    match resolved(name):
        case "rich":
            from ahd.display.dashboard import RichDisplay

            return Guarded(RichDisplay(clock=clock, watching=watching))
        case "plain":
            from ahd.display.plain import PlainDisplay

            return Guarded(PlainDisplay(clock=clock, watching=watching))
        case "json":
            from ahd.display.jsonl import JsonDisplay

            return Guarded(JsonDisplay(clock=unix))
    raise ConfigError(f"--display {name!r}: choose one of {', '.join(NAMES)}")


def capable() -> bool:
    """Whether standard output is a terminal that can draw the dashboard."""
    if sys.stdout is None or not sys.stdout.isatty() or os.environ.get("CI"):
        return False
    utf8 = (sys.stdout.encoding or "").lower().replace("-", "") == "utf8"
    return utf8 and os.environ.get("TERM", "") not in ("", "dumb", "unknown")
