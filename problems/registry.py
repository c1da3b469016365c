"""Finds problems by name: those of the package and those dropped in as files."""

import difflib
import importlib
import os
import pkgutil
from pathlib import Path

import problems
from evaluators.task import BrokenProblemFile, load_task_file
from problems.problem import Problem

_NOT_PROBLEMS = {"problem", "registry"}


class UnknownProblem(ValueError):
    """No problem has that name. The message is one line with the nearest name."""


def packaged() -> list[str]:
    """Names of the problems of the package, without importing them."""
    modules = {module.name for module in pkgutil.iter_modules(problems.__path__)} - _NOT_PROBLEMS
    return sorted(name.replace("_", "-") for name in modules if not name.startswith("_"))


def load_file(path: str | Path) -> Problem:
    """The problem a file defines, with the file as its ``origin``.

    Raises:
        BrokenProblemFile: the file is missing, fails or defines no ``Problem`` named ``problem``.
    """
    path = Path(path).resolve()
    problem = load_task_file(path)
    if not isinstance(problem, Problem):
        kind = type(problem).__name__
        raise BrokenProblemFile(f"{path}: `problem` is a {kind}; make it a problems.problem.Problem")
    object.__setattr__(problem, "origin", str(path))
    return problem


def dropped(path: str | Path | None = None) -> dict[str, Problem]:
    """Problems from the files of folder ``AHD_PROBLEMS`` and from ``path``, which goes first.

    Raises:
        BrokenProblemFile: see ``load_file``; also when ``AHD_PROBLEMS`` names no folder.
    """
    files: list[Path] = []
    folder = os.environ.get("AHD_PROBLEMS", "")
    if folder:
        if not Path(folder).is_dir():
            raise BrokenProblemFile(f"AHD_PROBLEMS={folder}: not a folder; name one that holds problem files")
        files += sorted(file for file in Path(folder).glob("*.py") if not file.name.startswith("_"))
    if path:
        files.append(Path(path))
    found = [load_file(file) for file in files]
    return {problem.name: problem for problem in found}


def names(path: str | Path | None = None) -> list[str]:
    """Names of all problems on offer, sorted."""
    return sorted({*packaged(), *dropped(path)})


def load(name: str, path: str | Path | None = None) -> Problem:
    """The problem called ``name``; a dropped-in one is preferred to one of the package.

    Raises:
        UnknownProblem: no problem has that name.
        BrokenProblemFile: a dropped-in file cannot be used.
    """
    extra = dropped(path)
    if name in extra:
        return extra[name]
    offered = packaged()
    if name in offered:
        found = importlib.import_module("problems." + name.replace("-", "_")).problem
        assert isinstance(found, Problem)
        return found
    every = sorted({*offered, *extra})
    near = difflib.get_close_matches(name.lower(), every, n=1, cutoff=0.4)
    hint = f"did you mean {near[0]}?" if near else f"choose one of {', '.join(every)}"
    raise UnknownProblem(f"unknown problem {name!r}: {hint}")
