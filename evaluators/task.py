"""What the sandbox has to know about a problem, and how a problem file is loaded."""

import importlib.util
import sys
import types
from collections.abc import Callable, Mapping
from importlib.machinery import SourceFileLoader
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from evaluators.frames import one_line

MAX_SECONDS = 86400.0
"""Most CPU seconds an evaluation can be given."""
COMPILE_SECONDS = 20.0
"""CPU seconds for compiling and checking a candidate, beside the time limit of its evaluation."""


class Task(Protocol):
    """The part of ``problems.problem.Problem`` that evaluators see; fields are described there."""

    @property
    def name(self) -> str: ...
    @property
    def function(self) -> str: ...
    @property
    def arguments(self) -> tuple[str, ...]: ...
    @property
    def heuristics(self) -> Mapping[str, str]: ...
    @property
    def sizes(self) -> Mapping[str, tuple[int, ...]]: ...
    @property
    def instances(self) -> Callable[[str, int], np.ndarray]: ...
    @property
    def run(self) -> Callable[[Callable[..., Any], np.ndarray], np.ndarray]: ...
    @property
    def objective(self) -> Callable[..., float]: ...
    @property
    def time_limit(self) -> float: ...
    @property
    def seeded(self) -> bool: ...
    @property
    def chunk(self) -> int: ...
    @property
    def apart(self) -> bool: ...
    @property
    def compiled(self) -> Callable[[Callable[..., Any], np.ndarray], np.ndarray] | None: ...
    @property
    def origin(self) -> str: ...


class BrokenProblemFile(ValueError):
    """A problem file cannot be used. The message is one line naming the file and the mend."""


class _FromSource(SourceFileLoader):
    """Reads the file itself, and leaves nothing beside it: byte code kept from before is told from the
    file's by size and second alone, and may be that of another version."""

    def get_code(self, fullname: str) -> types.CodeType:
        path = self.get_filename(fullname)
        return self.source_to_code(self.get_data(path), path)


def load_task_file(path: str | Path) -> Any:
    """Run the Python file at ``path`` and return the ``problem`` it defines.

    Raises:
        BrokenProblemFile: there is no such file, it fails, or it defines no ``problem``.
    """
    path = Path(path).resolve()
    name = f"ahd_problem_file_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path, loader=_FromSource(name, str(path)))
    if not path.exists():
        raise BrokenProblemFile(f"{path}: no such file; give the path of a .py file")
    if spec is None or spec.loader is None or not path.is_file():
        raise BrokenProblemFile(f"{path}: not a Python file; give the path of a .py file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException as error:  # sys.exit too: nothing in a problem file ends the command silently
        raise BrokenProblemFile(f"{path}: fails with {one_line(error)}; mend the file") from error
    if not hasattr(module, "problem"):
        raise BrokenProblemFile(f"{path}: defines no `problem`; end it with `problem = Problem(...)`")
    return module.problem


def scaled_limit(task: Task, split: str, size: int, training_limit: float) -> float:
    """CPU seconds for a split: ``training_limit`` times how much more work it is than training.

    Work is taken as the number of instances times the square of their size; never less than the
    training limit itself, never more than ``MAX_SECONDS``.
    """
    train_size = task.sizes["train"][0]
    train = len(task.instances("train", train_size)) * train_size**2
    work = len(task.instances(split, size)) * size**2
    return min(training_limit * max(1.0, work / train), MAX_SECONDS)
