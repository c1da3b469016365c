"""The seeded generator of the compiled solvers."""

import numpy as np
import pytest

from evaluators.randomness import below, draw, seeded, uniform

MASK = (1 << 64) - 1


def plain(state: int) -> tuple[int, int]:
    """splitmix64 once more, in Python integers: the new state and 64 bits."""
    state = (state + 0x9E3779B97F4A7C15) & MASK
    z = ((state ^ (state >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
    return state, z ^ (z >> 31)


def test_known_values() -> None:
    """The first numbers of splitmix64 from state 1234567, as published with its test vectors."""
    state = np.array([1234567], dtype=np.uint64)
    assert [int(draw(state)) for _ in range(3)] == [
        6457827717110365317,
        3203168211198807973,
        9817491932198370423,
    ]


@pytest.mark.parametrize("seed", [0, 1, 1234, 2**62])
def test_stream_equals_a_plain_one(seed: int) -> None:
    """Bits, uniforms and integers follow from the seed as written in Python integers."""
    state = plain(seed)[1]
    generator = seeded(seed)
    for _ in range(20):
        state, bits = plain(state)
        assert int(draw(generator)) == bits
        state, bits = plain(state)
        assert uniform(generator) == (bits >> 11) / 2**53
        state, bits = plain(state)
        assert below(generator, 7) == int((bits >> 11) / 2**53 * 7)


def test_same_seed_same_stream() -> None:
    """A seed gives one stream, another seed another; generators do not disturb each other."""
    one, other, third = seeded(5), seeded(5), seeded(6)
    first = [(uniform(one), uniform(third))[0] for _ in range(50)]
    assert first == [uniform(other) for _ in range(50)]
    assert not set(first) & {uniform(third) for _ in range(50)}


def test_ranges_and_means() -> None:
    """Uniforms lie in [0, 1), integers in [0, n), and both are spread evenly."""
    generator = seeded(3)
    values = np.array([uniform(generator) for _ in range(20000)])
    assert values.min() >= 0.0
    assert values.max() < 1.0
    assert abs(values.mean() - 0.5) < 4 * np.sqrt(1 / 12 / len(values))
    counts = np.bincount([below(generator, 5) for _ in range(20000)], minlength=5)
    assert len(counts) == 5
    assert ((counts - 4000) ** 2 / 4000).sum() < 23.5  # chi squared, 4 degrees: one in ten thousand


def test_neighbouring_seeds_are_uncorrelated() -> None:
    """First numbers of the seeds 0 to 9999 look as random as a stream does."""
    firsts = np.array([uniform(seeded(seed)) for seed in range(10000)])
    assert abs(np.corrcoef(firsts[1:], firsts[:-1])[0, 1]) < 0.04
    assert abs(firsts.mean() - 0.5) < 4 * np.sqrt(1 / 12 / len(firsts))
