"""Finds problems by name: those of the package, of installed packages, and those dropped in as files."""

import difflib
import importlib
import os
import pkgutil
import re
from dataclasses import dataclass, fields, replace
from pathlib import Path

import problems
from evaluators.task import BrokenProblemFile, load_task_file
from problems import installed
from problems.check import check
from problems.problem import Problem, Reference, Skeleton

_NOT_PROBLEMS = {
    *("check", "installed", "problem", "recipe", "references", "registry"),
    *("skeletons", "solvers"),
}


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
    try:
        problem = load_task_file(path)
    except BrokenProblemFile as error:
        keyword = _keyword_fault(error.__cause__)
        if keyword:
            raise BrokenProblemFile(f"{path}: {keyword}") from error
        raise
    if not isinstance(problem, Problem):
        kind = type(problem).__name__
        raise BrokenProblemFile(f"{path}: `problem` is a {kind}; make it a problems.problem.Problem")
    check(problem, str(path))
    if problem.name in packaged():
        raise BrokenProblemFile(
            f"{path}: `name` is {problem.name!r}, which is a problem of the package: rename yours"
        )
    return replace(problem, origin=str(path))


def _keyword_fault(error: BaseException | None) -> str:
    """What is wrong with the keywords of ``Problem(...)``, ``Skeleton(...)`` or ``Reference(...)`` where that
    is what ``error`` is about, else nothing."""
    text = str(error) if isinstance(error, TypeError) else ""
    for kind in (Problem, Skeleton, Reference):
        head, _, what = text.partition(".__init__() ")
        names = re.findall(r"'(\w+)'", what)
        if head != kind.__name__ or not names:
            continue
        prefix = "" if kind is Problem else f"{kind.__name__.lower()}."
        if "missing" in what:
            told = ", ".join(f"`{prefix}{name}`" for name in names)
            return f"{told} are missing: give them" if len(names) > 1 else f"{told} is missing: give it"
        if "unexpected keyword" in what:
            near = difflib.get_close_matches(names[0], [each.name for each in fields(kind)], n=1)
            mend = f"did you mean `{prefix}{near[0]}`?" if near else "leave it out"
            return f"`{prefix}{names[0]}` is no field: {mend}"
    return ""


@dataclass(frozen=True)
class Dropped:
    """What the folder ``AHD_PROBLEMS`` holds: problems by name, and what is wrong with other files."""

    problems: dict[str, Problem]
    broken: dict[Path, BrokenProblemFile]


def dropped() -> Dropped:
    """Load every file of the folder ``AHD_PROBLEMS`` but those with a leading underscore.

    Of two files with problems of one name, the second is broken; so is one with a name of an installed
    package.

    Raises:
        BrokenProblemFile: ``AHD_PROBLEMS`` names no folder.
    """
    found = Dropped({}, {})
    files = _files()
    added = installed.entries() if files else {}
    for file in files:
        try:
            problem = load_file(file)
            if problem.name in added:
                raise BrokenProblemFile(
                    f"{file}: `name` is {problem.name!r}, as in {installed.told(added[problem.name][0])}: "
                    "rename yours"
                )
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
    """Names of the problems of the package, of installed packages (which are not imported, and may be
    broken), and of the folder ``AHD_PROBLEMS``, sorted.

    Raises:
        BrokenProblemFile: a file of the folder cannot be used.
    """
    found = dropped()
    for error in found.broken.values():
        raise error
    return sorted({*packaged(), *installed.entries(), *found.problems})


def load(name: str, path: str | Path | None = None) -> Problem:
    """The problem called ``name``, from the file ``path``, the package, an installed one, or
    the folder ``AHD_PROBLEMS``.

    Of the folder, only what is wrong with the file of that name matters; its files are not even run
    for a problem that is found elsewhere.

    Raises:
        UnknownProblem: no problem has that name.
        BrokenProblemFile: ``path``, what an installed package has under that name, or the file of that name
            in the folder, cannot be used.
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
    added = installed.entries()
    if name in added:
        return installed.load_entry(name, added[name])
    extra = dropped()
    if name in extra.problems:
        return extra.problems[name]
    for file, error in extra.broken.items():
        if file.stem.replace("_", "-") == name:
            raise error
    every = sorted({*offered, *added, *extra.problems})
    near = _nearest(name.lower(), every)
    if here := _file_here(name):
        hint = f"for the one in {here} add --problem-path {here}"
    else:
        hint = f"did you mean {near}?" if near else "`ahd problems` lists them, or give --problem-path FILE"
    if extra.broken:
        hint += f" (broken: {', '.join(file.name for file in extra.broken)}; `ahd problems` says why)"
    raise UnknownProblem(f"unknown problem {name!r}: {hint}")


def _file_here(name: str) -> Path | None:
    """A file in the current folder that seems to define the problem ``name``."""
    if not re.fullmatch(r"[\w-]{1,100}", name):
        return None
    files = (Path(f"{stem}.py") for stem in (name, name.replace("-", "_")))
    return next((file for file in files if file.is_file()), None)


def _nearest(name: str, every: list[str]) -> str:
    """The one of ``every`` that was meant, as one or two slips or a part of it tell; nothing where none is
    near."""
    bare = name.replace("-", "")
    parts = [each for each in every if len(bare) > 2 and bare in each.replace("-", "")]
    near = parts if len(parts) == 1 else difflib.get_close_matches(name, every, n=1, cutoff=0.65)
    return near[0] if near else ""


def source(problem: Problem) -> str:
    """Where a problem is from: its file, the installed package that adds it, or ``package``."""
    if problem.origin or problem.name in packaged():
        return problem.origin or "package"
    found = installed.entries().get(problem.name)
    return installed.told(found[0]) if found else "package"


def thieves() -> list[str]:
    """What is wrong with entry points of installed packages that have names of the package's own problems."""
    own = set(packaged())
    return [installed.is_taken(found[0]) for name, found in installed.entries().items() if name in own]
