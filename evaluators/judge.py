"""The trusted side of an evaluation: a worker's answer becomes a typed outcome and an objective."""

import json
import math
import numbers
import signal

import numpy as np

from evaluators import frames
from evaluators.outcome import InvalidSolution, NonFinite, SandboxError, Status
from evaluators.task import Task


def fault(problem: Task, what: str) -> SandboxError:
    """The error for a defect of the problem, naming its file where it has one."""
    return SandboxError(f"problem {problem.name}{f' ({problem.origin})' * bool(problem.origin)}: {what}")


def decided(problem: Task, answer: bytes) -> np.ndarray | tuple[Status, str]:
    """The decisions in a worker's answer, not yet verified; or how the candidate failed, and why.

    Raises:
        SandboxError: the candidate could not be run, or the answer is none.
    """
    line, _, frame = answer.partition(b"\n")
    try:
        ending = json.loads(line)
        how, code, text = str(ending["how"]), int(ending["code"]), frames.clean(str(ending["text"]))
    except (ValueError, TypeError, KeyError, OverflowError, RecursionError):
        raise SandboxError("the answer of the sandbox worker cannot be read") from None
    if how == "fault":
        raise fault(problem, text)
    if how in ("timeout", "starved"):
        return Status.TIMEOUT, text
    if how == "exit":
        return Status.CRASHED, f"left the process with exit code {code}"
    if how == "signal" and code == signal.SIGSYS:
        return Status.FORBIDDEN, "made a system call that ends its process"
    if how == "signal":
        try:
            name = signal.Signals(code).name
        except ValueError:
            name = str(code)
        return Status.CRASHED, f"was killed by {name}"
    if how != "frame":
        return Status.CRASHED, text
    try:
        return frames.decode(frame)
    except frames.BadFrame as error:
        return Status.CRASHED, str(error)


def judge(
    problem: Task, instances: np.ndarray, answer: bytes, seed: int = 0
) -> tuple[Status, str, float | None]:
    """Turn a worker's answer into an outcome; the objective comes from the decisions alone.

    ``seed`` is that of the solver of a seeded problem.

    Raises:
        SandboxError: the candidate could not be run, the answer is none, or the verifier fails: it raised
            something else than ``InvalidSolution`` or ``NonFinite``, or returned no number.
    """
    result = decided(problem, answer)
    if isinstance(result, tuple):
        return *result, None
    try:
        value = problem.objective(instances, result, *([seed] if problem.seeded else []))
    except InvalidSolution as error:
        return Status.INVALID_SOLUTION, frames.clean(str(error)), None
    except NonFinite as error:
        return Status.NONFINITE, frames.clean(str(error)), None
    except BaseException as error:
        raise fault(problem, f"its objective fails with {frames.one_line(error)}") from error
    return _finite(problem, value)


def _finite(problem: Task, value: object) -> tuple[Status, str, float | None]:
    """The outcome for what a verifier returned."""
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = value[()]
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise fault(problem, f"its objective returns {type(value).__name__}, not a number")
    try:
        objective = float(value)
    except OverflowError:
        objective = math.inf
    if not math.isfinite(objective):
        return Status.NONFINITE, f"the objective is {objective}", None
    return Status.OK, "", objective
