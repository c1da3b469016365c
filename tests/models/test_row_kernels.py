"""Low-rank steps of single rows."""

from itertools import pairwise

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from ahd.models import row_kernels


def naive(
    y: np.ndarray, x: np.ndarray, slots: np.ndarray, right: np.ndarray, left: np.ndarray, bounds: list[int]
):
    rank = left.shape[1]
    out = y.astype(np.float64)
    for i, slot in enumerate(slots):
        for piece, (low, high) in enumerate(pairwise(bounds)):
            for term in range(rank):
                dot = float(x[i].astype(np.float64) @ right[slot, piece * rank + term])
                out[i, low:high] += (slot > 0) * dot * left[slot, term, low:high]
    return out


def add(
    y: torch.Tensor,
    x: torch.Tensor,
    slots: np.ndarray,
    right: np.ndarray,
    left: np.ndarray,
    bounds: np.ndarray,
    rank: int,
) -> bool:
    steps = row_kernels.Steps(torch.from_numpy(right), torch.from_numpy(left), bounds, rank, y.dtype)
    return steps.add(y, x, slots)


@settings(deadline=None)
@given(
    rows=st.integers(1, 600),
    inputs=st.integers(1, 40),
    sizes=st.lists(st.integers(1, 30), min_size=1, max_size=3),
    rank=st.integers(1, 3),
    dtype=st.sampled_from([torch.float32, torch.bfloat16]),
    padding=st.integers(0, 3),
)
def test_each_row_gets_the_step_of_its_slot(
    rows: int, inputs: int, sizes: list[int], rank: int, dtype: torch.dtype, padding: int
) -> None:
    """Every row gets its own slot's step, piece by piece; rows of slot 0 and padding keep their bits."""
    rng = np.random.default_rng(rows)
    bounds = np.cumsum([0, *sizes])
    slots = rng.integers(0, 4, rows)
    right = rng.normal(size=(4, len(sizes) * rank, inputs)).astype(np.float32)
    left = rng.normal(size=(4, rank, bounds[-1] + padding)).astype(np.float32)
    x = torch.from_numpy(rng.normal(size=(rows, inputs)).astype(np.float32)).to(dtype)
    y = torch.from_numpy(rng.normal(size=(rows, bounds[-1] + padding)).astype(np.float32)).to(dtype)
    before = y.clone()
    assert row_kernels.supports(y)
    assert add(y, x, slots, right, left, bounds, rank)
    expected = naive(before.float().numpy(), x.float().numpy(), slots, right, left, bounds.tolist())
    tolerance = 1e-4 if dtype is torch.float32 else 2**-8
    np.testing.assert_allclose(y.float().numpy(), expected, rtol=tolerance, atol=2e-4)
    still = slots == 0
    assert torch.equal(y[still], before[still])
    assert torch.equal(y[:, bounds[-1] :], before[:, bounds[-1] :])


def test_rounding_to_bfloat16_is_to_nearest() -> None:
    """The sum is rounded as torch rounds float32 to bfloat16."""
    values = torch.randn(1000, dtype=torch.float32, generator=torch.Generator().manual_seed(1))
    y = values.to(torch.bfloat16).reshape(1, -1)
    step = torch.randn(1000, generator=torch.Generator().manual_seed(2))
    expected = (y.float() + step).to(torch.bfloat16)
    left = np.stack([np.zeros(1000), step.numpy()]).astype(np.float32)[:, None]
    right = np.ones((2, 1, 1), np.float32)
    one = torch.ones(1, 1, dtype=torch.bfloat16)
    assert add(y, one, np.array([1]), right, left, np.array([0, 1000]), 1)
    assert torch.equal(y, expected)


def test_what_has_no_kernel_is_left_to_torch() -> None:
    """Another number format, layout or shape than the kernels work on is refused, and nothing is written."""
    assert not row_kernels.supports(torch.zeros(2, 2, dtype=torch.float16))
    right, left = np.ones((2, 1, 3), np.float32), np.ones((2, 1, 4), np.float32)
    slots, bounds = np.array([1, 1]), np.array([0, 4])
    whole = torch.zeros(2, 4), torch.ones(2, 3)
    assert add(*whole, slots, right, left, bounds, 1)
    for y, x in (
        (torch.zeros(2, 8)[:, ::2], whole[1]),
        (whole[0].clone(), torch.ones(2, 6)[:, ::2]),
        (whole[0].clone(), torch.ones(2, 3, dtype=torch.bfloat16)),
        (torch.zeros(2, 5), whole[1]),
        (torch.zeros(3, 4), torch.ones(3, 3)),
        (whole[0].clone(), torch.ones(2, 4)),
    ):
        before = y.clone()
        assert not add(y, x, slots, right, left, bounds, 1)
        assert torch.equal(y, before)


@pytest.mark.parametrize("rows", [1, 255, 256, 257, 3000])
def test_pieces_of_work_change_nothing(rows: int) -> None:
    """Many rows are worked on in pieces by several threads: the same bits as row by row."""
    rng = np.random.default_rng(rows)
    slots, bounds = rng.integers(0, 3, rows), np.array([0, 64])
    right = rng.normal(size=(3, 1, 32)).astype(np.float32)
    left = rng.normal(size=(3, 1, 64)).astype(np.float32)
    x, together = (torch.from_numpy(rng.normal(size=(rows, n)).astype(np.float32)) for n in (32, 64))
    alone = together.clone()
    assert add(together, x, slots, right, left, bounds, 1)
    for i in range(rows):
        assert add(alone[i : i + 1], x[i : i + 1], slots[i : i + 1], right, left, bounds, 1)
    assert torch.equal(together, alone)
