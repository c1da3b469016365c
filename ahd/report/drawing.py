"""Empty figures in one style, and what all charts do with axes."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from ahd.report.palette import DIM, GRID, INK, Colour

WIDTH = 340
"""Units a figure is wide; text of ``TEXT`` units is legible when a phone shows it at 330 pixels."""
TEXT = 11.5
UNIT = 1 / 72
"""Inches: the unit of an SVG by matplotlib."""
MOST_POINTS = 400

_STYLE: dict[str, Any] = {
    "text.parse_math": False,  # a problem's name may hold dollar signs
    "svg.fonttype": "none",
    "svg.hashsalt": "ahd",  # the same results make the same page
    "font.family": "sans-serif",
    "font.size": TEXT,
    "axes.titlesize": TEXT,
    "axes.edgecolor": DIM.light,
    "axes.labelcolor": DIM.light,
    "axes.linewidth": 0.8,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.formatter.useoffset": False,
    "axes.formatter.limits": (-4, 6),
    "grid.color": GRID.light,
    "grid.linewidth": 0.7,
    "text.color": INK.light,
    "xtick.color": DIM.light,
    "ytick.color": DIM.light,
    "xtick.labelsize": TEXT - 1,
    "ytick.labelsize": TEXT - 1,
    "legend.frameon": False,
    "legend.fontsize": TEXT - 1,
    "lines.linewidth": 1.8,
    "figure.facecolor": "none",
    "axes.facecolor": "none",
}


@dataclass(frozen=True)
class Chart:
    """A drawn figure. ``name`` is its file's; ``caption`` says what is seen, with the key figures, and is
    the text alternative."""

    name: str
    title: str
    caption: str
    figure: Figure


@contextmanager
def style() -> Iterator[None]:
    """Draw and save inside: matplotlib's settings are put back afterwards."""
    with matplotlib.rc_context(_STYLE):  # type: ignore[arg-type]
        yield


def blank(height: float = 240, rows: int = 1) -> tuple[Figure, list[Axes]]:
    """A figure of ``WIDTH`` by ``height`` units with ``rows`` axes that share their x axis."""
    figure = Figure(figsize=(WIDTH * UNIT, height * UNIT), layout="constrained")
    grid = figure.subplots(rows, 1, sharex=True, squeeze=False)
    return figure, list(grid[:, 0])


def whole_numbers(axes: Axes) -> None:
    """Ticks of the x axis at whole numbers, few enough for a phone."""
    axes.xaxis.set_major_locator(MaxNLocator(6, integer=True))


def counted(number: int, what: str) -> str:
    """``1 step``, ``2 steps``."""
    return f"{number} {what}{'s' * (number != 1)}"


def legend(figure: Figure, axes: Axes, columns: int = 3) -> None:
    """What the lines are, below the axes."""
    handles, labels = axes.get_legend_handles_labels()
    if handles:
        figure.legend(
            handles, labels, loc="outside lower center", ncols=columns, columnspacing=1.0, handlelength=1.8
        )


def level(axes: Axes, value: float, text: str, colour: Colour = DIM, at: float | None = None) -> None:
    """A horizontal line to compare with, its name written beside the axes, so that it hides nothing; ``at``:
    where the name is, if not at the line."""
    axes.axhline(value, color=colour.light, linewidth=1, linestyle=(0, (4, 3)), zorder=1)
    axes.annotate(
        text,
        (1, value if at is None else at),
        xycoords=("axes fraction", "data"),
        xytext=(3, 0),
        textcoords="offset points",
        ha="left",
        va="center",
        fontsize=TEXT - 1,
        linespacing=1.0,
        color=colour.light,
        annotation_clip=False,
    )


def thinned(count: int, most: int = MOST_POINTS) -> list[int]:
    """Indices of at most about ``most`` of ``count`` points, evenly spread, both ends among them."""
    if count <= most:
        return list(range(count))
    return sorted({int(index) for index in np.linspace(0, count - 1, most).round()})
