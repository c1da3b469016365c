"""Notes are safe to show, whatever they are made of."""

from hypothesis import given
from hypothesis import strategies as st

from operators.notes import MOST, noted


@given(st.text(max_size=400))
def test_any_text_is_one_short_printable_line(text: str) -> None:
    """No line ends, control or direction marks, fences or marks of a chat's turns; never too long."""
    note = noted(text)
    assert note.isprintable()
    assert len(note) <= MOST
    assert not any(sign in note for sign in ("`", "<|", "|>"))
