"""What an operator asks of the model."""

from dataclasses import dataclass
from typing import Literal

Style = Literal["skeleton", "free"]


@dataclass(frozen=True)
class Prompt:
    """A user message, the text the reply is made to start with, and where the reply ends.

    The fields are those of ``operators.model.Request``: ``prefill`` is empty in free style,
    ``stop`` strings are left out of the reply, ``max_tokens`` counts new tokens. ``lead`` is the end
    of ``prefill`` that belongs to the candidate: it goes before the reply when that is parsed.
    """

    text: str
    prefill: str
    stop: tuple[str, ...]
    max_tokens: int
    lead: str = ""
