"""Mirrored pairs and momentum against their formulas, eps standing for any vectors."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from ahd.es.steps import FADED, Step, step_of, velocity
from operators.model import Direction

weight = st.floats(-3, 3)
seed = st.integers(0, 40)
steps = st.lists(
    st.lists(st.tuples(seed, weight), min_size=1, max_size=8).map(
        lambda pairs: Step(tuple(s for s, _ in pairs), tuple(w for _, w in pairs))
    ),
    min_size=1,
    max_size=8,
)


def move(step: Step) -> np.ndarray:
    """``1 / N * sum_i w_i eps(seed_i)``."""
    eps = [np.random.default_rng(each).standard_normal(5) for each in step.seeds]
    return sum(w * e for w, e in zip(step.weights, eps, strict=True)) / len(step.seeds)


@given(st.lists(st.tuples(st.integers(0, 2**31 - 1), weight), min_size=1, max_size=30))
def test_without_options_the_step_is_the_papers_to_the_last_bit(pairs: list[tuple[int, float]]) -> None:
    """Different seeds, no mirror image, no momentum: seeds and weights are issued as they are."""
    weights = dict(pairs)
    step = step_of([Direction(each, 0.5) for each in weights], list(weights.values()))
    issued = velocity([step, Step((1,), (9.0,))], 0.0)
    assert issued == step == Step(tuple(weights), tuple(weights.values()))


@given(st.lists(weight, min_size=1, max_size=11))
def test_a_mirrored_pair_moves_by_the_difference(weights: list[float]) -> None:
    """Directions (s, +), (s, -), ...: the issued step names each seed once and moves by
    ``1 / N * sum_i w_i sign_i eps_i`` over all N directions, an unpaired last one among them."""
    directions = [Direction(i // 2, -0.1 if i % 2 else 0.1) for i in range(len(weights))]
    issued = velocity([step_of(directions, weights)], 0.0)
    assert len(set(issued.seeds)) == len(issued.seeds) == (len(weights) + 1) // 2
    eps = [np.random.default_rng(each.seed).standard_normal(5) for each in directions]
    signs = [1 if each.sigma > 0 else -1 for each in directions]
    direct = sum(s * w * e for s, w, e in zip(signs, weights, eps, strict=True)) / len(weights)
    assert np.allclose(move(issued), direct, atol=1e-12)


@given(steps, st.floats(0, 0.99))
def test_velocity_is_the_recursion(steps: list[Step], momentum: float) -> None:
    """v_t = B v_(t-1) + step_t, each step with its own N, up to what has faded."""
    expected = np.zeros(5)
    for step in steps:
        expected = momentum * expected + move(step)
    newest_first = steps[::-1]
    issued = velocity(newest_first, momentum)
    assert len(set(issued.seeds)) == len(issued.seeds)
    lost = [momentum**age * move(step) for age, step in enumerate(newest_first) if momentum**age < FADED]
    assert np.allclose(move(issued) + sum(lost, np.zeros(5)), expected, atol=1e-9)


def test_steps_fade() -> None:
    """A step counts until its decay is below one hundredth, and is not read after that."""
    many = [Step((number,), (1.0,)) for number in range(1000)]
    assert len(velocity(many, 0.9).seeds) == 44  # 0.9 ** 43 = 0.0108
    assert len(velocity(many, 0.0).seeds) == 1
