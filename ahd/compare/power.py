"""How surely a two-sided paired t-test finds an effect, and how many pairs it needs for that."""

import math

from scipy import stats

LEVEL = 0.05
"""Of every test; intervals cover ``1 - LEVEL``."""
POWER = 0.8
LARGE = 1_000_000
"""Pairs from which the normal distribution stands in for t: they differ by less than one in its count."""


def power(effect: float, count: int) -> float:
    """Probability that the test over ``count`` >= 2 pairs finds an effect of this size (Cohen's d of the
    differences): the noncentral t distribution with shift ``effect * sqrt(count)`` (Cohen 1988)."""
    limit = stats.t.ppf(1 - LEVEL / 2, count - 1)
    shift = abs(effect) * math.sqrt(count)
    wrong_side = float(stats.nct.cdf(-limit, count - 1, shift))
    if math.isnan(wrong_side):  # too small for scipy to compute
        wrong_side = 0.0
    return float(stats.nct.sf(limit, count - 1, shift)) + wrong_side


def seeds_needed(effect: float) -> int | None:
    """The fewest pairs that find an effect of this size with a power of 80%; None for no effect."""
    if effect == 0:
        return None
    normal = (float(stats.norm.ppf(1 - LEVEL / 2) + stats.norm.ppf(POWER)) / effect) ** 2
    if not math.isfinite(normal):
        return None
    count = max(2, math.ceil(normal))
    while count < LARGE and power(effect, count) < POWER:
        count += 1
    return count
