"""Which panels fit a terminal of a given size, and how tall each may be."""

from dataclasses import dataclass

WIDE = 100
"""Columns from which the population shares its row with the operators."""
NARROWEST = 60
SHORTEST = 12
"""Below these the dashboard is a few bare lines."""


@dataclass(frozen=True)
class Band:
    """A row of panels: at least ``least`` lines, ``full`` when there is room. ``rank`` 0 is dropped last."""

    name: str
    least: int
    full: int
    rank: int


WIDE_BANDS = (
    Band("header", 4, 4, 0),
    Band("best+evolution", 6, 10, 1),
    Band("population+operators", 8, 15, 2),
    Band("speed+latest", 5, 8, 3),
)
NARROW_BANDS = (
    Band("header", 4, 4, 0),
    Band("best+evolution", 6, 10, 1),
    Band("population", 5, 13, 3),
    Band("operators+outcomes", 8, 8, 2),
    Band("speed+latest", 5, 8, 4),
)


def allot(bands: tuple[Band, ...], height: int) -> dict[str, int]:
    """Lines for each band that fits, in the order of ``bands``.

    Bands get their least height in the order of their ranks while there is room; what is left goes
    to them line by line, in turn, up to full height.
    """
    lines: dict[str, int] = {}
    room = height
    for band in sorted(bands, key=lambda each: each.rank):
        if band.least <= room:
            lines[band.name] = band.least
            room -= band.least
    while room and (growing := [band for band in bands if lines.get(band.name, band.full) < band.full]):
        for band in sorted(growing, key=lambda each: each.rank)[:room]:
            lines[band.name] += 1
            room -= 1
    return {band.name: lines[band.name] for band in bands if band.name in lines}
