"""Scores of candidates over several seeds of a seeded problem's solver: mean and standard error."""

import math
import statistics
from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass, replace

from ahd.config import ConfigError
from ahd.instances import file_of
from evaluators.judge import fault
from evaluators.outcome import Outcome, SandboxError
from evaluators.sandbox import MEMORY_MB, Sandbox
from evaluators.task import MAX_SECONDS
from problems.problem import Problem

FRESH = 1_000_000
"""First seed of a fresh evaluation: far from those a search uses."""
STRIDE = 100_000
"""Distance of fresh seeds: above the number of instances, each of which takes one."""


@dataclass(frozen=True)
class Score:
    """How a candidate did. ``outcome`` has the mean objective and the seconds of all evaluations, or the
    first failure; ``error`` is the standard error of the mean over ``seeds``, None with fewer than two."""

    outcome: Outcome
    error: float | None
    seeds: tuple[int, ...]


def check_limits(timeout: float | None, memory_mb: int) -> None:
    """Refuse CPU seconds (None or 0: the problem's own) and memory that no candidate can be given.

    Raises:
        ConfigError: one is out of range.
    """
    if timeout is not None and not 0 <= timeout <= MAX_SECONDS:
        raise ConfigError(
            f"--timeout {timeout:g}: needs seconds from 0 (the problem's own) to {MAX_SECONDS:g}"
        )
    least, most = MEMORY_MB
    if not least <= memory_mb <= most:
        raise ConfigError(f"--memory-mb {memory_mb}: needs a value from {least} to {most}")


def failed_itself(problem: Problem, name: str, outcome: Outcome) -> ConfigError:
    """The error for a problem whose own heuristic ``name`` fails, naming its file where it has one."""
    return ConfigError(str(fault(problem, f"its own heuristic `{name}` failed: {outcome.detail}")))


def not_scored(problem: Problem, error: SandboxError) -> ConfigError:
    """The error for an evaluation that was not possible: for a fault of the problem its file, where it has
    one, else where to learn more."""
    text, head, file = str(error), f"problem {problem.name}", file_of(problem)
    if not (file and text.startswith(head)):
        return ConfigError(f"{text}; `ahd doctor` says more")
    named = f"{head} ({file})"
    return ConfigError(text if text.startswith(named) else named + text.removeprefix(head))


def fresh_seeds(count: int) -> tuple[int, ...]:
    """``count`` seeds that no search uses, the same ones each time."""
    return tuple(FRESH + STRIDE * k for k in range(count))


@dataclass(frozen=True)
class Pending:
    """Evaluations of one candidate that are under way, one per seed."""

    futures: tuple["Future[Outcome]", ...]
    seeds: tuple[int, ...]

    def result(self) -> Score:
        """Wait for all.

        Raises:
            SandboxError: the problem or the sandbox does not work.
        """
        return combined([future.result() for future in self.futures], self.seeds)


def submit(
    sandbox: Sandbox,
    source: str,
    split: str = "train",
    size: int | None = None,
    time_limit: float | None = None,
    seeds: Sequence[int] = (0,),
) -> Pending:
    """Evaluate ``source`` under each of the ``seeds``; a problem without a seed is evaluated once.

    Raises:
        ValueError, SandboxError: see ``Sandbox.submit``.
    """
    used = tuple(seeds) if sandbox.problem.seeded else (0,)
    futures = [sandbox.submit(source, split, size, time_limit, seed=seed) for seed in used]
    return Pending(tuple(futures), used)


def combined(outcomes: Sequence[Outcome], seeds: Sequence[int]) -> Score:
    """The mean over the outcomes, in the order of the seeds; the first failure instead, if there is one."""
    seconds = sum(outcome.seconds for outcome in outcomes)
    values = [outcome.objective for outcome in outcomes if outcome.objective is not None]
    if len(values) < len(outcomes):
        failure = next(outcome for outcome in outcomes if outcome.objective is None)
        return Score(replace(failure, seconds=seconds), None, tuple(seeds))
    error = statistics.stdev(values) / math.sqrt(len(values)) if len(values) > 1 else None
    mean = values[0] if len(values) == 1 else statistics.fmean(values)
    return Score(replace(outcomes[0], objective=mean, seconds=seconds), error, tuple(seeds))
