"""Low-rank directions."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ahd.es.factors import COLUMNS, ROWS, add_products, factor

NAME = "layers.0.proj.weight"


def product(seed: int, rows: int, columns: int, rank: int) -> np.ndarray:
    a = factor(seed, NAME, ROWS, 0, rows, rank).astype(np.float64)
    b = factor(seed, NAME, COLUMNS, 0, columns, rank).astype(np.float64)
    return a @ b.T / np.sqrt(rank)


@given(
    rows=st.integers(1, 70),
    columns=st.integers(1, 1100),
    rank=st.integers(1, 5),
    scales=st.lists(st.floats(-1, 1, width=32), min_size=1, max_size=7),
)
def test_products_are_the_formula(rows: int, columns: int, rank: int, scales: list[float]) -> None:
    """The step is sum_j scales[j] A_j B_j^T / sqrt(r), to float32 accuracy, and its norm is returned."""
    before = np.zeros((rows, columns), np.float32)
    squares = add_products(out := np.empty_like(before), before, NAME, range(len(scales)), scales, rank)
    expected = sum(scale * product(seed, rows, columns, rank) for seed, scale in enumerate(scales))
    np.testing.assert_allclose(out, expected, atol=2e-5 * (1 + np.abs(expected).max()))
    assert squares == pytest.approx(float((expected**2).sum()), rel=1e-4, abs=1e-8)


@given(st.data())
def test_any_part_of_the_rows_gives_the_same_bits(data: st.DataObject) -> None:
    """Rows computed in parts, in any chunks, are bit for bit those of the whole matrix."""
    rows, columns, rank = data.draw(st.integers(2, 400)), data.draw(st.integers(1, 700)), 2
    before = np.linspace(-1, 1, rows * columns, dtype=np.float32).reshape(rows, columns)
    whole, parts = np.empty_like(before), np.empty_like(before)
    add_products(whole, before, NAME, (1, 2, 3), (0.5, -0.25, 1.0), rank)
    cuts = sorted(data.draw(st.sets(st.integers(1, rows - 1), max_size=4)))
    for low, high in zip([0, *cuts], [*cuts, rows], strict=True):
        add_products(parts[low:high], before[low:high], NAME, (1, 2, 3), (0.5, -0.25, 1.0), rank, low)
    assert (whole.view(np.uint32) == parts.view(np.uint32)).all()


@pytest.mark.parametrize("rank", [1, 4])
def test_elements_have_the_variance_of_the_full_noise(rank: int) -> None:
    """Over many directions, each element of A B^T / sqrt(r) has mean 0 and variance 1."""
    steps = np.array([product(seed, 12, 12, rank) for seed in range(4000)])
    assert np.abs(steps.mean(axis=0)).max() < 5 / np.sqrt(4000)
    assert steps.var(axis=0).mean() == pytest.approx(1, abs=0.02)


def test_factors_are_exact_in_every_format_of_the_engine() -> None:
    """Rounding a factor to bfloat16 or float16 changes nothing, so the engine scores the very direction
    that the update is made of."""
    import torch

    values = torch.from_numpy(factor(5, NAME, ROWS, 0, 100_000, 1))
    for dtype in (torch.bfloat16, torch.float16):
        assert torch.equal(values.to(dtype).float(), values)


def test_sides_seeds_and_names_are_independent() -> None:
    """The two factors of a matrix, and those of other seeds and names, are uncorrelated."""
    base = factor(1, NAME, ROWS, 0, 20_000, 1).ravel()
    for other in (
        factor(1, NAME, COLUMNS, 0, 20_000, 1),
        factor(2, NAME, ROWS, 0, 20_000, 1),
        factor(1, "another", ROWS, 0, 20_000, 1),
    ):
        assert abs(np.corrcoef(base, other.ravel())[0, 1]) < 0.03
