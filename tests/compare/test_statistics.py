"""Statistics of paired runs, against statsmodels and against definitions spelt out."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.power import TTestPower
from statsmodels.stats.weightstats import DescrStatsW

from ahd.compare.power import power, seeds_needed
from ahd.compare.result import Difference
from ahd.compare.statistics import NO_SPREAD, ONE_SEED, corrected, difference, summary

ONES = [6.1, 6.4, 6.0, 6.3, 6.6, 6.2]
OTHERS = [6.5, 6.5, 6.4, 6.2, 6.9, 6.6]
"""Differences -0.4, -0.1, -0.4, 0.1, -0.3, -0.4: mean -0.25, standard deviation sqrt(0.043)."""


def of(ones: list[float], others: list[float]) -> Difference:
    return difference("esopt", "eoh", "train", dict(enumerate(ones)), dict(enumerate(others)))


def test_a_known_difference() -> None:
    """Mean, standard deviation, effect, wins and losses of the hand-made data are those on paper."""
    found = of(ONES, OTHERS)
    assert found.mean == pytest.approx(-0.25)
    assert found.sd == pytest.approx(math.sqrt(0.043))
    assert found.effect == pytest.approx(-0.25 / math.sqrt(0.043))
    assert found.relative == pytest.approx(-0.25 / 6.516666666666667)
    assert (found.wins, found.ties, found.losses) == (5, 0, 1)
    assert found.missing == {}


def test_interval_and_test_are_those_of_statsmodels() -> None:
    """The t interval and the paired t-test agree with an independent library."""
    found = of(ONES, OTHERS)
    reference = DescrStatsW(np.subtract(ONES, OTHERS))
    assert (found.low, found.high) == pytest.approx(reference.tconfint_mean(0.05))
    assert found.p == pytest.approx(reference.ttest_mean(0.0)[1])


@pytest.mark.parametrize("effect", [0.02, 0.2, 0.5, -0.8, 1.2, 3.0])
def test_power_and_seeds_are_those_of_statsmodels(effect: float) -> None:
    """Power agrees with an independent library; the seeds needed are the least that reach 80%."""
    reference = TTestPower()
    count = seeds_needed(effect)
    assert count is not None
    for each in (2, 5, 30, count):
        assert power(effect, each) == pytest.approx(reference.power(effect, each, 0.05), abs=1e-6)
    assert reference.power(effect, count, 0.05) >= 0.8
    assert count == 2 or reference.power(effect, count - 1, 0.05) < 0.8


def test_sign_flips_are_all_of_them() -> None:
    """The permutation test counts, of all 2^n sign flips, those whose mean is as far from 0."""
    found = of(ONES, OTHERS)
    values = np.subtract(ONES, OTHERS)
    flips = [abs(np.dot(signs, values)) for signs in itertools.product((1, -1), repeat=6)]
    extreme = sum(flip >= abs(values.sum()) - 1e-12 for flip in flips)
    assert found.exact
    assert found.p_sign_flip == pytest.approx(extreme / 64)
    assert not of(list(range(20)), [0.5] * 20).exact


def test_the_bootstrap_interval_is_efrons() -> None:
    """With all 5^5 resamples instead of random ones, the formula of Efron (1987) gives nearly the bounds."""
    values = np.array([-0.5, -0.1, -0.4, 0.2, -0.9])
    found = of(list(values), [0.0] * 5)
    means = np.sort([np.mean(each) for each in itertools.product(values, repeat=5)])
    below = (np.sum(means < values.mean() - 1e-12) + np.sum(means <= values.mean() + 1e-12)) / 2 / len(means)
    bias = norm.ppf(below)
    left_out = np.array([np.delete(values, k).mean() for k in range(5)])
    spread = left_out.mean() - left_out
    acceleration = np.sum(spread**3) / (6 * np.sum(spread**2) ** 1.5)
    for z, bound in ((norm.ppf(0.025), found.bca_low), (norm.ppf(0.975), found.bca_high)):
        level = norm.cdf(bias + (bias + z) / (1 - acceleration * (bias + z)))
        assert bound == pytest.approx(np.quantile(means, level), abs=0.02)


def test_holm_is_that_of_statsmodels() -> None:
    """Corrected p-values agree with an independent library, and tests that could not be made do not count."""
    rng = np.random.default_rng(3)
    made = [of(list(rng.normal(shift, 1, 8)), list(rng.normal(0, 1, 8))) for shift in (0, 1, 2, 3)]
    none = of([1.0, 2.0], [1.0, 2.0])
    found = corrected([made[0], none, *made[1:]])
    assert found[1].p_holm is None
    assert found[1].missing["p_holm"] == NO_SPREAD
    reference = multipletests([each.p for each in made], method="holm")[1]
    assert [each.p_holm for each in found if each.p_holm is not None] == pytest.approx(list(reference))


def test_what_cannot_be_computed_is_none_with_a_reason() -> None:
    """One seed has no spread, equal differences no test, no seeds nothing: each says so, by field."""
    one, equal, none = of([1.0], [2.0]), of([1.0, 2.0, 3.0], [2.0, 3.0, 4.0]), of([], [])
    assert (one.mean, one.sd, one.p, one.missing["low"]) == (-1.0, None, None, ONE_SEED)
    assert (equal.mean, equal.p, equal.effect, equal.seeds_needed) == (-1.0, None, None, None)
    assert equal.missing["effect"] == NO_SPREAD
    assert equal.p_sign_flip == 0.25
    assert none.mean is None
    assert "mean" in none.missing
    two = of([1.0, 2.0], [2.0, 2.5])
    assert two.low is not None
    assert two.bca_low is None
    assert "3 seeds" in two.missing["bca_low"]
    for each in (one, equal, two):
        empty = {name for name in vars(each) if getattr(each, name) is None} - {"p_holm"}
        assert empty == each.missing.keys()


def test_seeds_without_a_partner_do_not_count() -> None:
    """Only seeds that both arms have are paired."""
    found = difference("a", "b", "test", {1: 5.0, 2: 6.0, 4: 9.0}, {2: 7.0, 3: 1.0, 4: 9.0})
    assert (found.seeds, found.values) == ((2, 4), (-1.0, 0.0))
    assert (found.wins, found.ties) == (1, 1)


def test_summary() -> None:
    """Mean, sample deviation and least of what there is."""
    found = summary([2.0, None, 4.0])
    assert (found.count, found.mean, found.best) == (2, 3.0, 2.0)
    assert found.sd == pytest.approx(math.sqrt(2))
    assert summary([1.0]).sd is None
    assert summary([None]).mean is None


numbers = st.floats(-1e4, 1e4).map(lambda value: round(value, 3))


@given(st.lists(st.tuples(numbers, numbers), min_size=2, max_size=8))
def test_the_other_way_round_is_the_negative(pairs: list[tuple[float, float]]) -> None:
    """Exchanging the arms changes signs and bounds, never p-values, effect sizes or seeds."""
    ones, others = [one for one, _ in pairs], [other for _, other in pairs]
    found, turned = of(ones, others), of(others, ones)
    assert found.mean == pytest.approx(-turned.mean)
    assert (found.wins, found.losses) == (turned.losses, turned.wins)
    assert found.p_sign_flip == pytest.approx(turned.p_sign_flip)
    assert (found.p is None) == (turned.p is None)
    if found.p is not None:
        assert found.p == pytest.approx(turned.p)
        assert found.low == pytest.approx(-turned.high)
        assert found.low < found.mean < found.high
        assert 0 <= found.p <= 1
