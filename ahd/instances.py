"""Instances from files in public formats, as a split of their problem: for ``--instances``."""

import glob
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from pathlib import Path

import numpy as np

from ahd.config import ConfigError
from evaluators.frames import one_line
from evaluators.instance_files.text import BrokenInstanceFile
from evaluators.task import MAX_SECONDS
from problems.problem import Instance, Problem
from problems.registry import load_file

SPLIT = "files"
"""Name of the split that the instances of files make; their sizes are the numbers from 1."""
_BESIDE = {".sol", ".tour", ".md", ".py"}
"""Endings of what lies beside instances in a folder."""


@dataclass(frozen=True)
class FileInstance:
    """An instance and the file it is from."""

    file: str
    instance: Instance


def read_instances(problem: Problem, given: Sequence[str]) -> list[FileInstance]:
    """The instances of all files that ``given`` names: files, folders and patterns such as ``x/*.tsp``.

    Of a folder every file counts, but for solutions, notes and hidden ones. Order: as given, names sorted.

    Raises:
        ConfigError: the problem reads no files, a name fits nothing, or a file cannot be read.
    """
    if problem.read is None:
        raise ConfigError(
            f"--instances: {problem.name} reads no files; leave it out, or use --split and --size"
        )
    found: list[FileInstance] = []
    for file in (file for name in given for file in _files(name)):
        try:
            found += [FileInstance(str(file), instance) for instance in problem.read(file)]
        except BrokenInstanceFile as error:
            raise ConfigError(str(error)) from error
        except (Exception, SystemExit) as error:
            if not problem.origin:
                raise
            raise ConfigError(f"{problem.origin}: `read` fails with {one_line(error)} for {file}") from error
    return found


def _files(name: str) -> list[Path]:
    path = Path(os.path.expanduser(name))
    if path.is_dir():
        files = [
            file
            for file in sorted(path.iterdir())
            if file.is_file() and file.suffix.lower() not in _BESIDE and not file.name.startswith(".")
        ]
        if not files:
            raise ConfigError(f"--instances {name}: the folder holds no instance files")
        return files
    if path.exists():
        return [path]
    if not glob.has_magic(name):
        raise ConfigError(f"--instances {name}: no such file or folder; give one, or a pattern in quotes")
    files = [Path(file) for file in sorted(glob.glob(str(path), recursive=True)) if Path(file).is_file()]
    if not files:
        raise ConfigError(f"--instances {name}: no file fits that pattern")
    return files


@dataclass(frozen=True)
class _Instances:
    """``(split, size) -> instances``: for ``SPLIT`` the array of that number, else the problem's own."""

    own: Callable[[str, int], np.ndarray]
    arrays: tuple[np.ndarray, ...]

    def __call__(self, split: str, size: int) -> np.ndarray:
        return self.arrays[size - 1] if split == SPLIT else self.own(split, size)


@dataclass(frozen=True)
class _WithFiles(Problem):
    """A problem with a split ``SPLIT``. A process of the sandbox gets the arrays, and a problem that comes
    from a file by the name of that file."""

    own: Problem | str = ""
    arrays: tuple[np.ndarray, ...] = ()

    def __reduce__(self) -> tuple[object, ...]:
        return _rebuilt, (self.own, self.arrays)


def _rebuilt(own: Problem | str, arrays: tuple[np.ndarray, ...]) -> Problem:
    return with_instances(load_file(own) if isinstance(own, str) else own, arrays)


def with_instances(problem: Problem, arrays: Sequence[np.ndarray]) -> Problem:
    """``problem`` with one more split, ``SPLIT``, where size k is the k-th of ``arrays``, counted from 1."""
    kept = {field.name: getattr(problem, field.name) for field in fields(Problem)}
    kept["sizes"] = {**problem.sizes, SPLIT: tuple(range(1, len(arrays) + 1))}
    kept["instances"] = _Instances(problem.instances, tuple(arrays))
    kept["origin"] = ""
    return _WithFiles(**kept, own=problem.origin or problem, arrays=tuple(arrays))


def file_of(problem: Problem) -> str:
    """The file a problem is from, also of one with instances from files; empty for one of the package."""
    own = problem.own if isinstance(problem, _WithFiles) else ""
    return own if isinstance(own, str) and own else problem.origin


def time_limit(problem: Problem, array: np.ndarray, training_limit: float) -> float:
    """CPU seconds for the instances of ``array``: the training limit, and more where they are more work.

    Work is counted as ``evaluators.task.scaled_limit`` counts it: instances times size squared.
    """
    size = problem.sizes["train"][0]
    work = len(array) * array.shape[1] ** 2 / (len(problem.instances("train", size)) * size**2)
    return min(training_limit * max(1.0, work), MAX_SECONDS)
