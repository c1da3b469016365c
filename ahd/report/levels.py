"""Lines to compare with in a figure of objectives: which are drawn, and where their names are."""

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass, replace

from ahd.display.text import clean

LINE = 0.08
"""Share of the axes' height that a line of text takes."""
LETTERS = 12
"""Most letters in a line of a name, so that it fits beside the axes."""


@dataclass(frozen=True)
class Level:
    """A line at ``value``; the middle of its name is beside the axes at ``at``."""

    name: str
    value: float
    at: float

    @property
    def text(self) -> str:
        """The name in two lines at most."""
        lines = textwrap.wrap(clean(self.name, 60), LETTERS, max_lines=2, placeholder="…")
        return "\n".join(lines)


def levels(
    always: Sequence[tuple[str, float]], others: Sequence[tuple[str, float]], low: float, high: float
) -> list[Level]:
    """The lines drawn between ``low`` and ``high``: all of ``always``, at most two, whose names give way to
    each other, and those of ``others`` whose names touch none that is there, the lowest first."""
    tall = LINE * (high - low)
    found = [Level(name, value, value) for name, value in sorted(always, key=lambda each: each[1])]
    if len(found) > 1:
        below, above = found
        more = max(0.0, _room(below, above) * tall - (above.value - below.value)) / 2
        found = [replace(below, at=below.value - more), replace(above, at=above.value + more)]
    for name, value in sorted(others, key=lambda each: each[1]):
        new = Level(name, value, value)
        free = all(abs(each.at - value) >= _room(each, new) * tall for each in found)
        if low <= value <= high and free:
            found.append(new)
    return found


def _room(one: Level, other: Level) -> float:
    """Lines of text between the middles of two names that just do not touch."""
    return (one.text.count("\n") + other.text.count("\n") + 2) / 2
