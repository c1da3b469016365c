"""What JSON or SQLite gave back, as the annotations of dataclasses say it has to be."""

import math
import types
import typing
from collections.abc import Mapping
from dataclasses import MISSING, fields, is_dataclass
from enum import Enum
from pathlib import Path
from typing import Any, TypeVar

T = TypeVar("T")


def read(kind: type[T], data: Mapping[str, Any], **given: Any) -> T:
    """The dataclass with these fields, of which those with defaults may be missing; fields it does not know
    are left out. ``given`` are taken as they are.

    Raises:
        TypeError, ValueError, KeyError: a field is missing, or cannot be what its annotation says.
    """
    hints = typing.get_type_hints(kind)
    found = {
        each.name: value(hints[each.name], data[each.name])
        for each in fields(kind)  # type: ignore[arg-type]
        if each.name not in given
        and (each.name in data or (each.default is MISSING and each.default_factory is MISSING))
    }
    return kind(**found, **given)


def value(kind: Any, given: Any) -> Any:
    """``given`` as the annotation ``kind`` has it: a whole number will do for a float, a list for a tuple.

    Raises:
        TypeError, ValueError, KeyError: it is something else, or a float that is not finite.
    """
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if kind is Any:
        return given
    if is_dataclass(kind) and isinstance(kind, type):
        return read(kind, _of(dict, given))
    if origin is tuple:
        return tuple(value(arguments[0], item) for item in _of((list, tuple), given))
    if origin is dict:
        return {str(key): value(arguments[1], item) for key, item in _of(dict, given).items()}
    if origin in (types.UnionType, typing.Union):
        wanted = next(each for each in arguments if each is not types.NoneType)
        return None if given is None else value(wanted, given)
    if kind is float:
        return _finite(_of((int, float), given))
    return kind(given) if issubclass(kind, Enum | Path) else _of(kind, given)


def _of(kind: type | tuple[type, ...], given: Any) -> Any:
    if not isinstance(given, kind) or (isinstance(given, bool) and kind is not bool):
        raise TypeError(f"{given!r:.50} is no {kind}")
    return given


def _finite(given: int | float) -> float:
    try:
        number = float(given)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise ValueError(f"{given!r:.50} is not finite")
    return number
