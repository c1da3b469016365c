"""Typed results of evaluating one candidate."""

from dataclasses import dataclass
from enum import StrEnum


class Status(StrEnum):
    """What became of a candidate. Only an ``OK`` candidate has an objective."""

    OK = "ok"
    SYNTAX_ERROR = "syntax_error"
    NO_FUNCTION = "no_function"
    BAD_SIGNATURE = "bad_signature"
    RUNTIME_ERROR = "runtime_error"
    TIMEOUT = "timeout"
    MEMORY = "memory"
    FORBIDDEN = "forbidden"
    INVALID_SOLUTION = "invalid_solution"
    NONFINITE = "nonfinite"
    CRASHED = "crashed"


@dataclass(frozen=True)
class Outcome:
    """The result of one evaluation.

    ``objective`` is minimised and is set exactly when ``status`` is ``OK``; ``detail`` is a short,
    printable reason for anything else; ``seconds`` is the wall time of the evaluation. ``path`` says
    how the candidate ran: ``interpreted``, ``compiled``, or empty when that is not known. ``behaviour`` is
    a digest of what it decided on the instances of a probe, if there was one; an ``OK`` candidate with
    a ``detail`` was known by it, and has the objective of the one it is known from.

    Raises:
        ValueError: if the objective and the status contradict each other.
    """

    status: Status
    objective: float | None = None
    detail: str = ""
    seconds: float = 0.0
    path: str = ""
    behaviour: str = ""

    def __post_init__(self) -> None:
        if (self.status is Status.OK) != (self.objective is not None):
            raise ValueError(f"a candidate has an objective exactly when it is ok, not {self}")

    @property
    def ok(self) -> bool:
        return self.status is Status.OK


class InvalidSolution(Exception):
    """Raised by a verifier: the decisions break the rules of the problem. The message says how."""


class NonFinite(Exception):
    """Raised by a verifier or a solver: a number that has to be finite is not."""


class SandboxError(RuntimeError):
    """The sandbox or the problem does not work; no candidate is to blame. The message is one line."""
