"""Values to measure gaps against: those shipped, and those computed by ``ahd refs`` on this machine.

``references.json`` holds the shipped ones, with how they were found. What ``ahd refs`` computes is kept in
the user's cache folder, a line of JSON per instance, and used where nothing is shipped.
"""

import hashlib
import json
import math
import os
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any, cast

import numpy as np

from evaluators.cache import cache_folder
from evaluators.references.solved import Solved
from problems.problem import Problem, Reference

SHIPPED = Path(__file__).with_name("references.json")
SPLITS = ("train", "val", "test")


@dataclass(frozen=True)
class Record:
    """The mean over the instances of a split and size. ``seconds`` is the solver's limit per instance, None
    when not known; of ``count`` instances ``proven`` are known to be optimal; ``bound`` is the mean of what
    no solution is below; ``digest`` is that of the instances."""

    value: float
    solver: str
    version: str
    seconds: float | None
    count: int
    proven: int
    bound: float | None
    date: str
    digest: str

    @property
    def status(self) -> str:
        """``optimum`` when every instance is proven, else ``best found``."""
        return "optimum" if self.proven == self.count else "best found"

    @property
    def reference(self) -> Reference:
        by = f"{self.solver} {self.version}".strip()
        limit = (
            "" if self.seconds is None or self.status == "optimum" else f", {self.seconds:g} s an instance"
        )
        return Reference(self.value, f"{self.status}, {by}{limit}")


@dataclass(frozen=True)
class Line:
    """What a solver found for one instance. ``seconds`` is its limit, ``took`` what it used."""

    index: int
    value: float
    bound: float | None
    solver: str
    version: str
    seconds: float
    took: float
    date: str
    digest: str

    @property
    def solved(self) -> Solved:
        return Solved(self.value, self.bound)


def digest(instances: np.ndarray) -> str:
    """A short hash of the instances' shape, type and bytes."""
    head = f"{instances.shape} {instances.dtype.str}".encode()
    return hashlib.sha256(head + instances.tobytes()).hexdigest()[:16]


@cache
def shipped() -> dict[tuple[str, str, int], Record]:
    """The records of ``references.json`` by problem, split and size."""
    return {
        (name, split, int(size)): Record(**record)
        for name, splits in json.loads(SHIPPED.read_text()).items()
        for split, sizes in splits.items()
        for size, record in sizes.items()
    }


def write_shipped(name: str, split: str, size: int, record: Record, file: Path = SHIPPED) -> None:
    """Put a record into the file of shipped ones, in order.

    Raises:
        BadTable: the file holds something else.
        OSError: it cannot be written.
    """
    table = read_table(file)
    table.setdefault(name, {}).setdefault(split, {})[str(size)] = asdict(record)
    new = file.with_name(f".{file.name}.new")
    new.write_text(_rendered(table))
    os.replace(new, file)
    shipped.cache_clear()


class BadTable(ValueError):
    """A file is no table of references. The message is one line."""


def read_table(file: Path) -> dict[str, dict[str, dict[str, Any]]]:
    """The table in ``file``, empty where there is none.

    Raises:
        BadTable: it holds something else.
        OSError: it cannot be read.
    """
    if not file.exists():
        return {}
    try:
        table = json.loads(file.read_text())
        for splits in table.values():
            for split, sizes in splits.items():
                if split not in SPLITS:
                    raise ValueError
                for size, record in sizes.items():
                    int(size), Record(**record)
    except (ValueError, TypeError, AttributeError):
        raise BadTable(f"{file}: holds no table of references; give another file, or a new one") from None
    return cast(dict[str, dict[str, dict[str, Any]]], table)


def _rendered(table: dict[str, dict[str, dict[str, object]]]) -> str:
    """The table as JSON in order, a record per line."""
    problems = []
    for name in sorted(table):
        splits = []
        for split in sorted(table[name], key=SPLITS.index):
            sizes = sorted(table[name][split].items(), key=lambda item: int(item[0]))
            records = ",\n".join(f'   "{size}": {json.dumps(record)}' for size, record in sizes)
            splits.append(f'  "{split}": {{\n{records}\n  }}')
        problems.append(f' "{name}": {{\n' + ",\n".join(splits) + "\n }")
    return "{\n" + ",\n".join(problems) + "\n}\n"


def cache_file(name: str, split: str, size: int) -> Path:
    """Where the values computed here for these instances are kept."""
    return cache_folder() / "references" / f"{name}-{split}-{size}.jsonl"


def read_lines(file: Path, digest: str) -> Iterator[Line]:
    """The lines of a cache file for the instances of that digest; a torn, foreign or damaged line is passed
    over."""
    try:
        text = file.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return
    for each in text.splitlines():
        try:
            line = Line(**json.loads(each))
        except (ValueError, TypeError):
            continue
        if line.digest == digest and _is_whole(line):
            yield line


def _is_whole(line: Line) -> bool:
    """Whether every field is of its type, and numbers are finite."""
    numbers = [line.value, line.seconds, line.took, *([] if line.bound is None else [line.bound])]
    return (
        type(line.index) is int
        and all(type(each) in (int, float) and math.isfinite(each) for each in numbers)
        and all(isinstance(each, str) for each in (line.solver, line.version, line.date))
    )


def append_line(file: Path, line: Line) -> None:
    """Add a line to a cache file.

    Raises:
        OSError: the cache folder cannot be written.
    """
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("a", encoding="utf-8") as out:
        out.write(json.dumps(asdict(line)) + "\n")


def best_lines(lines: Sequence[Line]) -> dict[int, Line]:
    """The best value for each instance; among equals one with a bound."""
    found: dict[int, Line] = {}
    for line in lines:
        old = found.get(line.index)
        if old is None or (line.value, line.bound is None) < (old.value, old.bound is None):
            found[line.index] = line
    return found


def summarise(lines: Sequence[Line], count: int, decimals: int = 5) -> Record | None:
    """The record of the best lines, None while an instance has none."""
    best = best_lines(lines)
    if not set(range(count)) <= set(best):
        return None
    kept = [best[index] for index in range(count)]
    bounds = [line.bound for line in kept if line.bound is not None]
    names = sorted({(line.solver, line.version) for line in kept})
    return Record(
        value=round(float(np.mean([line.value for line in kept])), decimals),
        solver=" or ".join(solver for solver, _ in names),
        version=", ".join(dict.fromkeys(version for _, version in names if version)),
        seconds=max(line.seconds for line in kept),
        count=count,
        proven=sum(line.solved.proven for line in kept),
        bound=round(float(np.mean(bounds)), decimals) if len(bounds) == count else None,
        date=max(line.date for line in kept),
        digest=kept[0].digest,
    )


def computed(problem: Problem, split: str, size: int) -> Record | None:
    """The record of what was computed on this machine, None unless every instance is done."""
    file = cache_file(problem.name, split, size)
    if not file.is_file():
        return None
    instances = problem.instances(split, size)
    return summarise(list(read_lines(file, digest(instances))), len(instances), problem.decimals)


def known(name: str, split: str, size: int) -> Reference | None:
    """The reference of a packaged problem: the one shipped, else the one computed on this machine."""
    record = shipped().get((name, split, size))
    if record is None and cache_file(name, split, size).is_file():
        from problems.registry import load

        record = computed(load(name), split, size)
    return record.reference if record else None
