"""Which display a run gets."""

import os
import sys

from ahd.config import ConfigError
from ahd.display.guard import Guarded

NAMES = ("auto", "rich", "plain", "json")


def choose(name: str) -> Guarded:
    """The display called ``name``; ``auto`` is the dashboard on a capable terminal, else plain lines.

    It goes silent when its output is gone, and never stops the run.

    Raises:
        ConfigError: if there is no display of that name.
    """
    if name == "auto":
        name = "rich" if capable() else "plain"
    match name:
        case "rich":
            from ahd.display.dashboard import RichDisplay

            return Guarded(RichDisplay())
        case "plain":
            from ahd.display.plain import PlainDisplay

            return Guarded(PlainDisplay())
        case "json":
            from ahd.display.jsonl import JsonDisplay

            return Guarded(JsonDisplay())
    raise ConfigError(f"--display {name!r}: choose one of {', '.join(NAMES)}")


def capable() -> bool:
    """Whether standard output is a terminal that can draw the dashboard."""
    if sys.stdout is None or not sys.stdout.isatty() or os.environ.get("CI"):
        return False
    utf8 = (sys.stdout.encoding or "").lower().replace("-", "") == "utf8"
    return utf8 and os.environ.get("TERM", "") not in ("", "dumb", "unknown")
