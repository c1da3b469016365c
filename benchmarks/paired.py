"""Statistics over seeds: means with t intervals, paired differences, and how many seeds a test needs."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import stats

from ahd.compare.power import LEVEL, POWER, power, seeds_needed

__all__ = ["POWER", "Difference", "Estimate", "difference", "estimate", "power", "seeds_needed", "slope"]


@dataclass(frozen=True)
class Estimate:
    """A mean over ``count`` seeds and its 95% t interval, which is ``nan`` for a single seed."""

    mean: float
    low: float
    high: float
    count: int


@dataclass(frozen=True)
class Difference:
    """A mean of paired differences, and what a two-sided paired t-test says of it.

    ``effect`` is Cohen's d of the differences (mean over standard deviation), ``seeds`` how many pairs
    show an effect of this size with a power of 80%. ``p`` and ``effect`` are ``nan`` and ``seeds`` is
    None where the differences do not vary.
    """

    estimate: Estimate
    p: float
    effect: float
    seeds: int | None


def estimate(values: Sequence[float]) -> Estimate:
    """Mean and t interval of one number per seed.

    Raises:
        ValueError: there are none.
    """
    if not values:
        raise ValueError("no seeds to take a mean over")
    mean = float(np.mean(values))
    if len(values) == 1:
        return Estimate(mean, math.nan, math.nan, 1)
    half = stats.t.ppf(1 - LEVEL / 2, len(values) - 1) * np.std(values, ddof=1) / math.sqrt(len(values))
    return Estimate(mean, float(mean - half), float(mean + half), len(values))


def slope(values: Sequence[float]) -> float:
    """Least-squares change of a series per step; 0 for fewer than two points."""
    steps = np.arange(len(values)) - (len(values) - 1) / 2
    return float(steps @ np.asarray(values) / (steps @ steps)) if len(values) > 1 else 0.0


def difference(ones: Sequence[float], others: Sequence[float]) -> Difference:
    """``ones`` minus ``others``, paired by position.

    Raises:
        ValueError: their lengths differ, or there are none.
    """
    pairs = [one - other for one, other in zip(ones, others, strict=True)]
    found = estimate(pairs)
    spread = float(np.std(pairs, ddof=1)) if len(pairs) > 1 else 0.0
    if spread <= 1e-12 * max(1.0, abs(found.mean)):
        return Difference(found, math.nan, math.nan, None)
    effect = found.mean / spread
    p = 2 * stats.t.sf(abs(effect) * math.sqrt(len(pairs)), len(pairs) - 1)
    return Difference(found, float(p), effect, seeds_needed(effect))
