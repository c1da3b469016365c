"""What a heuristic gains on the training instances it has to gain on others of the same kind; and it may
fail on none of them."""

import math
import statistics
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from types import TracebackType
from typing import Self

import numpy as np

from ahd.config import RunConfig
from ahd.instances import SPLIT, with_instances
from ahd.population import Individual
from ahd.seeds import derive
from evaluators.frames import one_line
from evaluators.judge import fault
from evaluators.layers import Mode
from evaluators.outcome import Outcome, Status
from evaluators.sandbox import Sandbox
from evaluators.task import MAX_SECONDS
from problems.problem import Problem

DRAWS = 16
"""Fresh training sets that a heuristic is compared on."""
CRITICAL = 6.109
"""What Student's t with ``DRAWS - 1`` = 15 degrees of freedom exceeds with probability 1e-5 (6.10887)."""
LEAST_PAIRS = DRAWS // 2
"""Fresh sets that the simplest heuristic may not fail on, else nothing is compared."""
LEAST_SPREAD = 0.01
"""Least standard deviation taken for gains, as a share of the objective of a single instance. Times
``CRITICAL`` it is 6%: what one instance that goes so much better makes of the mean is never held against a
heuristic, even where it does exactly as the simplest on all fresh sets."""
LARGEST = 1e150
"""Beyond it the squares of objectives overflow."""
PATIENCE = 2.0
"""Times the limit on the training instances: one that just keeps it has to keep it here too."""
LINES = 2
"""Heuristics of which that is said: the simplest and the best; others take as long."""
SLOW = 2.0
"""Seconds of all evaluations of a heuristic from which the user is told that this takes a while."""


@dataclass(frozen=True)
class Gains:
    """By how much objectives are below those of the simplest heuristic, in their units: on the training
    instances and on each fresh set. ``least_spread`` is the least standard deviation taken for ``fresh``."""

    trained: float
    fresh: tuple[float, ...]
    least_spread: float

    @property
    def t(self) -> float:
        """How far ``trained`` is above what ``fresh`` predict, in standard errors of the prediction.

        (x - mean) / (s sqrt(1 + 1/n)) has Student's t distribution with n - 1 degrees of freedom where x and
        the n fresh gains, of standard deviation s, are drawn from one normal distribution.
        """
        excess = self.trained - statistics.fmean(self.fresh)
        error = max(statistics.stdev(self.fresh), self.least_spread) * math.sqrt(1 + 1 / len(self.fresh))
        if error == 0:
            return math.copysign(math.inf, excess) if excess else 0.0
        return excess / error

    def fault(self, simplest: str) -> str:
        """Why the heuristic is not as good as on the training instances; empty: it is, by all one can say."""
        if self.t <= CRITICAL:
            return ""
        mean, spread = statistics.fmean(self.fresh), statistics.stdev(self.fresh)
        return (
            f"it is {self.trained:.4g} better than `{simplest}` on the training instances but "
            f"{mean:.4g} ± {spread:.2g} on {len(self.fresh)} fresh sets: it fits those instances only"
        )


