"""Which display a run gets."""

import os
import sys

from ahd.config import ConfigError
from ahd.events import Display

NAMES = ("auto", "rich", "plain", "json")


def choose(name: str) -> Display:
    """The display called ``name``; ``auto`` is the dashboard on a capable terminal, else plain lines.

    Raises:
        ConfigError: if there is no display of that name.
    """
    if name == "auto":
        name = "rich" if capable() else "plain"
    match name:
        case "rich":
            from ahd.display.dashboard import RichDisplay

            return RichDisplay()
        case "plain":
            from ahd.display.plain import PlainDisplay

            return PlainDisplay()
        case "json":
            from ahd.display.jsonl import JsonDisplay

            return JsonDisplay()
    raise ConfigError(f"--display {name!r}: choose one of {', '.join(NAMES)}")


def capable() -> bool:
    """Whether standard output is a terminal that can draw the dashboard."""
    if not sys.stdout.isatty() or os.environ.get("CI"):
        return False
    utf8 = (sys.stdout.encoding or "").lower().replace("-", "") == "utf8"
    return utf8 and os.environ.get("TERM", "") not in ("", "dumb", "unknown")
