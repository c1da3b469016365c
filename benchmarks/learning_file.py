"""The file of a learning trial: one JSON line for every finished (seed, method)."""

import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

Record = dict[str, Any]
"""``method``, ``seed``, ``settings`` (what the method depends on), and what was measured."""


def key(record: Record) -> tuple[str, str, int]:
    """What tells arms apart: method, settings, seed."""
    return record["method"], json.dumps(record["settings"], sort_keys=True), record["seed"]


def append(file: Path, record: Record) -> None:
    """Add a line; below one that was cut short by a kill, begin a new one."""
    line = json.dumps(record).encode() + b"\n"
    with file.open("a+b") as out:
        if out.tell() > 0:
            out.seek(-1, os.SEEK_END)
            if out.read(1) != b"\n":
                line = b"\n" + line
        out.write(line)


def read(files: Iterable[Path]) -> list[Record]:
    """The finished arms of the files, each once; a line that was cut short does not count."""
    found: dict[tuple[str, str, int], Record] = {}
    for file in files:
        for line in file.read_text().splitlines():
            try:
                record = json.loads(line)
            except ValueError:
                continue
            found.setdefault(key(record), record)
    return list(found.values())
