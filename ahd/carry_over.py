"""What a heuristic gains on the training instances it has to gain on others of the same kind."""

import math
import statistics
from collections.abc import Callable
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
LEAST_SPREAD = 0.01
"""Least standard deviation taken for gains, as a share of the objective of a single instance. Times
``CRITICAL`` it is 6%: what one instance that goes so much better makes of the mean is never held against a
heuristic, even where it does exactly as the simplest on all fresh sets."""
MOST_FAILED = DRAWS // 2
"""Fresh sets on which a heuristic may fail. One that fails now and then, as on ties, is no worse than its
objective elsewhere says."""
LARGEST = 1e150
"""Beyond it the squares of objectives overflow."""
PATIENCE = 2.0
"""Times the limit on the training instances: one that just keeps it has to keep it here too."""
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
        self._simplest: tuple[float, list[Outcome]] | None = None

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
        found = self.gains(best)
        if isinstance(found, Outcome):
            most = f"more than {MOST_FAILED} of {DRAWS} fresh sets"
            return f"it fails on {most}: {found.status.value}: {found.detail}"
        return found.fault(self._problem.simplest[0]) if found else ""

    def gains(self, best: Individual) -> Gains | Outcome | None:
        """The gains of ``best`` on the fresh sets that it and the simplest do not fail on, or how it fails on
        more than ``MOST_FAILED`` of them.

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
        found = self._on_fresh(self._sandbox, best.code, f"proposal {best.proposal}")
        failed = [outcome for outcome in found if not outcome.ok]
        if len(failed) > MOST_FAILED:
            return failed[0]
        trained, fresh = self._simplest
        pairs = [
            (theirs.objective, ours.objective)
            for theirs, ours in zip(fresh, found, strict=True)
            if theirs.objective is not None and ours.objective is not None
        ]
        values = [trained, best.objective, *(value for pair in pairs for value in pair)]
        if len(pairs) < DRAWS - MOST_FAILED or max(map(abs, values)) > LARGEST:
            return None
        size = statistics.fmean(abs(theirs) for theirs, _ in pairs) / self._count
        gained = tuple(theirs - ours for theirs, ours in pairs)
        return Gains(trained - best.objective, gained, LEAST_SPREAD * size)

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

    def _of_simplest(self, sandbox: Sandbox) -> tuple[float, list[Outcome]] | None:
        """Its objective on the training set, and what becomes of it on the fresh ones; None where it fails on
        the first."""
        name, code = self._problem.simplest
        trained = sandbox.submit(code).result().objective
        return None if trained is None else (trained, self._on_fresh(sandbox, code, f"`{name}`"))

    def _on_fresh(self, sandbox: Sandbox, code: str, name: str) -> list[Outcome]:
        """What becomes of a heuristic on the fresh sets, in their order. Once it has failed on more than
        ``MOST_FAILED``, it is taken to fail on all that follow. What fails, but not for its time, is tried
        again: that may be the machine's fault."""

        def submit(number: int) -> "Future[Outcome]":
            limit = min(PATIENCE * sandbox.time_limit, MAX_SECONDS)
            return sandbox.submit(code, SPLIT, number, limit, self._seeds[number - 1])

        futures = [submit(number) for number in range(1, DRAWS + 1)]
        found: list[Outcome] = []
        for number, future in enumerate(futures, 1):
            outcome = future.result()
            self._check_stop()
            if not outcome.ok and outcome.status is not Status.TIMEOUT:
                outcome = submit(number).result()
            seconds = outcome.seconds * math.ceil(DRAWS / self._config.workers)
            if not found and seconds > SLOW:
                self._tell(f"{name} is evaluated on {DRAWS} fresh training sets: about {seconds:.0f} s")
            found.append(outcome)
            if sum(not each.ok for each in found) > MOST_FAILED:
                for other in futures[number:]:
                    other.cancel()
                return found + [outcome] * (DRAWS - number)
        return found
