"""From the rewards of a batch's proposals to the weights of its directions."""

import math
from collections.abc import Sequence

from ahd.config import Shaping
from ahd.es.moments import mean_and_spread

EPSILON = 1e-8


def direction_weights(
    shaping: Shaping, rewards: Sequence[float], valid: Sequence[bool], per_direction: int = 1
) -> list[float]:
    """One weight per direction. ``rewards`` and ``valid`` have one entry per proposal, in the order of the
    slots; each ``per_direction`` proposals in a row share a direction, the last perhaps with fewer.

    The reward of a direction is the mean over its proposals; with ``Shaping.VALID`` over its valid ones,
    and a direction without any weighs exactly 0.

    Raises:
        ValueError: if a reward is not finite.
    """
    groups = [
        list(zip(rewards[start : start + per_direction], valid[start : start + per_direction], strict=True))
        for start in range(0, len(rewards), per_direction)
    ]
    if shaping is Shaping.VALID:
        means = [_mean([reward for reward, ok in group if ok]) for group in groups]
        scores = iter(z_scores([mean for mean in means if mean is not None]))
        return [0.0 if mean is None else next(scores) for mean in means]
    means = [_mean([reward for reward, _ in group]) for group in groups]
    shape = centred_ranks if shaping is Shaping.RANKS else z_scores
    return shape([mean for mean in means if mean is not None])


def z_scores(rewards: Sequence[float]) -> list[float]:
    """``(r - mean) / (std + 1e-8)`` with the population standard deviation (arXiv 2608.17310).

    Equal rewards give exact zeros, so that a batch without information moves nothing.

    Raises:
        ValueError: if a reward is not finite.
    """
    _check_finite(rewards)
    if not rewards or min(rewards) == max(rewards):
        return [0.0] * len(rewards)
    mean, spread = mean_and_spread(rewards)
    return [(reward - mean) / (spread + EPSILON) for reward in rewards]


def centred_ranks(rewards: Sequence[float]) -> list[float]:
    """Ranks scaled to -0.5 for the least and 0.5 for the largest reward; equal rewards share the mean of
    their ranks, so that all equal gives exact zeros.

    Raises:
        ValueError: if a reward is not finite.
    """
    _check_finite(rewards)
    if len(rewards) < 2:
        return [0.0] * len(rewards)
    below = [sum(other < reward for other in rewards) for reward in rewards]
    equal = [sum(other == reward for other in rewards) for reward in rewards]
    last = len(rewards) - 1
    return [(less + 0.5 * (same - 1)) / last - 0.5 for less, same in zip(below, equal, strict=True)]


def _mean(rewards: Sequence[float]) -> float | None:
    return mean_and_spread(rewards)[0] if rewards else None


def _check_finite(rewards: Sequence[float]) -> None:
    if not all(map(math.isfinite, rewards)):
        raise ValueError("rewards have to be finite")
