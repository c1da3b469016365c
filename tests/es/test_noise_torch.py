"""Torch devices give the noise of the Numba kernels, bit for bit. A GPU is tested where there is one."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from hypothesis import given, settings  # noqa: E402
from hypothesis import strategies as st  # noqa: E402

from ahd.es import noise as reference  # noqa: E402
from ahd.es import noise_torch as module  # noqa: E402
from ahd.es.noise_torch import add_noise, combine, noise  # noqa: E402

DEVICES = ["cpu"] + ["cuda"] * torch.cuda.is_available()
devices = pytest.mark.parametrize("device", DEVICES)
FAR = 2**32 * 64 * 8
"""The first index whose block counter needs a 33rd bit."""


def bits(values: "torch.Tensor | np.ndarray") -> bytes:
    return (values.cpu().numpy() if isinstance(values, torch.Tensor) else values).tobytes()


@devices
@settings(max_examples=80, deadline=None)
@given(st.integers(0, 2**56), st.integers(0, 4000), st.integers(0, 2**64), st.text(max_size=8))
def test_same_bits(device: str, start: int, count: int, seed: int, name: str) -> None:
    """Any chunk under any seed and name has the bits of the Numba kernels."""
    assert bits(noise(seed, name, start, count, device)) == bits(reference.noise(seed, name, start, count))


@devices
@pytest.mark.parametrize("start", [0, 511, 512, 2**32 - 700, FAR - 700, FAR, 2**53 + 1])
def test_same_bits_at_borders(device: str, start: int) -> None:
    """Chunks across the borders of tiles and of 32 bits, in indices and in the block counter."""
    assert bits(noise(5, "w", start, 1500, device)) == bits(reference.noise(5, "w", start, 1500))


@devices
def test_every_quantile(device: str) -> None:
    """A million and a half values, more than 20 of every quantile."""
    start, count = 77, 1_500_000
    assert bits(noise(9, "w", start, count, device)) == bits(reference.noise(9, "w", start, count))


def test_words_are_exact() -> None:
    """The product by a negative factor is the full 64-bit product, at the ends of the range too."""
    words = [0, 1, 2, 0xFFFF, 0x10000, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFE, 0xFFFFFFFF]
    for factor in (0xD2511F53, 0xCD9E8D57):
        high, low = module._multiply(factor, torch.tensor(words))
        assert high.tolist() == [factor * word >> 32 for word in words]
        assert low.tolist() == [factor * word & 0xFFFFFFFF for word in words]


@devices
@settings(max_examples=30, deadline=None)
@given(st.lists(st.floats(-1e3, 1e3, width=32), min_size=1, max_size=5), st.integers(0, 2000), st.data())
def test_combine_has_the_same_bits(device: str, scales: list[float], start: int, data: st.DataObject) -> None:
    """Sums over several seeds are rounded in the same places, in any number of chunks; in place too."""
    master = np.random.default_rng(start).standard_normal(3000, dtype=np.float32)
    expected = np.empty_like(master)
    reference.combine(expected, master, range(len(scales)), "w", scales, start)
    out = torch.from_numpy(master).to(device, copy=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_CHUNK", data.draw(st.integers(100, 4000)))
        combine(out, out, range(len(scales)), "w", scales, start)
    assert bits(out) == bits(expected)


@devices
@settings(max_examples=30, deadline=None)
@given(st.integers(1, 20), st.integers(1, 1400), st.data())
def test_blocks_have_the_same_bits(device: str, height: int, width: int, data: st.DataObject) -> None:
    """A block of a parameter, for tensor parallelism, gets the block of its noise, in any chunks."""
    left = data.draw(st.integers(0, width - 1))
    right = data.draw(st.integers(left, width))
    out = torch.zeros(height, right - left, device=device)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_CHUNK", data.draw(st.integers(100, 4000)))
        combine(out, out, (5,), "w", (1.0,), left, width)
    assert bits(out) == bits(reference.noise(5, "w", 0, height * width).reshape(height, width)[:, left:right])


@devices
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_rounded_once(device: str, dtype: "torch.dtype") -> None:
    """Written into a narrower dtype, the float32 sum is rounded once, and the master stays as it is."""
    master = torch.linspace(-1, 1, 5000)
    kept = master.clone()
    out = torch.empty(5000, dtype=dtype, device=device)
    add_noise(out, master, 3, "w", 1e-3, 100)
    exact = np.empty(5000, np.float32)
    reference.add_noise(exact, kept.numpy(), 3, "w", 1e-3, 100)
    assert torch.equal(out.cpu(), torch.from_numpy(exact).to(dtype))
    assert torch.equal(master, kept)


@devices
def test_a_slice_of_a_larger_tensor(device: str) -> None:
    """Writing through a view touches nothing beside it."""
    whole = torch.zeros(10, 600, device=device)
    combine(whole[2:5], whole[2:5], (5,), "w", (1.0,), 1200, 600)
    assert bits(whole[2:5]) == bits(reference.noise(5, "w", 1200, 1800))
    assert not whole[:2].any()
    assert not whole[5:].any()


def test_refuses_what_the_reference_refuses() -> None:
    """No direction, unequal numbers, and a block without the width of its parameter."""
    out = torch.zeros(2, 3)
    for seeds, scales in (([], []), ([1], [1.0, 2.0])):
        with pytest.raises(ValueError, match="one of each per direction"):
            combine(out, out, seeds, "w", scales, width=3)
    with pytest.raises(ValueError, match="3 columns in a parameter of 0"):
        combine(out, out, [1], "w", [1.0])
