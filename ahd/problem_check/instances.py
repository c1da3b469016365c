"""Instances: there, the same at every call, and safe from whoever gets them."""

import hashlib
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ahd.problem_check.finding import Finding, failed, ok, warning
from evaluators.frames import one_line
from problems.problem import Problem

SEEDS = (7, 2**31 - 1)
"""Seeds of instances that are drawn afresh."""


def digest(array: np.ndarray) -> str:
    """A hash of dtype, shape and numbers."""
    head = f"{array.dtype.str} {array.shape} ".encode()
    return hashlib.sha256(head + np.ascontiguousarray(array).tobytes()).hexdigest()


def check_instances(problem: Problem) -> Iterator[Finding]:
    """Every split and size, then other ones, then fresh ones."""
    found: dict[str, list[str]] = {}
    for split, sizes in problem.sizes.items():
        for size in sizes:
            what, array = f"instances {split} {size}", _given(problem.instances, split, size)
            if not isinstance(array, np.ndarray):
                yield failed(what, array, "return one array of numbers, first axis = instance")
                continue
            found.setdefault(digest(array), []).append(f"{split} {size}")
            yield _same_and_safe(problem, what, split, size, array)
    for names in found.values():
        if len(names) > 1:
            mend = "draw each split with a seed of its own"
            yield warning("splits differ", f"{' and '.join(names)} are the same instances", mend)
    yield _others_refused(problem)
    yield from _redraw(problem)


def _given(call: Callable[..., Any], *arguments: Any) -> np.ndarray | str:
    """The array that ``call`` returns, or what is wrong with it."""
    try:
        array = call(*arguments)
    except (Exception, SystemExit) as error:
        return f"fails with {one_line(error)}"
    if not isinstance(array, np.ndarray):
        return f"is a {type(array).__name__}"
    if array.dtype.kind not in "iufb" or array.ndim < 1 or not array.size:
        return f"is an array of {array.dtype} with shape {array.shape}"
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        return "holds numbers that are not finite"
    return array


def _same_and_safe(problem: Problem, what: str, split: str, size: int, array: np.ndarray) -> Finding:
    first = array.copy()
    if not _is(_given(problem.instances, split, size), first):
        return failed(what, "differ at a second call", "make a generator from a fixed seed in `instances`")
    shape = f"{array.dtype} {array.shape}"
    if not array.flags.writeable:
        return ok(what, f"{shape}, read-only, the same again")
    array[...] = 0
    safe = _is(_given(problem.instances, split, size), first)
    array[...] = first
    if not safe:
        mend = "return a copy, or make the array read-only with `array.flags.writeable = False`"
        return failed(what, "whoever gets the array can change it for all others", mend)
    return ok(what, f"{shape}, a copy, the same again")


def _is(array: np.ndarray | str, other: np.ndarray) -> bool:
    return isinstance(array, np.ndarray) and digest(array) == digest(other)


def _others_refused(problem: Problem) -> Finding:
    what, size = "other sizes", max(problem.sizes["train"]) + 1
    mend = "raise ValueError for splits and sizes that `sizes` does not list"
    try:
        problem.instances("train", size)
    except ValueError:
        return ok(what, "raise ValueError")
    except (Exception, SystemExit) as error:
        return failed(what, f"size {size} raises {one_line(error)}", mend)
    return failed(what, f"size {size} gives instances", mend)


def _redraw(problem: Problem) -> Iterator[Finding]:
    what = "redraw"
    if problem.redraw is None:
        mend = "give `redraw(seed, split, size)`, if other instances of the kind can be drawn"
        yield warning(what, "none: the best heuristic is not compared on fresh instances", mend)
        return
    size = problem.sizes["train"][0]
    published = problem.instances("train", size)
    drawn = [_given(problem.redraw, seed, "train", size) for seed in SEEDS]
    for seed, array in zip(SEEDS, drawn, strict=True):
        if isinstance(array, str):
            yield failed(what, f"with seed {seed} {array}", "return an array as `instances` does")
            return
    arrays = [array for array in drawn if isinstance(array, np.ndarray)]
    faults = [
        (
            any((array.shape, array.dtype) != (published.shape, published.dtype) for array in arrays),
            f"gives {arrays[0].dtype} {arrays[0].shape}, not {published.dtype} {published.shape}",
            "return the same shape and dtype",
        ),
        (
            not _is(_given(problem.redraw, SEEDS[0], "train", size), arrays[0]),
            "differs at a second call with the same seed",
            "make a generator from the seed inside `redraw`",
        ),
        (
            len({digest(array) for array in [published, *arrays]}) < 1 + len(SEEDS),
            "gives the published instances, or the same for two seeds",
            "draw from the seed",
        ),
    ]
    for wrong, told, mend in faults:
        if wrong:
            yield failed(what, told, mend)
            return
    yield ok(what, f"{published.dtype} {published.shape}, others for each seed, the same for one")
