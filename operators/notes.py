"""Notes in a prompt: short lines on earlier attempts, in part from what candidates wrote and raised."""

from evaluators.frames import clean

MOST = 120
"""Characters of a note."""
_CUT = str.maketrans({"`": "'"})


def noted(text: str) -> str:
    """``text`` as a note: one printable line of at most ``MOST`` characters, without what ends a block of
    code or a turn of a chat."""
    text = clean(text).translate(_CUT).replace("<|", "< ").replace("|>", " >")
    return text if len(text) <= MOST else text[: MOST - 1] + "…"
