"""The colours of pages and figures: told apart by people who see few colours, in light and in dark.

The hues are those of Okabe and Ito (2008), darkened on white and lightened on black for contrast.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Colour:
    """One colour by its role: in figures for print and light pages, and in dark pages."""

    name: str
    light: str
    dark: str


INK = Colour("ink", "#1b2530", "#e7ecf2")
DIM = Colour("dim", "#55616f", "#a7b3c1")
GRID = Colour("grid", "#dfe5ec", "#323d4a")
BLUE = Colour("blue", "#0068a8", "#62b8ef")
ORANGE = Colour("orange", "#c44e00", "#ff9a57")
GREEN = Colour("green", "#007a59", "#43d1a5")
PURPLE = Colour("purple", "#9c3f80", "#eb9fd2")
AMBER = Colour("amber", "#8f6a00", "#f2c94c")
SKY = Colour("sky", "#8cc4ea", "#2b6c9c")
STONE = Colour("stone", "#98a3af", "#6b7886")
SAND = Colour("sand", "#e2b68a", "#8e5a2c")

COLOURS = (INK, DIM, GRID, BLUE, ORANGE, GREEN, PURPLE, AMBER, SKY, STONE, SAND)
SERIES = (BLUE, ORANGE, GREEN, PURPLE, AMBER, STONE)
DASHES = ("-", (0, (5, 2)), (0, (1, 1.4)), (0, (6, 2, 1, 2)), (0, (3, 1.5)), (0, (8, 3)))
"""Line styles that go with ``SERIES``: no line is told apart by its colour alone."""

OPERATORS = ("i1", "e1", "e2", "m1", "m2", "tune")


def of_operator(name: str) -> tuple[Colour, object]:
    """Colour and line style of an operator, the same in every figure."""
    index = OPERATORS.index(name) if name in OPERATORS else len(SERIES) - 1
    return SERIES[index], DASHES[index]


def variables(dark: bool) -> str:
    """CSS declarations ``--c-NAME: colour;`` of one scheme."""
    return " ".join(f"--c-{each.name}: {each.dark if dark else each.light};" for each in COLOURS)
