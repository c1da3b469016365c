"""What a worker process is asked for: one candidate on some instances."""

from collections.abc import Iterator
from concurrent.futures import Future
from dataclasses import dataclass, replace

import numpy as np

from evaluators.outcome import Outcome
from evaluators.probe import Probe

LEAST_LIMIT = 1.0
"""CPU seconds that a process with few of the instances gets at least, where the whole limit allows."""


@dataclass(frozen=True)
class Job:
    """``limit`` is in CPU seconds; ``seed`` is that of the solver of a seeded problem."""

    source: str
    split: str
    size: int
    limit: float
    instances: np.ndarray
    seed: int
    future: "Future[Outcome]"
    first: int = 0
    """Number of the first of ``instances`` among those of the split and size."""
    probe: Probe | None = None

    def parts(self, most: int) -> "Iterator[Job]":
        """The job for at most ``most`` instances at a time (0: all)."""
        count = len(self.instances)
        step = most if 0 < most < count else count
        for first in range(0, count, step):
            instances = self.instances[first : first + step]
            share = max(self.limit * len(instances) / count, min(LEAST_LIMIT, self.limit))
            yield replace(self, limit=share, instances=instances, seed=self.seed + first, first=first)