class CarryOver:
    """Compares heuristics with the problem's simplest on training sets drawn afresh, in a sandbox of its own.

    The sets, and the seeds of a seeded problem's solver, follow from the run's seed. The sandbox starts with
    the first question; there is none for a problem without ``redraw``. A context manager.
    """

    def __init__(
        self,
        problem: Problem,
        config: RunConfig,
        tell: Callable[[str], None],
        check_stop: Callable[[], None] = lambda: None,
    ) -> None:
        self._problem = problem
        self._config = config
        self._tell = tell
        self._check_stop = check_stop
        self._seeds = tuple(derive(config.seed, "fresh", number) for number in range(DRAWS))
        self._sandbox: Sandbox | None = None
        self._simplest: tuple[float, dict[int, float]] | None = None
        self._found: dict[str, dict[int, Outcome]] = {}
        self._told = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._sandbox is not None:
            self._sandbox.close()

    def fault(self, best: Individual) -> str:
        """Why ``best`` is worth less than its objective says; empty: it is not, or there is no telling.

        Raises:
            SandboxError: the problem or the sandbox does not work.
            KeyboardInterrupt: the run is to stop.
        """
        told = self._told
        found = self.gains(best)
        if isinstance(found, Outcome):
            return f"it fails on instances drawn afresh: {found.status.value}: {found.detail}"
        wrong = found.fault(self._problem.simplest[0]) if found else ""
        if found and not wrong and self._told > told:
            self._tell(f"proposal {best.proposal} holds there")
        return wrong

    def gains(self, best: Individual) -> Gains | Outcome | None:
        """The gains of ``best`` on the fresh sets that the simplest does not fail on, or how it fails on one.

        None where there is nothing to compare: there are no fresh sets, ``best`` is the problem's own, the
        simplest heuristic fails, or objectives are too large to be compared.

        Raises:
            SandboxError, KeyboardInterrupt: see ``fault``.
        """
        if self._problem.redraw is None or best.proposal is None:
            return None
        if self._sandbox is None:
            self._sandbox = self._start(self._problem.redraw)
            self._simplest = self._of_simplest(self._sandbox)
        if self._simplest is None:
            return None
        trained, fresh = self._simplest
        found = self._on_fresh(self._sandbox, best.code, f"proposal {best.proposal}", list(fresh))
        self._found[best.code] = found
        failed = [outcome for outcome in found.values() if not outcome.ok]
        if failed:
            return failed[0]
        ours = _objectives(found)
        values = [trained, best.objective, *fresh.values(), *ours.values()]
        if len(fresh) < LEAST_PAIRS or max(map(abs, values)) > LARGEST:
            return None
        size = statistics.fmean(map(abs, fresh.values())) / self._count
        gained = tuple(fresh[number] - objective for number, objective in ours.items())
        return Gains(trained - best.objective, gained, LEAST_SPREAD * size)

    def fresh(self, best: Individual) -> float | None:
        """The mean objective of ``best`` on the fresh sets that the simplest does not fail on; None where
        there is none, or it fails.

        Raises:
            SandboxError, KeyboardInterrupt: see ``fault``.
        """
        if best.code not in self._found:
            self.gains(best)
        found = self._found.get(best.code, {})
        values = _objectives(found).values()
        return statistics.fmean(values) if found and len(values) == len(found) else None

    @property
    def _count(self) -> int:
        return len(self._problem.instances("train", self._problem.sizes["train"][0]))

    def _start(self, redraw: Callable[[int, str, int], np.ndarray]) -> Sandbox:
        size = self._problem.sizes["train"][0]
        try:
            arrays = [redraw(seed, "train", size) for seed in self._seeds]
        except (Exception, SystemExit) as error:
            raise fault(self._problem, f"its redraw fails with {one_line(error)}") from error
        return Sandbox(
            with_instances(self._problem, arrays),
            workers=self._config.workers,
            memory_mb=self._config.memory_mb,
            time_limit=self._config.timeout or None,
            mode=Mode(self._config.sandbox),
        )

    def _of_simplest(self, sandbox: Sandbox) -> tuple[float, dict[int, float]] | None:
        """Its objective on the training set, and those on the fresh sets that it does not fail on, by their
        numbers; None where it fails on the training set."""
        name, code = self._problem.simplest
        trained = sandbox.submit(code).result().objective
        if trained is None:
            return None
        found = self._on_fresh(sandbox, code, f"`{name}`", range(1, DRAWS + 1), may_fail=True)
        return trained, _objectives(found)

    def _on_fresh(
        self, sandbox: Sandbox, code: str, name: str, numbers: Sequence[int], may_fail: bool = False
    ) -> dict[int, Outcome]:
        """What becomes of a heuristic on the fresh sets of these numbers, up to the first that it fails on
        unless it ``may_fail``. What fails, but not for its time, is tried again: that may be the machine's
        fault."""

        def submit(number: int) -> "Future[Outcome]":
            limit = min(PATIENCE * sandbox.time_limit, MAX_SECONDS)
            return sandbox.submit(code, SPLIT, number, limit, self._seeds[number - 1])

        futures = {number: submit(number) for number in numbers}
        found: dict[int, Outcome] = {}
        for number, future in futures.items():
            outcome = future.result()
            self._check_stop()
            if not outcome.ok and outcome.status is not Status.TIMEOUT:
                outcome = submit(number).result()
            seconds = outcome.seconds * math.ceil(len(futures) / self._config.workers)
            if not found and seconds > SLOW and self._told < LINES:
                self._told += 1
                self._tell(
                    f"{name} is evaluated on {len(futures)} fresh training sets: about {seconds:.0f} s"
                )
            found[number] = outcome
            if not outcome.ok and not may_fail:
                for other in futures.values():
                    other.cancel()
                break
        return found


def _objectives(found: Mapping[int, Outcome]) -> dict[int, float]:
    """Of the valid ones, by their numbers."""
    return {number: outcome.objective for number, outcome in found.items() if outcome.objective is not None}
