"""The cost benchmarks: their arithmetic is right; their figures are measured elsewhere."""

import time
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ahd.es.noise import Float32
from ahd.store import Store
from benchmarks import rounding
from benchmarks.directions import Step, writing_rate
from benchmarks.es_overhead import run_shares, stopwatch
from tests.display.stored_run import store_run

BITS = st.integers(0, 2**32 - 1).filter(lambda bits: bits >> 23 & 255 < 254)
"""Finite numbers, those left out that bfloat16 would round to infinity."""


def floats(bits: list[int]) -> Float32:
    return np.array(bits, np.uint32).view(np.float32)


@given(st.lists(BITS, min_size=1, max_size=50))
def test_split_loses_nothing(bits: list[int]) -> None:
    """A bfloat16 and the 16 bits cut off are the float32 number again, bit for bit, and the bfloat16 part
    is a nearest one."""
    values = floats(bits)
    high, low = rounding.split(values)
    assert rounding.joined(high, low).tobytes() == values.tobytes()
    rounded = (high.astype(np.uint32) << 16).view(np.float32).astype(np.float64)
    apart = np.abs(rounded - values)
    assert (apart <= np.abs(rounding.nearest(values).astype(np.float64) - values)).all()


@given(st.lists(BITS, min_size=1, max_size=50))
def test_nearest_is_the_rounding_of_torch(bits: list[int]) -> None:
    """Rounding to bfloat16 gives the bits that torch gives."""
    torch = pytest.importorskip("torch")
    values = floats(bits)
    expected = torch.from_numpy(values).to(torch.bfloat16).to(torch.float32).numpy()
    assert rounding.nearest(values).tobytes() == expected.tobytes()


@given(BITS)
def test_stochastic_rounding_is_exact_in_the_mean(bits: int) -> None:
    """Over all random 16 bits the mean is the number itself, and no result but two neighbours occurs."""
    random = np.arange(1 << 16, dtype=np.uint32)
    value = floats([bits])
    found = rounding.stochastic(np.repeat(value, 1 << 16), random).astype(np.float64)
    assert len(set(found)) <= 2
    assert found.mean() == pytest.approx(float(value[0]), rel=1e-9, abs=0.0)


def test_random_bits_are_a_function_of_seed_name_and_index() -> None:
    """Any part of them can be made alone; they cover 16 bits evenly."""
    whole = rounding.uniform(3, "w", 0, 5000)
    assert (rounding.uniform(3, "w", 700, 900) == whole[700:1600]).all()
    assert (rounding.uniform(4, "w", 0, 5000) != whole).any()
    assert whole.max() < 1 << 16
    assert whole.mean() == pytest.approx(32767.5, rel=0.03)


def test_exact_ways_lose_nothing_and_others_do() -> None:
    """After any number of updates float32 and bfloat16 with 16 bits hold the same numbers, and hold what
    was intended up to the rounding of float32; bfloat16 alone does not."""
    base = rounding.nearest(np.random.default_rng(1).normal(0, 0.05, 4096).astype(np.float32))
    found = {
        (done, way): (kept.copy(), intended.copy())
        for done, way, intended, kept, _ in rounding.walk("w", 0, base, 10, 3, 5e-4)
    }
    assert {done for done, _ in found} == {1, 3}
    for done in (1, 3):
        one, other = found[done, "bfloat16 + 16 bits"], found[done, "float32 master"]
        assert (one[0] == other[0]).all()
        assert np.abs(one[0] - one[1]).max() < 1e-7
        assert np.abs(found[done, "bfloat16, nearest"][0] - one[1]).max() > 1e-5


def test_told_sums() -> None:
    """Half of a step that arrives, and nothing else, has cosine 1, half of it along and an error of half."""
    sums = rounding.Sums()
    for step in (np.array([1.0, -2.0]), np.array([4.0])):
        sums.add(step, step / 2)
    assert sums.told() == pytest.approx({"cosine": 1.0, "along": 0.5, "error": 0.5})
    still = rounding.Sums()
    still.add(np.ones(2), np.zeros(2))
    assert still.told() == {"cosine": 0.0, "along": 0.0, "error": 1.0}


def test_writing_rate_counts_full_steps_only() -> None:
    """Steps with a prompt in them, with fewer requests, and the last one of a row do not count."""
    steps: list[Step] = [(0, 2, 400), (5, 2, 2), (6, 2, 2), (8, 2, 2), (9, 1, 1), (20, 2, 300), (21, 2, 2)]
    assert writing_rate(steps, 2) == 4 / 3
    with pytest.raises(ValueError, match="no two steps"):
        writing_rate(steps, 3)


def test_stopwatch_adds_up_and_leaves_no_trace() -> None:
    """Time in a method is added up over calls, and the method is itself again afterwards."""

    class Worker:
        def work(self) -> None:
            time.sleep(0.01)

    worker, seconds = Worker(), dict[str, float]()
    with stopwatch(worker, "work", "work", seconds):
        worker.work()
        worker.work()
    assert seconds["work"] >= 0.02
    assert vars(worker) == {}


def test_shares_of_a_run(tmp_path: Path) -> None:
    """The parts of ES work add up to its share of the wall time; a ratio below 1 adds its part of the time
    that perturbed proposals were written in."""
    folder = store_run(tmp_path / "run")
    plain, slower = run_shares(folder, 1.0), run_shares(folder, 0.75)
    parts = ("perturb and restore", "perturb while writing", "update", "bookkeeping")
    assert plain["ES share of wall"] == pytest.approx(sum(plain[part] for part in parts) / plain["wall"])
    store = Store.open(folder)
    writing = sum(row.model_seconds for row in store.proposals() if row.direction_seed is not None)
    store.close()
    assert plain["perturb while writing"] == 0.0
    assert slower["perturb while writing"] == pytest.approx(writing / 4)
    assert slower["ES share of wall"] >= plain["ES share of wall"]
