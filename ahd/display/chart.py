"""Small charts out of characters: a braille line, a row of blocks, a split bar."""

import math
from collections.abc import Sequence

BLOCKS = "▁▂▃▄▅▆▇█"
# Bit of each dot of a braille cell (Unicode 3.0, U+2800): rows top to bottom, left then right.
_DOTS = ((0x01, 0x08), (0x02, 0x10), (0x04, 0x20), (0x40, 0x80))


def sparkline(values: Sequence[float], width: int) -> str:
    """The last ``width`` finite values as blocks between their own minimum and maximum."""
    shown = [value for value in values if math.isfinite(value)][-width:]
    if not shown:
        return ""
    low, high = min(shown), max(shown)
    scale = (len(BLOCKS) - 1) / (high - low) if high > low else 0.0
    return "".join(BLOCKS[round((value - low) * scale)] for value in shown)


def heights(values: Sequence[float], floor: float | None) -> list[float]:
    """Places of ``values`` between 0 (their minimum) and 1 (their maximum).

    Above a ``floor`` that all of them exceed the scale is logarithmic in the distance to it, so that
    late, small improvements stay visible.
    """
    if floor is not None and min(values) > floor:
        values = [math.log(value - floor) for value in values]
    low, high = min(values), max(values)
    return [(value - low) / (high - low) if high > low else 0.5 for value in values]


def staircase(
    steps: Sequence[tuple[int, float]], end: int, width: int, height: int, floor: float | None = None
) -> list[str]:
    """``height`` lines of ``width`` braille characters: the best so far, from proposal 0 to ``end``.

    ``steps`` holds ``(proposal, value)`` with rising proposals.
    """
    cells = [[0] * width for _ in range(height)]
    if not steps or width < 1 or height < 1:
        return ["".join(chr(0x2800 + cell) for cell in line) for line in cells]
    columns, rows = 2 * width, 4 * height
    places = heights([value for _, value in steps], floor)
    span = max(end, steps[-1][0], 1)
    ys = [round((1 - place) * (rows - 1)) for place in places]
    xs = [min(columns - 1, int(proposal * columns / span)) for proposal, _ in steps]

    def dot(x: int, y: int) -> None:
        cells[y // 4][x // 2] |= _DOTS[y % 4][x % 2]

    for index, (x, y) in enumerate(zip(xs, ys, strict=True)):
        until = xs[index + 1] if index + 1 < len(xs) else columns - 1
        for column in range(x, until + 1):
            dot(column, y)
        if index + 1 < len(xs):
            for row in range(min(y, ys[index + 1]), max(y, ys[index + 1]) + 1):
                dot(until, row)
    return ["".join(chr(0x2800 + cell) for cell in line) for line in cells]


def shares(parts: Sequence[float], width: int) -> list[int]:
    """Whole cells for ``parts`` that add to ``width`` (largest remainders); all 0 if the sum is 0."""
    total = sum(parts)
    if total <= 0:
        return [0] * len(parts)
    exact = [part * width / total for part in parts]
    cells = [int(value) for value in exact]
    order = sorted(range(len(parts)), key=lambda i: exact[i] - cells[i], reverse=True)
    for index in order[: width - sum(cells)]:
        cells[index] += 1
    return cells
