"""From rewards to weights of directions: values computed by hand, and what holds for all values."""

import math
import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ahd.config import Shaping
from ahd.es.shaping import centred_ranks, direction_weights, z_scores

finite = st.floats(-1e6, 1e6)


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


@given(st.lists(finite, max_size=30))
def test_ranks_are_centred_and_keep_the_order(rewards: list[float]) -> None:
    """Ranks lie in [-0.5, 0.5], add to zero, follow the rewards, and equal rewards have equal ranks."""
    ranks = centred_ranks(rewards)
    assert sum(ranks) == pytest.approx(0, abs=1e-9)
    assert all(-0.5 <= rank <= 0.5 for rank in ranks)
    for one, rank in zip(rewards, ranks, strict=True):
        for other, second in zip(rewards, ranks, strict=True):
            assert (one < other) == (rank < second)


def test_ranks_by_hand() -> None:
    """The least has -0.5, the largest 0.5, ties share the mean, all equal is exactly zero."""
    assert centred_ranks([3.0, 1.0, 2.0]) == [0.5, -0.5, 0.0]
    assert centred_ranks([1.0, 2.0, 2.0]) == [-0.5, 0.25, 0.25]
    assert centred_ranks([4.0] * 6) == [0.0] * 6
    assert centred_ranks([4.0]) == [0.0]


@given(st.lists(finite, min_size=1, max_size=30), st.sampled_from([Shaping.ZSCORES, Shaping.RANKS]))
def test_one_proposal_a_direction_is_the_plain_rule(rewards: list[float], shaping: Shaping) -> None:
    """Without groups the weights are the z-scores or ranks of the rewards, to the last bit."""
    plain = z_scores(rewards) if shaping is Shaping.ZSCORES else centred_ranks(rewards)
    assert direction_weights(shaping, rewards, [True] * len(rewards)) == plain


batches = st.lists(st.tuples(finite, st.booleans()), min_size=1, max_size=24)


@given(batches, st.integers(1, 5))
def test_valid_weighs_directions_by_their_valid_proposals(batch: list[tuple[float, bool]], size: int) -> None:
    """Directions without a valid proposal weigh exactly 0; the others have the z-scores of the means over
    their valid ones, whatever the invalid ones were given."""
    rewards, valid = [reward for reward, _ in batch], [ok for _, ok in batch]
    weights = direction_weights(Shaping.VALID, rewards, valid, size)
    groups = [[reward for reward, ok in batch[i : i + size] if ok] for i in range(0, len(batch), size)]
    scores = z_scores([statistics.fmean(group) for group in groups if group])
    assert [weight for weight, group in zip(weights, groups, strict=True) if group] == scores
    assert all(weight == 0.0 for weight, group in zip(weights, groups, strict=True) if not group)
    worse = [reward if ok else reward - 1e3 for reward, ok in batch]
    assert direction_weights(Shaping.VALID, worse, valid, size) == weights


@given(batches, st.integers(1, 5))
def test_a_direction_earns_the_mean_of_its_proposals(batch: list[tuple[float, bool]], size: int) -> None:
    """Shaping the proposals of directions is shaping the means, also of a last direction with fewer."""
    rewards, valid = [reward for reward, _ in batch], [ok for _, ok in batch]
    means = [statistics.fmean(rewards[i : i + size]) for i in range(0, len(rewards), size)]
    assert direction_weights(Shaping.ZSCORES, rewards, valid, size) == z_scores(means)
    assert direction_weights(Shaping.RANKS, rewards, valid, size) == centred_ranks(means)


@pytest.mark.parametrize("shaping", list(Shaping))
@pytest.mark.parametrize("bad", [math.nan, math.inf, 1e308])
def test_rewards_without_a_finite_score_never_pass_for_finite(shaping: Shaping, bad: float) -> None:
    """Rewards that are not finite raise; finite ones too large to be averaged raise or give weights that
    are not finite, never numbers that look right."""
    rewards = [bad] * 19 + [0.0]
    try:
        weights = direction_weights(shaping, rewards, [True] * 20)
    except ValueError:
        return
    assert math.isfinite(bad)
    if shaping is not Shaping.RANKS:
        assert not all(map(math.isfinite, weights))
