"""Frozen dataclasses to JSON and back, by their annotations."""

import json
import types
import typing
from dataclasses import fields, is_dataclass
from typing import Any, TypeVar

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
        return typing.cast(T, _decode(kind, data))
    except (ValueError, TypeError, KeyError, AttributeError):
        raise ConfigError("it is damaged: repeat `ahd compare` to write it again") from None


def _decode(kind: Any, value: Any) -> Any:
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if is_dataclass(kind) and isinstance(kind, type):
        hints = typing.get_type_hints(kind)
        return kind(**{each.name: _decode(hints[each.name], value[each.name]) for each in fields(kind)})
    if origin is tuple:
        return tuple(_decode(arguments[0], item) for item in value)
    if origin is dict:
        return {str(key): _decode(arguments[1], item) for key, item in value.items()}
    if origin in (types.UnionType, typing.Union):
        wanted = next(each for each in arguments if each is not types.NoneType)
        return None if value is None else _decode(wanted, value)
    if kind is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if not isinstance(value, kind):
        raise TypeError(f"{value!r} is no {kind.__name__}")
    return value
