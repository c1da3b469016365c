"""A comparison to JSON and back."""

import json
from typing import TypeVar

from ahd import typed
from ahd.config import ConfigError
from ahd.display.jsonl import as_json

T = TypeVar("T")


def to_json(record: object) -> str:
    """JSON text, two spaces deep; dataclasses become objects."""
    return json.dumps(as_json(record), indent=2, allow_nan=False, ensure_ascii=False) + "\n"


def from_json(kind: type[T], text: str, version: int) -> T:
    """The record that ``to_json`` wrote; fields it does not know are left out.

    Raises:
        ConfigError: it is damaged, or its field ``version`` is another.
    """
    try:
        data = json.loads(text)
        found = data["version"]
    except (ValueError, TypeError, KeyError, RecursionError):
        raise ConfigError("it is no comparison: repeat `ahd compare` to write it again") from None
    if found != version:
        raise ConfigError(f"it has version {found}, this ahd reads {version}: repeat `ahd compare`")
    try:
        return typed.read(kind, data)
    except (ValueError, TypeError, KeyError):
        raise ConfigError("it is damaged: repeat `ahd compare` to write it again") from None
