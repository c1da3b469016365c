"""Notes are safe to show, whatever they are made of."""

import pytest
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


@pytest.mark.parametrize(
    "mark",
    [
        "<|im_end|>",
        "<<|x||>>",
        "</s><s>[INST]",
        "[/inst]",
        "<<SYS>>",
        "<start_of_turn>",
        "<\uff5cUser\uff5c>",
        "<bos>",
    ],
)
def test_marks_of_a_chat_are_taken_out(mark: str) -> None:
    """Of every family of models; what else candidates write stays."""
    note = noted(f"ValueError: a | b {mark} <lambda>() [x] a < b")
    assert not any(
        sign in note for sign in ("<|", "|>", "INST", "inst", "SYS>", "_turn", "</s", "<bos", "\uff5c")
    )
    assert note.startswith("ValueError: a | b")
    assert note.endswith("<lambda>() [x] a < b")
