"""Rewards and the sigma schedule: values computed by hand, and what holds for all values."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ahd.es.rewards import evolution_reward, new_reward, new_sampling_rewards, sampling_rewards
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


@given(finite, finite, finite)
def test_rewards_are_bounded_below(child: float, parent: float, gap: float) -> None:
    """No child earns less than an invalid one by the rule unless it is within the population's range."""
    worst = parent + abs(gap)
    assert evolution_reward(None, parent, worst) >= -1.0
    assert evolution_reward(child, parent, worst) >= min(parent - worst, -1.0)


populations = st.lists(finite, min_size=1, max_size=12)


@given(finite, finite, finite, populations)
def test_new_pays_for_valid_new_and_better(
    child: float, other: float, parent: float, population: list[float]
) -> None:
    """A failure costs 1 and a copy earns nothing; a new child between 0.5 and 1, and 1 more if it beats its
    parent; a better child never earns less."""
    assert new_reward(None, False, parent, population) == -1.0
    assert new_reward(child, True, parent, population) == 0.0
    assert new_reward(child, True, parent, population, worth=-0.5) == -0.5
    reward = new_reward(child, False, parent, population)
    assert 0.5 <= reward - (child < parent) <= 1.0
    if child <= other:
        assert reward >= new_reward(other, False, parent, population)


def test_new_by_hand() -> None:
    """Half of the share that is no better, ties among them, and 1 for beating the parent."""
    population = [6.0, 6.5, 7.0, 8.0]
    assert new_reward(6.5, False, parent=6.0, population=population) == 0.5 + 0.5 * 3 / 4
    assert new_reward(5.0, False, parent=6.0, population=population) == 2.0
    assert new_reward(9.0, False, parent=9.5, population=population) == 1.5
    assert new_sampling_rewards([6.0, None, 7.0, 6.0], [False, False, False, True]) == [1.0, -1.0, 0.75, 0.0]


@given(st.lists(st.tuples(st.none() | finite, st.booleans()), max_size=20))
def test_new_sampling_rewards_order_the_new(batch: list[tuple[float | None, bool]]) -> None:
    """The best new sample earns 1, every new one more than 0.5 and a better one never less; copies earn 0,
    failures -1."""
    rewards = new_sampling_rewards([value for value, _ in batch], [copy for _, copy in batch])
    new = sorted(
        (value, reward)
        for (value, copy), reward in zip(batch, rewards, strict=True)
        if value is not None and not copy
    )
    failed = sum(value is None for value, _ in batch)
    taught = new_sampling_rewards([value for value, _ in batch], [copy for _, copy in batch], worth=-0.5)
    assert taught == [reward or -0.5 for reward in rewards]
    others = [-1.0] * failed + [0.0] * (len(batch) - failed - len(new))
    assert sorted(rewards) == others + sorted(reward for _, reward in new)
    assert [reward for _, reward in new] == sorted((reward for _, reward in new), reverse=True)
    assert all(0.5 < reward <= 1.0 for _, reward in new)
    assert not new or new[0][1] == 1.0


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
