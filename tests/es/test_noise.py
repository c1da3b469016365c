"""Noise is a pure function of seed, name and index."""

import hashlib
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ahd.es import noise as module
from ahd.es.noise import TILE, add_noise, combine, noise, noises, quantiles

LENGTH = 5 * TILE + 77


@settings(max_examples=60, deadline=None)
@given(st.integers(0, LENGTH - 1), st.integers(1, LENGTH))
def test_any_chunk_gives_the_same_values(start: int, count: int) -> None:
    """Values do not depend on where a chunk starts or ends."""
    whole = noise(7, "layer.weight", 0, LENGTH)
    part = noise(7, "layer.weight", start, min(count, LENGTH - start))
    assert np.array_equal(part, whole[start : start + len(part)])


@settings(max_examples=30, deadline=None)
@given(st.integers(0, LENGTH - 1), st.integers(0, LENGTH), st.lists(st.integers(0, 2**32 - 1), max_size=5))
def test_many_seeds_at_once_give_what_each_gives(start: int, count: int, seeds: list[int]) -> None:
    """Noise of several seeds in one call is that of each, and that which updates are made of."""
    together = noises(seeds, "layer.weight", start, count)
    assert together.shape == (len(seeds), count)
    for seed, values in zip(seeds, together, strict=True):
        applied = np.zeros(count, np.float32)
        add_noise(applied, applied, seed, "layer.weight", 1.0, start)
        assert np.array_equal(values, applied)


def test_far_indices_are_reached_directly() -> None:
    """Indices beyond 32 bits work and are distinct from their remainders."""
    far = noise(7, "w", 2**35 + 5, 100)
    assert np.isfinite(far).all()
    assert not np.array_equal(far, noise(7, "w", 5, 100))


def test_known_values() -> None:
    """The first values are pinned: stored runs can be replayed by every later version."""
    assert noise(1, "a", 0, 4).tolist() == pytest.approx([1.831684, -0.821454, 0.753547, 0.602616], abs=1e-6)


def test_bits_are_philox() -> None:
    """Key and counter zero give the published test vector of Philox4x32 with 7 rounds."""
    out = np.empty(TILE, dtype=np.float32)
    module._tile(np.zeros(4, np.uint32), 0, np.arange(65536, dtype=np.float32), out)
    halves = out.reshape(8, -1)[:, 0].astype(np.uint32)
    words = [f"{low | high << 16:08x}" for low, high in zip(halves[::2], halves[1::2], strict=True)]
    assert words == ["5f6fb709", "0d893f64", "4f121f81", "4f730a48"]


def test_moments() -> None:
    """Mean 0, variance 1, kurtosis 3 and no correlation between neighbours or lanes, within 5 standard
    errors of two million values."""
    n = 2_000_000
    values = noise(3, "w", 0, n).astype(np.float64)
    assert abs(values.mean()) < 5 / np.sqrt(n)
    assert abs(values.var() - 1) < 5 * np.sqrt(2 / n)
    assert abs((values**4).mean() - 3) < 5 * np.sqrt(96 / n)
    for lag in (1, 64, TILE):
        assert abs((values[lag:] * values[:-lag]).mean()) < 5 / np.sqrt(n)


def test_seeds_and_names_are_independent() -> None:
    """Other seeds and other names give uncorrelated noise."""
    n = 500_000
    base = noise(3, "w", 0, n).astype(np.float64)
    for other in (noise(4, "w", 0, n), noise(3, "v", 0, n), noise(2**40 + 3, "w", 0, n)):
        assert abs((base * other).mean()) < 5 / np.sqrt(n)


def test_quantiles_are_standard_normal() -> None:
    """The table is ascending, symmetric, of unit variance, and close to the normal quantiles."""
    table = quantiles().astype(np.float64)
    assert (np.diff(table) > 0).all()
    assert np.array_equal(table, -table[::-1])
    assert abs((table**2).mean() - 1) < 1e-6
    assert np.isclose(np.interp(0.975, (np.arange(65536) + 0.5) / 65536, table), 1.95996, atol=1e-3)


def test_another_process_gives_the_same_bits() -> None:
    """A fresh process with one core computes the same noise."""
    code = (
        "import os; os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})\n"
        "import hashlib; from ahd.es.noise import noise\n"
        "print(hashlib.sha256(noise(11, 'x', 3, 400_000)).hexdigest())"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == hashlib.sha256(noise(11, "x", 3, 400_000)).hexdigest()


def test_combine_adds_in_order_and_reports_the_norm() -> None:
    """combine = master + scaled noises, added in float32 in the order given; its result is the squared
    norm of the step; it works in place."""
    master = np.linspace(-1, 1, 300_001, dtype=np.float32)
    seeds, scales = [5, 6, 7], [0.5, -0.25, 1e-3]
    step = np.zeros_like(master)
    for seed, scale in zip(seeds, scales, strict=True):
        step += np.float32(scale) * noise(seed, "w", 9, len(master))
    out = master.copy()
    squares = combine(out, out, seeds, "w", scales, 9)
    assert np.array_equal(out, master + step)
    assert np.isclose(squares, (step.astype(np.float64) ** 2).sum(), rtol=1e-6)


def test_thread_count_does_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    """One thread and several give the same bits and the same norm."""
    master = np.zeros(500_000, dtype=np.float32)
    many, one = master.copy(), master.copy()
    squares = combine(many, master, [1, 2], "w", [1.0, 2.0])
    monkeypatch.setattr(module.threads, "cores", {0})
    assert squares == combine(one, master, [1, 2], "w", [1.0, 2.0])
    assert np.array_equal(many, one)


def test_several_threads_at_once() -> None:
    """Calls from several threads at the same time do not disturb each other."""
    expected = [noise(seed, "w", 0, 300_000) for seed in range(4)]
    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(lambda seed: noise(seed, "w", 0, 300_000), range(4)))
    assert all(np.array_equal(a, b) for a, b in zip(expected, results, strict=True))


def test_work_inside_work() -> None:
    """Pieces of work that share out work themselves do not wait for each other for ever."""

    def short() -> float:
        time.sleep(0.001)
        return 1.0

    def outer() -> float:
        return sum(module.threads.run([short] * 9))

    assert module.threads.run([outer] * 9) == [9.0] * 9


def test_add_noise_leaves_the_master_alone() -> None:
    """A perturbation is written beside the master."""
    master = np.ones(1000, dtype=np.float32)
    out = np.empty_like(master)
    add_noise(out, master, 1, "w", 0.1)
    assert (master == 1).all()
    assert np.array_equal(out, master + np.float32(0.1) * noise(1, "w", 0, 1000))
