"""Charts out of characters."""

import math

from hypothesis import given
from hypothesis import strategies as st

from ahd.display.chart import shares, sparkline, staircase


@given(st.lists(st.floats(0, 1e6), min_size=1, max_size=5), st.integers(0, 200))
def test_shares_fill_the_width_exactly(parts: list[float], width: int) -> None:
    """Whole cells add to the width, and each is within one of its exact part."""
    cells = shares(parts, width)
    total = sum(parts)
    if total <= 0:
        assert cells == [0] * len(parts)
        return
    assert sum(cells) == width
    assert all(abs(n - part * width / total) <= 1 + 1e-9 for n, part in zip(cells, parts, strict=True))


@given(
    st.lists(st.floats(-1e9, 1e9), max_size=30),
    st.integers(1, 60),
    st.integers(1, 8),
    st.none() | st.floats(-10, 10),
)
def test_staircase_has_the_size_asked_for(
    values: list[float], width: int, height: int, floor: float | None
) -> None:
    """Any values give exactly ``height`` lines of ``width`` braille cells."""
    steps = list(enumerate(values, 1))
    lines = staircase(steps, len(values), width, height, floor)
    assert [len(line) for line in lines] == [width] * height
    assert all(0x2800 <= ord(char) <= 0x28FF for line in lines for char in line)


def test_staircase_goes_down_from_the_first_to_the_last_value() -> None:
    """The line begins in the top row and ends in the bottom row, without a gap between columns."""
    lines = staircase([(1, 9.0), (40, 7.0), (80, 6.0)], 100, 20, 4, None)
    assert lines[0][0] != "⠀"
    assert lines[-1][-1] != "⠀"
    assert all(any(line[column] != "⠀" for line in lines) for column in range(20))


def test_sparkline_ignores_what_is_not_finite() -> None:
    """Non-finite rewards leave no mark; the minimum and maximum take the lowest and highest block."""
    assert sparkline([1.0, math.nan, 2.0, math.inf], 10) == "▁█"
    assert sparkline([], 10) == ""
