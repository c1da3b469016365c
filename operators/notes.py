"""Notes in a prompt: short lines on earlier attempts, in part from what candidates wrote and raised."""

import re

from evaluators.frames import clean

MOST = 120
"""Characters of a note."""
_CUT = str.maketrans({"`": "'", "\uff5c": "|"})
_MARKS = re.compile(r"</?s>|<</?SYS>>|\[/?INST\]|</?(?:start|end)_of_turn>|<[be]o[st]>", re.IGNORECASE)
"""Marks of the turns of a chat, beside those with bars."""


def noted(text: str) -> str:
    """``text`` as a note: one printable line of at most ``MOST`` characters, without what ends a block of
    code or a turn of a chat."""
    text = clean(text).translate(_CUT).replace("<|", "< ").replace("|>", " >")
    text = _MARKS.sub(" ", text)
    return text if len(text) <= MOST else text[: MOST - 1] + "…"
