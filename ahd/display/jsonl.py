"""One JSON object per event and line: for programs."""

import json
import math
import sys
import time
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any, TextIO

from ahd.events import Event


def as_json(value: Any) -> Any:
    """``value`` in JSON's own types: dataclasses become objects, paths text, non-finite numbers null."""
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: as_json(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, dict):
        return {str(key): as_json(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [as_json(item) for item in value]
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


class JsonDisplay:
    """Writes ``{"event": "proposed", "time": <Unix seconds>, ...}`` lines, ASCII only."""

    def __init__(self, out: TextIO | None = None, clock: Callable[[], float] = time.time) -> None:
        self._out = out or sys.stdout
        self._clock = clock

    def __enter__(self) -> "JsonDisplay":
        return self

    def __exit__(self, *exc: object) -> None:
        self._out.flush()

    def show(self, event: Event) -> None:
        head = {"event": type(event).__name__.lower(), "time": round(self._clock(), 3)}
        print(json.dumps(head | as_json(event), allow_nan=False), file=self._out, flush=True)
