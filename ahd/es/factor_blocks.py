"""Low-rank steps of a block of columns, as row-parallel layers have it, without making the whole matrix."""

from collections.abc import Callable, Sequence

import numpy as np

from ahd.es import factors
from ahd.es.factors import COLUMNS, ROWS, factor
from ahd.es.noise import Float32, threads


def add_block(
    out: Float32,
    before: Float32,
    name: str,
    seeds: Sequence[int],
    scales: Sequence[float],
    rank: int,
    start: int,
    column: int,
) -> float:
    """The rows from ``start`` and columns from ``column`` on of what ``add_products`` makes of a matrix, bit
    for bit.

    Args:
        out: shape (rows, columns) of the block, float32; may be ``before`` itself.
        before: the same shape.

    Returns:
        The squared L2 norm of what was added.
    """
    rows, columns = before.shape
    terms = np.asarray(scales, np.float32) * np.float32(1 / np.sqrt(rank))
    left = [
        scale * factor(seed, name, ROWS, start, start + rows, rank).T
        for seed, scale in zip(seeds, terms, strict=True)
    ]
    right = [factor(seed, name, COLUMNS, column, column + columns, rank).T for seed in seeds]
    outputs, inputs = np.concatenate(left), np.ascontiguousarray(np.concatenate(right))
    height = max(1, factors._PIECE // max(1, columns))

    def piece(low: int) -> Callable[[], float]:
        part = slice(low, low + height)
        mine = np.ascontiguousarray(outputs[:, part])
        return lambda: float(factors._add_products(out[part], before[part], mine, inputs))

    return sum(threads.run([piece(low) for low in range(0, rows, height)]))
