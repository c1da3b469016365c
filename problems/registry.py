"""Finds problems by name: those of the package and those dropped in as files."""

import difflib
import importlib
import os
import pkgutil
from dataclasses import dataclass, replace
from pathlib import Path

import problems
from evaluators.task import BrokenProblemFile, load_task_file
from problems.check import check
from problems.problem import Problem

_NOT_PROBLEMS = {"check", "problem", "recipe", "references", "registry", "solvers"}


class UnknownProblem(ValueError):
    """No problem has that name. The message is one line with the nearest name."""


def packaged() -> list[str]:
    """Names of the problems of the package, without importing them."""
    modules = {module.name for module in pkgutil.iter_modules(problems.__path__)} - _NOT_PROBLEMS
    return sorted(name.replace("_", "-") for name in modules if not name.startswith("_"))


def load_file(path: str | Path) -> Problem:
    """The problem a file defines, with the file as its ``origin``.

    Raises:
        BrokenProblemFile: the file is missing, fails, defines no ``Problem`` named ``problem`` or one
            with a field that is not as it should be, or takes the name of a problem of the package.
    """
    path = Path(path).resolve()
    problem = load_task_file(path)
    if not isinstance(problem, Problem):
        kind = type(problem).__name__
        raise BrokenProblemFile(f"{path}: `problem` is a {kind}; make it a problems.problem.Problem")
    check(problem, str(path))
    if problem.name in packaged():
        raise BrokenProblemFile(
            f"{path}: `name` is {problem.name!r}, which is a problem of the package: rename yours"
        )
    return replace(problem, origin=str(path))


@dataclass(frozen=True)
class Dropped:
    """What the folder ``AHD_PROBLEMS`` holds: problems by name, and what is wrong with other files."""

    problems: dict[str, Problem]
    broken: dict[Path, BrokenProblemFile]


def dropped() -> Dropped:
    """Load every file of the folder ``AHD_PROBLEMS`` but those with a leading underscore.

    Of two files with problems of one name, the second is broken.

    Raises:
        BrokenProblemFile: ``AHD_PROBLEMS`` names no folder.
    """
    found = Dropped({}, {})
    for file in _files():
        try:
            problem = load_file(file)
            if problem.name in found.problems:
                first = found.problems[problem.name].origin
                raise BrokenProblemFile(
                    f"{file}: `name` is {problem.name!r}, as in {first}: rename one of the two"
                )
        except BrokenProblemFile as error:
            found.broken[file] = error
        else:
            found.problems[problem.name] = problem
    return found


def _files() -> list[Path]:
    folder = os.environ.get("AHD_PROBLEMS", "")
    if not folder:
        return []
    if not Path(folder).is_dir():
        raise BrokenProblemFile(f"AHD_PROBLEMS={folder}: not a folder; name one that holds problem files")
    return sorted(file for file in Path(folder).glob("*.py") if not file.name.startswith("_"))


def names() -> list[str]:
    """Names of the problems of the package and of the folder ``AHD_PROBLEMS``, sorted.

    Raises:
        BrokenProblemFile: a file of the folder cannot be used.
    """
    found = dropped()
    for error in found.broken.values():
        raise error
    return sorted({*packaged(), *found.problems})


def load(name: str, path: str | Path | None = None) -> Problem:
    """The problem called ``name``, from the file ``path``, the package or the folder ``AHD_PROBLEMS``.

    Of the folder, only what is wrong with the file of that name matters; its files are not even run
    for a problem that is found elsewhere.

    Raises:
        UnknownProblem: no problem has that name.
        BrokenProblemFile: ``path``, or the file of that name in the folder, cannot be used.
    """
    if path:
        mine = load_file(path)
        if mine.name == name:
            return mine
        raise UnknownProblem(f"{path} defines {mine.name!r}, not {name!r}: name that one")
    _files()  # a folder that is not there is told at once
    offered = packaged()
    if name in offered:
        found = importlib.import_module("problems." + name.replace("-", "_")).problem
        assert isinstance(found, Problem)
        return found
    extra = dropped()
    if name in extra.problems:
        return extra.problems[name]
    for file, error in extra.broken.items():
        if file.stem.replace("_", "-") == name:
            raise error
    every = sorted({*offered, *extra.problems})
    near = difflib.get_close_matches(name.lower(), every, n=1, cutoff=0.4)
    hint = f"did you mean {near[0]}?" if near else f"choose one of {', '.join(every)}"
    if extra.broken:
        hint += f" (broken: {', '.join(file.name for file in extra.broken)}; `ahd problems` says why)"
    raise UnknownProblem(f"unknown problem {name!r}: {hint}")
