"""Checks a problem that comes from outside the package, field by field."""

import keyword
import math
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from evaluators.frames import clean, one_line
from evaluators.task import MAX_SECONDS, BrokenProblemFile
from problems.problem import Problem, Reference, Skeleton
from problems.skeletons import BrokenSkeleton, check_skeleton

NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
MAX_DECIMALS = 12
SEEDS = (0, 2**31 - 1)
"""Seeds that ``redraw`` is tried with: the least and the greatest it may be given."""


def check(problem: Problem, file: str) -> None:
    """Make sure that every field of ``problem``, from ``file``, is what ``Problem`` says it is.

    Raises:
        BrokenProblemFile: one is not; the message names the file, the field and the mend.
    """
    try:
        fault = next(_faults(problem), None)
    except (Exception, SystemExit) as error:
        raise BrokenProblemFile(f"{file}: `problem` cannot be read: {one_line(error)}; mend it") from error
    if fault is not None:
        field, mend = fault
        shown = clean(repr(getattr(problem, field)))
        shown = shown if len(shown) <= 80 else shown[:79] + "…"
        raise BrokenProblemFile(f"{file}: `{field}` is {shown}: {mend}")
    try:
        check_skeleton(problem.skeleton)
    except BrokenSkeleton as error:
        raise BrokenProblemFile(f"{file}: {error}") from None
    reference_of(problem, "train", problem.sizes["train"][0], file)


def check_instances(problem: Problem) -> None:
    """Make sure that a problem from a file has the same instances at every call, and that ``redraw`` gives
    others like those of training. One of the package is trusted: its tests have done that.

    Raises:
        BrokenProblemFile: it has not; the message names the file, the call and the mend.
    """
    if not problem.origin:
        return
    found = {
        (split, size): _instances(problem, split, size)
        for split, sizes in problem.sizes.items()
        for size in sizes
    }
    if problem.redraw is not None:
        _check_redraw(problem, problem.redraw, found["train", problem.sizes["train"][0]])


def _instances(problem: Problem, split: str, size: int) -> np.ndarray:
    """What ``instances`` gives, twice."""
    where = f"`instances({split!r}, {size})`"
    first, second = (_called(problem, where, problem.instances, split, size) for _ in range(2))
    if first.ndim == 0 or len(first) == 0:
        raise _broken(problem, f"{where} has shape {first.shape}: give an instance per row, and at least one")
    if not _alike(first, second):
        raise _broken(
            problem,
            f"{where} differs at a second call: seed the generator "
            "(np.random.default_rng([split number, size]))",
        )
    return first


def _check_redraw(
    problem: Problem, redraw: Callable[[int, str, int], np.ndarray], published: np.ndarray
) -> None:
    size = problem.sizes["train"][0]
    drawn: list[np.ndarray] = []
    for seed in SEEDS:
        where = f"`redraw({seed}, 'train', {size})`"
        first, second = (_called(problem, where, redraw, seed, "train", size) for _ in range(2))
        for what in ("shape", "dtype"):
            theirs, wanted = getattr(first, what), getattr(published, what)
            if theirs != wanted:
                raise _broken(
                    problem, f"{where} has {what} {theirs}, `instances` {wanted}: give the same, or no redraw"
                )
        if not _alike(first, second):
            raise _broken(problem, f"{where} differs at a second call: draw from its seed alone")
        if _alike(first, published):
            raise _broken(problem, f"{where} gives the published instances: give others, or no redraw")
        drawn.append(first)
    if _alike(*drawn):
        raise _broken(
            problem, f"`redraw` gives the same for the seeds {SEEDS[0]} and {SEEDS[1]}: use its seed"
        )


def _called(problem: Problem, where: str, function: Callable[..., np.ndarray], *given: object) -> np.ndarray:
    """A copy of what ``function`` gives: the file may go on with the array itself."""
    try:
        found: Any = function(*given)
        if isinstance(found, np.ndarray):
            return found.copy()
    except (Exception, SystemExit) as error:
        raise _broken(problem, f"{where} fails with {one_line(error)}; mend it") from error
    raise _broken(problem, f"{where} is a {type(found).__name__}: return a numpy array")


def _broken(problem: Problem, text: str) -> BrokenProblemFile:
    return BrokenProblemFile(f"{problem.origin}: {text}")


def _alike(one: object, other: object) -> bool:
    """Whether two arrays are equal to the last bit; those of objects, member by member, as they are told."""
    if not (isinstance(one, np.ndarray) and isinstance(other, np.ndarray)):
        return type(one) is type(other) and repr(one) == repr(other)
    if (one.shape, one.dtype) != (other.shape, other.dtype):
        return False
    if one.dtype.hasobject:
        return all(map(_alike, one.ravel(), other.ravel()))
    return one.tobytes() == other.tobytes()


