"""The questions that a run put to the model for insights, as its file keeps them."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import get_type_hints

from ahd.config import ConfigError
from ahd.store import Store

_KEY = "insights"


@dataclass(frozen=True)
class Question:
    """A question that was put before a batch, and its answer."""

    batch: int
    prompt: str
    reply: str
    prompt_tokens: int
    completion_tokens: int
    model_seconds: float


_TYPES = get_type_hints(Question)


def questions(store: Store) -> list[Question]:
    """The questions of a run, in their order.

    Raises:
        ConfigError: the record is damaged.
    """
    record = store.meta_record(_KEY)
    if record is None:
        return []
    try:
        found = [Question(**each) for each in record["questions"]]
        if all(type(getattr(each, name)) is kind for each in found for name, kind in _TYPES.items()):
            return found
    except (TypeError, KeyError):
        pass
    raise ConfigError(f"{store.folder}: its insights are damaged; restore the run file from a copy")


def store_questions(store: Store, asked: Sequence[Question]) -> None:
    """Keep all questions of a run, in one transaction."""
    store.set_meta(**{_KEY: json.dumps({"questions": [asdict(each) for each in asked]})})
