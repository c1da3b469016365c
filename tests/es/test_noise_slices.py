"""Slices of a parameter get the slice of its noise."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ahd.es import noise as module
from ahd.es.noise import combine, noise
from ahd.es.noise_slices import slice_noise

HEIGHT, WIDTH = st.integers(1, 40), st.integers(1, 1400)
RANKS = st.integers(1, 8)


def whole(height: int, width: int) -> np.ndarray:
    return noise(5, "w", 0, height * width).reshape(height, width)


def bounds(size: int, ranks: int) -> list[tuple[int, int]]:
    """Ranges of every rank; the last ones are shorter, or empty, where ``ranks`` does not divide ``size``."""
    share = -(-size // ranks)
    return [(min(r * share, size), min((r + 1) * share, size)) for r in range(ranks)]


@settings(max_examples=60, deadline=None)
@given(HEIGHT, WIDTH, RANKS, RANKS)
def test_ranks_concatenate_to_the_whole(height: int, width: int, down: int, across: int) -> None:
    """Rows, columns or both split over 1 to 8 ranks and joined again are the whole, bit for bit."""
    parts = [
        [slice_noise(5, "w", (height, width), rows, columns) for columns in bounds(width, across)]
        for rows in bounds(height, down)
    ]
    assert np.array_equal(np.block(parts), whole(height, width))


@settings(max_examples=60, deadline=None)
@given(HEIGHT, WIDTH, st.data())
def test_any_chunk_of_a_slice(height: int, width: int, data: st.DataObject) -> None:
    """Any block, however it lies to the tiles and however the work is cut up, is that block of the whole."""
    top, left = data.draw(st.integers(0, height - 1)), data.draw(st.integers(0, width - 1))
    bottom, right = data.draw(st.integers(top, height)), data.draw(st.integers(left, width))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_PIECE", data.draw(st.integers(1, 3000)))
        block = slice_noise(5, "w", (height, width), (top, bottom), (left, right))
    assert np.array_equal(block, whole(height, width)[top:bottom, left:right])


@settings(max_examples=30, deadline=None)
@given(st.integers(1, 30), st.integers(1, 12), RANKS)
def test_padding_gets_none(height: int, padding: int, ranks: int) -> None:
    """Rows past the end of a vocabulary are zero on every rank, and the real ones are the whole."""
    parts = [slice_noise(5, "w", (height, 64), rows, (0, 64)) for rows in bounds(height + padding, ranks)]
    joined = np.concatenate(parts)
    assert joined.shape == (height + padding, 64)
    assert np.array_equal(joined[:height], whole(height, 64))
    assert not joined[height:].any()


def test_updates_of_slices_are_slices_of_the_update() -> None:
    """Moving a rank's block of the master along several seeds gives the block of the moved master; the
    squared norms of the ranks add up to that of the whole."""
    master = np.linspace(-1, 1, 300 * 1000, dtype=np.float32).reshape(300, 1000)
    moved = np.empty_like(master)
    squares = combine(moved.ravel(), master.ravel(), [1, 2], "w", [0.5, -0.1])
    sums = 0.0
    for left, right in bounds(1000, 3):
        block = np.ascontiguousarray(master[:, left:right])
        sums += combine(block, block, [1, 2], "w", [0.5, -0.1], left, width=1000)
        assert np.array_equal(block, moved[:, left:right])
    assert sums == pytest.approx(squares, rel=1e-12)


def test_far_slices_cost_only_themselves() -> None:
    """A corner of a matrix that would never fit into memory."""
    shape = (2**30, 2**20)
    corner = slice_noise(5, "w", shape, (2**30 - 2, 2**30), (2**20 - 7, 2**20))
    assert np.array_equal(corner[1], noise(5, "w", 2**50 - 7, 7))


@pytest.mark.parametrize(
    ("rows", "columns"), [((2, 1), (0, 4)), ((-1, 1), (0, 4)), ((0, 1), (0, 5)), ((0, 1), (3, 2))]
)
def test_no_slice(rows: tuple[int, int], columns: tuple[int, int]) -> None:
    """Ranges that are no slice of the matrix are refused."""
    with pytest.raises(ValueError, match="no slice of a matrix of 8 by 4"):
        slice_noise(5, "w", (8, 4), rows, columns)


def test_block_wider_than_its_parameter() -> None:
    """A block has to be told the parameter's width."""
    block = np.zeros((2, 3), np.float32)
    with pytest.raises(ValueError, match="3 columns in a parameter of 0"):
        combine(block, block, [1], "w", [1.0])