def reference_of(problem: Problem, split: str, size: int, file: str = "") -> Reference | None:
    """What ``problem.reference`` gives.

    Raises:
        BrokenProblemFile: it raises, or gives neither None nor a ``Reference`` with a finite value.
    """
    where = f"{file or problem.origin or problem.name}: `reference({split!r}, {size})`"
    try:
        found: Any = problem.reference(split, size)
    except (Exception, SystemExit) as error:
        raise BrokenProblemFile(f"{where} fails with {one_line(error)}; return None instead") from error
    if found is None:
        return None
    if not isinstance(found, Reference):
        raise BrokenProblemFile(f"{where} is a {type(found).__name__}: return a Reference or None")
    if not (_is_finite(found.value) and _is_line(found.source)):
        raise BrokenProblemFile(f"{where}: give a finite value and a source of one printable line")
    return found


def _faults(problem: Problem) -> Iterator[tuple[str, str]]:
    """Fields that are not as they should be, and what they should be."""
    if not (isinstance(problem.name, str) and NAME.fullmatch(problem.name)):
        yield "name", "use lower-case letters and digits, words joined by single dashes"
    if not _is_line(problem.title):
        yield "title", "give one line of printable text"
    for field in ("description", "template"):
        if not _is_text(getattr(problem, field)):
            yield field, "give a text"
    if not _is_identifier(problem.function):
        yield "function", "give the name of a Python function"
    arguments: Any = problem.arguments
    if not (
        isinstance(arguments, tuple)
        and arguments
        and all(map(_is_identifier, arguments))
        and len(set(arguments)) == len(arguments)
    ):
        yield "arguments", 'give a tuple of different parameter names, such as ("weights", "values")'
    skeleton: Any = problem.skeleton
    if not (isinstance(skeleton, Skeleton) and _is_text(skeleton.prefix) and _is_text(skeleton.suffix)):
        yield "skeleton", "give a problems.problem.Skeleton whose prefix and suffix are texts"
    if not (isinstance(skeleton.hint, str) and isinstance(skeleton.lead, str)):
        yield "skeleton", "its hint and its lead have to be texts"
    heuristics: Any = problem.heuristics
    if not (
        isinstance(heuristics, Mapping)
        and heuristics
        and all(_is_line(name) and _is_text(source) for name, source in heuristics.items())
    ):
        yield "heuristics", "map at least one name, of one printable line, to its source"
    sizes: Any = problem.sizes
    if not (
        isinstance(sizes, Mapping)
        and set(sizes) == {"train", "val", "test"}
        and all(isinstance(each, tuple) and each and all(map(_is_count, each)) for each in sizes.values())
    ):
        yield "sizes", 'map each of "train", "val" and "test" to a tuple of positive integers'
    for field in ("instances", "run", "objective", "reference"):
        if not callable(getattr(problem, field)):
            yield field, "give a function"
    if not (_is_finite(problem.time_limit) and 0 < problem.time_limit <= MAX_SECONDS):
        yield "time_limit", f"give seconds, above 0 and at most {MAX_SECONDS:g}"
    for field in ("seeded", "apart"):
        if type(getattr(problem, field)) is not bool:
            yield field, "give True or False"
    if problem.apart is True and problem.compiled is not None:
        yield (
            "compiled",
            "leave it out, or leave apart out: a compiled loop is in one process with its candidate",
        )
    if not (type(problem.chunk) is int and problem.chunk >= 0):
        yield "chunk", "give a number of instances, 0 for all"
    for field in ("compiled", "redraw", "read"):
        if not (getattr(problem, field) is None or callable(getattr(problem, field))):
            yield field, "give a function, or None"
    if not (type(problem.decimals) is int and 0 <= problem.decimals <= MAX_DECIMALS):
        yield "decimals", f"give an integer from 0 to {MAX_DECIMALS}"


def _is_text(value: object) -> bool:
    """Text that can be encoded and is not blank."""
    if not isinstance(value, str):
        return False
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return bool(value.strip())


def _is_line(value: object) -> bool:
    return isinstance(value, str) and value.isprintable() and bool(value.strip())


def _is_identifier(value: object) -> bool:
    return isinstance(value, str) and value.isidentifier() and not keyword.iskeyword(value)


def _is_count(value: object) -> bool:
    return type(value) is int and value > 0


def _is_finite(value: object) -> bool:
    try:
        return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    except OverflowError:
        return False
