"""The noise of one rank's slice of a matrix, without making the whole.

Under tensor parallelism a rank holds some rows of a matrix (column-parallel layers, vocabularies) or some
of its columns (row-parallel layers). Noise belongs to the whole: element (i, j) of a matrix with ``width``
columns has value ``i * width + j`` of its name's noise, whoever holds it. So every split gives the same
model.
"""

import numpy as np

from ahd.es.noise import Float32, combine


def slice_noise(
    seed: int, name: str, shape: tuple[int, int], rows: tuple[int, int], columns: tuple[int, int]
) -> Float32:
    """Noise of the rows and columns from ``start`` to before ``stop`` of a matrix of ``shape``.

    Rows from ``shape[0]`` on are padding, as vocabularies have it, and get none. A vector is a matrix of one
    column.

    Returns:
        float32, shape ``(rows[1] - rows[0], columns[1] - columns[0])``.

    Raises:
        ValueError: the slice is turned round, begins before 0, or has columns that the matrix lacks.
    """
    height, width = shape
    if not (0 <= rows[0] <= rows[1] and 0 <= columns[0] <= columns[1] <= width):
        raise ValueError(f"rows {rows}, columns {columns}: no slice of a matrix of {height} by {width}")
    out = np.zeros((rows[1] - rows[0], columns[1] - columns[0]), np.float32)
    real = out[: max(0, height - rows[0])]
    combine(real, real, (seed,), name, (1.0,), rows[0] * width + columns[0], measure=False, width=width)
    return out
