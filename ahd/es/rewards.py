"""Rewards of a batch and their normalisation (arXiv 2608.17310). Objectives are minimised."""

import math
import statistics
from collections.abc import Sequence

EPSILON = 1e-8


def evolution_reward(child: float | None, parent: float, worst: float) -> float:
    """Reward of one offspring in evolution mode.

    ``r = P - C`` when the child is valid and no worse than the population's worst finite objective
    W, else ``r = max(P - W, -1)``. ``child`` is None for an invalid candidate.
    """
    if child is not None and child <= worst:
        return parent - child
    return max(parent - worst, -1.0)


def sampling_rewards(objectives: Sequence[float | None]) -> list[float] | None:
    """Rewards of a batch of independent samples.

    ``r = -C`` for a valid one; an invalid one gets ``min - std`` over the valid rewards (population
    standard deviation), with the spread replaced by ``1% of |mean|`` when it is nearly zero, and by
    1 when that is nearly zero too. None when nothing in the batch is valid: no update is made.
    """
    valid = [-objective for objective in objectives if objective is not None]
    if not valid:
        return None
    spread = statistics.pstdev(valid)
    if spread < EPSILON:
        spread = 0.01 * abs(statistics.fmean(valid))
    if spread < EPSILON:
        spread = 1.0
    invalid = min(valid) - spread
    return [invalid if objective is None else -objective for objective in objectives]


def z_scores(rewards: Sequence[float]) -> list[float]:
    """``(r - mean) / (std + 1e-8)`` with the population standard deviation.

    Equal rewards give exact zeros, so that a batch without information moves nothing.

    Raises:
        ValueError: if a reward is not finite.
    """
    if not all(math.isfinite(reward) for reward in rewards):
        raise ValueError("rewards have to be finite")
    if not rewards or min(rewards) == max(rewards):
        return [0.0] * len(rewards)
    mean = statistics.fmean(rewards)
    spread = statistics.pstdev(rewards) + EPSILON
    return [(reward - mean) / spread for reward in rewards]
