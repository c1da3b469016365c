"""Statistics of paired runs. The distributions and resamplings are scipy's."""

import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from scipy import stats

from ahd.compare.power import LEVEL, seeds_needed
from ahd.compare.result import Difference, Summary

RESAMPLES = 1 << 14
"""Of the bootstrap; and most sign flips: up to 14 pairs all of them are tried."""
LEAST_FOR_BOOTSTRAP = 3
ONE_SEED = "needs two seeds or more"
NO_SPREAD = "the differences do not vary"
_SPREAD = ("low", "high", "bca_low", "bca_high", "p", "effect", "seeds_needed")
"""Figures of differences that vary."""
TIE = 1e-9
"""Objectives that differ by less, as a share of their size, are equal."""


def summary(values: Sequence[float | None]) -> Summary:
    """Mean, sample standard deviation and least of one number per seed; None among them is left out."""
    known = [value for value in values if value is not None]
    if not known:
        reason = "no run has a value"
        return Summary(0, None, None, None, dict.fromkeys(("mean", "sd", "best"), reason))
    missing = {} if len(known) > 1 else {"sd": ONE_SEED}
    sd = float(np.std(known, ddof=1)) if len(known) > 1 else None
    return Summary(len(known), float(np.mean(known)), sd, min(known), missing)


def difference(
    arm: str, against: str, metric: str, ones: Mapping[int, float], others: Mapping[int, float]
) -> Difference:
    """``ones`` minus ``others``, both by seed, over the seeds that both have.

    ``p_holm`` is still None: see ``corrected``. The bootstrap and, beyond 14 pairs, the sign flips draw from
    a fixed seed, so that the same runs give the same figures.
    """
    seeds = tuple(sorted(ones.keys() & others.keys()))
    values = np.array([ones[seed] - others[seed] for seed in seeds], dtype=float)
    signs = [_sign(ones[seed], others[seed]) for seed in seeds]
    found = Difference(
        arm=arm,
        against=against,
        metric=metric,
        seeds=seeds,
        values=tuple(map(float, values)),
        mean=None,
        relative=None,
        sd=None,
        low=None,
        high=None,
        bca_low=None,
        bca_high=None,
        p=None,
        p_holm=None,
        p_sign_flip=None,
        exact=True,
        effect=None,
        seeds_needed=None,
        wins=signs.count(-1),
        ties=signs.count(0),
        losses=signs.count(1),
    )
    if not seeds:
        return replace(found, missing={"mean": "no seed that both arms have a value for"})
    mean = float(values.mean())
    base = abs(float(np.mean([others[seed] for seed in seeds])))
    found = replace(found, mean=mean, relative=mean / base if base > 0 else None)
    missing = {} if base > 0 else {"relative": f"the mean of {against} is 0"}
    if len(seeds) == 1:
        return replace(found, missing=missing | dict.fromkeys(("sd", "p_sign_flip", *_SPREAD), ONE_SEED))
    p_sign_flip, exact = _sign_flips(values)
    found = replace(found, p_sign_flip=p_sign_flip, exact=exact)
    sd = float(values.std(ddof=1))
    scale = max(map(abs, (*ones.values(), *others.values())))
    if sd <= 1e-12 * scale:
        return replace(found, sd=0.0, missing=missing | dict.fromkeys(_SPREAD, NO_SPREAD))
    half = float(stats.t.ppf(1 - LEVEL / 2, len(values) - 1)) * sd / math.sqrt(len(values))
    p = float(stats.ttest_1samp(values, 0.0).pvalue)
    effect = mean / sd
    needed = seeds_needed(effect)
    if needed is None:
        missing["seeds_needed"] = "there is no difference to find"
    found = replace(found, sd=sd, low=mean - half, high=mean + half, p=p, effect=effect, seeds_needed=needed)
    bounds = _bootstrapped(values)
    if isinstance(bounds, str):
        return replace(found, missing=missing | dict.fromkeys(("bca_low", "bca_high"), bounds))
    return replace(found, bca_low=bounds[0], bca_high=bounds[1], missing=missing)


def _sign(one: float, other: float) -> int:
    """-1 where ``one`` is less, 0 where they are equal up to rounding, else 1."""
    if abs(one - other) <= TIE * max(abs(one), abs(other)):
        return 0
    return -1 if one < other else 1


def _sign_flips(values: np.ndarray) -> tuple[float, bool]:
    """p of the two-sided sign-flip test of the mean (Fisher 1935), and whether all 2^n flips were tried."""
    found = stats.permutation_test(
        (values,),
        np.mean,
        permutation_type="samples",
        vectorized=True,
        n_resamples=RESAMPLES,
        rng=np.random.default_rng(0),
    )
    return float(found.pvalue), 2 ** len(values) <= RESAMPLES


def _bootstrapped(values: np.ndarray) -> tuple[float, float] | str:
    """Bounds of the bias-corrected and accelerated interval of the mean (Efron 1987), or why there are
    none."""
    if len(values) < LEAST_FOR_BOOTSTRAP:
        return f"needs {LEAST_FOR_BOOTSTRAP} seeds or more"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        interval = stats.bootstrap(
            (values,),
            np.mean,
            vectorized=True,
            confidence_level=1 - LEVEL,
            method="BCa",
            n_resamples=RESAMPLES,
            rng=np.random.default_rng(0),
        ).confidence_interval
    low, high = float(interval.low), float(interval.high)
    if not (math.isfinite(low) and math.isfinite(high)):
        return "the resampled means do not allow one"
    return low, high


def corrected(differences: Sequence[Difference]) -> list[Difference]:
    """The differences with ``p_holm``: the paired t-tests of one metric, corrected together for their number
    by the step-down method of Holm (1979). Those without ``p`` do not count."""
    tested = sorted((each.p, number) for number, each in enumerate(differences) if each.p is not None)
    found, highest = list(differences), 0.0
    for rank, (p, number) in enumerate(tested):
        highest = max(highest, min(1.0, (len(tested) - rank) * p))
        found[number] = replace(found[number], p_holm=highest)
    for number, each in enumerate(found):
        if each.p is None:
            reason = each.missing.get("p", each.missing.get("mean", ""))
            found[number] = replace(each, missing=each.missing | {"p_holm": reason})
    return found
