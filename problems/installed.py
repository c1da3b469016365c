"""Problems that installed packages add, through the entry point group ``ahd.problems``.

The name of an entry point is the problem's; its value is the module that defines ``problem``. Nothing of it
is imported before the problem is asked for. A worker imports the module again, by its name: the origin is
empty."""

from importlib import metadata

from evaluators.frames import clean, one_line
from evaluators.task import BrokenProblemFile
from problems.check import NAME, check
from problems.problem import Problem

GROUP = "ahd.problems"


def entries() -> dict[str, list[metadata.EntryPoint]]:
    """The entry points by name, sorted. More than one of a name: several packages want it."""
    found: dict[str, list[metadata.EntryPoint]] = {}
    for entry in sorted(metadata.entry_points(group=GROUP), key=lambda each: (each.name, told(each))):
        if not any(told(entry) == told(other) for other in found.get(entry.name, ())):
            found.setdefault(entry.name, []).append(entry)
    return found


def told(entry: metadata.EntryPoint) -> str:
    """Where a problem is from, for people: package, version and module."""
    dist = entry.dist
    package = f"{dist.name} {dist.version}" if dist else "an unknown package"
    return clean(f"{package} ({entry.value})")


def is_taken(entry: metadata.EntryPoint) -> str:
    """What is wrong with an entry point that has the name of one of the package's own problems."""
    where = f"{told(entry)}: entry point {clean(entry.name)}"
    return f"{where}: that is a problem of ahd itself: rename the entry point and the problem"


def load_entry(name: str, found: list[metadata.EntryPoint]) -> Problem:
    """The problem of the entry points ``found`` under ``name``.

    Raises:
        BrokenProblemFile: the name is wanted twice or not well formed, the module fails, or it defines
            no ``Problem`` of that name that is as it should be.
    """
    first = found[0]
    where = f"{told(first)}: entry point {clean(name)}"
    if len(found) > 1:
        raise BrokenProblemFile(f"{where}: {told(found[1])} has that name too: uninstall one of them")
    if not NAME.fullmatch(name):
        raise BrokenProblemFile(
            f"{where}: name it by lower-case letters and digits, words joined by single dashes"
        )
    try:
        problem = first.load()
        if not isinstance(problem, Problem):
            problem = problem.problem
    except BaseException as error:  # sys.exit too, as in a problem file
        if isinstance(error, KeyboardInterrupt):
            raise
        raise BrokenProblemFile(f"{where}: fails with {one_line(error)}; mend or uninstall it") from error
    if not isinstance(problem, Problem):
        raise BrokenProblemFile(
            f"{where}: `problem` is a {type(problem).__name__}; make it a problems.problem.Problem"
        )
    check(problem, where)
    if problem.name != name:
        raise BrokenProblemFile(f"{where}: `name` is {problem.name!r}: give both the same name")
    return problem
