"""The commands that there are."""

from typing import Any


def commands(command: Any, path: str = "ahd") -> list[tuple[str, Any]]:
    """A command and all below it, by the words that are typed."""
    below = getattr(command, "commands", {}).items()
    return [(path, command)] + [pair for name, each in below for pair in commands(each, f"{path} {name}")]
