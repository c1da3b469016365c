"""Untrusted text and figures as short printable strings."""

from hypothesis import given
from hypothesis import strategies as st

from ahd.display.text import clean, clean_block, duration, snippet
from ahd.gap import relative_gap
from tests.display.synthetic_run import HOSTILE


@given(st.text(), st.integers(1, 50))
def test_clean_gives_one_printable_line(text: str, limit: int) -> None:
    """Whatever comes in, one line without control or bidirectional characters comes out, in bounds."""
    line = clean(text, limit)
    assert len(line) <= limit
    assert line.isprintable()
    assert not any(char in line for char in "\x1b\r\n\u202e\u2066")


@given(st.text())
def test_snippet_never_raises(text: str) -> None:
    """Code that does not parse still gives a printable line."""
    assert snippet(text).isprintable()


def test_snippet_shows_what_the_hole_computes() -> None:
    """Of a skeleton heuristic the completion is shown, of a completion all of it."""
    code = "def f(a, b):\n    near = a\n    score = near - 0.5 * (b\n        + 1)\n    return score\n"
    assert snippet(code) == "near - 0.5 * (b + 1)"
    assert snippet("near - b") == "near - b"
    assert snippet("def f(a):\n    return a * 2\n") == "a * 2"


def test_clean_block_keeps_lines_only() -> None:
    """Line ends survive, escape codes do not."""
    assert clean_block("a\n\tb\x1b[31m") == "a\n    b[31m"
    assert "\x1b" not in clean_block(HOSTILE)


def test_figures() -> None:
    """Durations and gaps as stated."""
    assert [duration(s) for s in (7, 754, 7384)] == ["0:07", "12:34", "2:03:04"]
    assert relative_gap(-40.0, -50.0) == 0.2
    assert relative_gap(None, 1.0) is None
    assert relative_gap(1.0, 0.0) is None
