"""Low-rank directions: a pair of thin matrices per weight matrix (EGGROLL, arXiv 2511.16652).

Under seed s, matrix ``name`` of shape (m, n) moves along ``A B^T / sqrt(r)``, with A (m, r) and B (n, r)
standard normal, rounded to values that bfloat16 and float16 can hold. The engine, whatever its precision,
therefore computes with exactly the factors that an update is made of. Row i of a factor is a pure function
of (s, name, side, i), so that a part of a matrix needs only its own rows of them.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numba import njit

from ahd.es.noise import Float32, noises, threads

_TILE = 512
_PIECE = 1 << 17
"""Elements per piece of work. Fixed, so that sums over pieces do not depend on the number of threads."""

ROWS, COLUMNS = "rows", "columns"


def factor(seed: int, name: str, side: str, start: int, stop: int, rank: int) -> Float32:
    """Rows ``start`` to ``stop - 1`` of one factor of matrix ``name``, shape (stop - start, rank).

    ``side`` is ``ROWS`` for A, which belongs to the outputs of a linear layer (or to the tokens of an
    embedding), and ``COLUMNS`` for B.
    """
    return factors((seed,), name, side, start, stop, rank)[0]


def factors(seeds: Sequence[int], name: str, side: str, start: int, stop: int, rank: int) -> Float32:
    """``factor`` under each of the seeds, shape (seeds, stop - start, rank)."""
    values = noises(seeds, f"{name}#{side}", start * rank, (stop - start) * rank)
    return _to_bfloat16(values).reshape(len(seeds), stop - start, rank)


def _to_bfloat16(values: Float32) -> Float32:
    """The nearest bfloat16 values, ties to even, as float32."""
    bits = values.view(np.uint32)
    rounded = bits + (np.uint32(0x7FFF) + ((bits >> np.uint32(16)) & np.uint32(1)))
    return (rounded & np.uint32(0xFFFF0000)).view(np.float32)


def add_products(
    out: Float32,
    before: Float32,
    name: str,
    seeds: Sequence[int],
    scales: Sequence[float],
    rank: int,
    start: int = 0,
    column: int = 0,
) -> float:
    """``out = before + sum_j scales[j] * A_j B_j^T / sqrt(rank)`` over a block of a matrix.

    Products are summed in the order of the seeds, in float32, without fused operations: the same bits on
    every machine.

    Args:
        out: shape (rows, columns), float32; may be ``before`` itself.
        before: the same shape: the matrix from row ``start`` and column ``column`` on.

    Returns:
        The squared L2 norm of what was added.
    """
    rows, columns = before.shape
    terms = np.asarray(scales, np.float32) * np.float32(1 / np.sqrt(rank))
    scaled = terms[:, None, None] * factors(seeds, name, ROWS, start, start + rows, rank)
    left = scaled.transpose(0, 2, 1).reshape(-1, rows)
    other = factors(seeds, name, COLUMNS, column, column + columns, rank)
    right = np.ascontiguousarray(other.transpose(0, 2, 1).reshape(-1, columns))
    height = max(1, _PIECE // max(1, columns))

    def piece(low: int) -> Callable[[], float]:
        part = slice(low, low + height)
        mine = np.ascontiguousarray(left[:, part])
        return lambda: float(_add_products(out[part], before[part], mine, right))

    return sum(threads.run([piece(low) for low in range(0, rows, height)]))


@njit(nogil=True, cache=True)
def _add_products(out: Any, before: Any, left: Any, right: Any) -> float:
    """out = before + left^T right, terms added in order; squared norm of the sum."""
    terms, rows = left.shape
    columns = right.shape[1]
    step = np.empty(_TILE, np.float32)
    squares = 0.0
    for i in range(rows):
        for low in range(0, columns, _TILE):
            width = min(_TILE, columns - low)
            for j in range(width):
                step[j] = np.float32(0.0)
            k = 0
            while k + 4 <= terms:
                a, b, c, d = left[k, i], left[k + 1, i], left[k + 2, i], left[k + 3, i]
                ra, rb = right[k, low : low + width], right[k + 1, low : low + width]
                rc, rd = right[k + 2, low : low + width], right[k + 3, low : low + width]
                for j in range(width):
                    step[j] = step[j] + a * ra[j] + b * rb[j] + c * rc[j] + d * rd[j]
                k += 4
            while k < terms:
                a = left[k, i]
                ra = right[k, low : low + width]
                for j in range(width):
                    step[j] = step[j] + a * ra[j]
                k += 1
            total: Any = np.float32(0.0)
            for j in range(width):
                out[i, low + j] = before[i, low + j] + step[j]
                total += step[j] * step[j]
            squares += total
    return squares
