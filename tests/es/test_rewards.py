"""Rewards, z-scores and the sigma schedule against values computed by hand."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ahd.es.rewards import evolution_reward, sampling_rewards, z_scores
from ahd.es.schedule import sigma_at

finite = st.floats(-1e6, 1e6)


def test_a_better_child_earns_its_improvement() -> None:
    """r = P - C for a valid child no worse than the worst of the population."""
    assert evolution_reward(6.5, parent=7.0, worst=8.0) == 0.5
    assert evolution_reward(7.75, parent=7.0, worst=8.0) == -0.75
    assert evolution_reward(8.0, parent=7.0, worst=8.0) == -1.0


def test_a_bad_or_invalid_child_earns_the_bounded_penalty() -> None:
    """r = max(P - W, -1) for an invalid child and for one worse than the worst."""
    assert evolution_reward(None, parent=7.0, worst=7.25) == -0.25
    assert evolution_reward(9.0, parent=7.0, worst=7.25) == -0.25
    assert evolution_reward(None, parent=7.0, worst=20.0) == -1.0
    assert evolution_reward(25.0, parent=7.0, worst=20.0) == -1.0


def test_negative_objectives_work_alike() -> None:
    """Maximised problems carry negative objectives: the same rule."""
    assert evolution_reward(-40.5, parent=-40.0, worst=-39.0) == 0.5
    assert evolution_reward(None, parent=-40.0, worst=-39.5) == -0.5


def test_sampling_rewards() -> None:
    """Valid: -C. Invalid: the smallest valid reward minus the population spread."""
    # valid rewards -6, -8: mean -7, population std 1, invalid -8 - 1
    assert sampling_rewards([6.0, None, 8.0]) == [-6.0, -9.0, -8.0]


def test_sampling_rewards_without_spread() -> None:
    """A spread of nearly zero is replaced by 1% of the mean's size, and by 1 when that is zero too."""
    assert sampling_rewards([7.0, 7.0, None]) == pytest.approx([-7.0, -7.0, -7.07])
    assert sampling_rewards([0.0, None]) == [-0.0, -1.0]


def test_a_batch_without_a_valid_child_has_no_rewards() -> None:
    """Nothing valid: no reward, no update."""
    assert sampling_rewards([None, None]) is None
    assert sampling_rewards([]) is None


def test_z_scores_by_hand() -> None:
    """(r - mean) / (population std + 1e-8)."""
    # mean 2, deviations -1, 1, -1, 1, std 1
    assert z_scores([1.0, 3.0, 1.0, 3.0]) == pytest.approx([-1, 1, -1, 1], abs=1e-7)
    root = math.sqrt(2 / 3)
    assert z_scores([0.0, 1.0, 2.0]) == pytest.approx([-1 / root, 0, 1 / root], abs=1e-7)


def test_equal_rewards_move_nothing() -> None:
    """Without differences every z-score is exactly zero, even where the mean rounds."""
    assert z_scores([0.1] * 7) == [0.0] * 7
    assert z_scores([-1.0]) == [0.0]
    assert z_scores([]) == []


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_non_finite_rewards_are_refused(bad: float) -> None:
    """A reward that is not finite never reaches the weights."""
    with pytest.raises(ValueError, match="finite"):
        z_scores([1.0, bad])


@given(st.lists(finite, min_size=2, max_size=40))
def test_z_scores_are_centred(rewards: list[float]) -> None:
    """z-scores have mean zero and spread at most one, whatever the rewards."""
    scores = z_scores(rewards)
    assert sum(scores) == pytest.approx(0, abs=1e-3 * len(scores))
    assert sum(score * score for score in scores) <= len(scores) * (1 + 1e-6)


@given(finite, finite, finite)
def test_rewards_are_bounded_below(child: float, parent: float, gap: float) -> None:
    """No child earns less than an invalid one by the rule unless it is within the population's range."""
    worst = parent + abs(gap)
    assert evolution_reward(None, parent, worst) >= -1.0
    assert evolution_reward(child, parent, worst) >= min(parent - worst, -1.0)


def test_sigma_is_a_cosine_to_zero() -> None:
    """Start in the first generation, half in the middle, towards zero at the end."""
    assert sigma_at(1, 25, 1e-3) == 1e-3
    assert sigma_at(3, 4, 1e-3) == pytest.approx(0.5e-3)
    assert sigma_at(2, 4, 1.0) == pytest.approx(0.5 * (1 + math.sqrt(0.5)))
    assert 0 < sigma_at(25, 25, 1e-3) < 1e-5
    values = [sigma_at(g, 25, 1.0) for g in range(1, 26)]
    assert values == sorted(values, reverse=True)


@pytest.mark.parametrize("generation", [0, -1, 26])
def test_sigma_outside_the_run_is_an_error(generation: int) -> None:
    """There is no sigma before the first or after the last generation."""
    with pytest.raises(ValueError, match="outside"):
        sigma_at(generation, 25, 1e-3)
