"""Symmetric admissible sets: their building blocks.

Definitions from Romera-Paredes et al., "Mathematical discoveries from program search with large language
models", Nature 625 (2024), and the supplement to it. An admissible set holds vectors over {0, 1, 2} with
the same number ``w`` of non-zero entries, no two with the same support, such that any three of them have
a coordinate with values {0, 0, 1}, {0, 0, 2} or {0, 1, 2}. A symmetric one is made of rows of ``n / 3``
blocks; each row stands for all vectors got by rotating its blocks of three, each on its own.
"""

from functools import cache
from itertools import product

import numpy as np

TRIPLES = ((0, 0, 0), (0, 0, 1), (0, 0, 2), (0, 1, 2), (0, 2, 1), (1, 1, 1), (2, 2, 2))
"""The blocks: one of each class of triples under rotation that rows may hold."""
WEIGHTS = np.array([np.count_nonzero(triple) for triple in TRIPLES])
"""Non-zero entries of each block."""
ROTATIONS = np.array([len({t[k:] + t[:k] for k in range(3)}) for t in TRIPLES])
"""Different rotations of each block."""


def _clash(x: int, y: int, z: int) -> bool:
    """Whether blocks ``x``, ``y`` and ``z`` can be rotated so that no coordinate tells them apart."""

    def rotations(block: int) -> list[tuple[int, ...]]:
        triple = TRIPLES[block]
        return [triple[k:] + triple[:k] for k in range(3)]

    good = ([0, 0, 1], [0, 0, 2], [0, 1, 2])
    return any(
        all(sorted(column) not in good for column in zip(*three, strict=True))
        for three in product(rotations(x), rotations(y), rotations(z))
    )


@cache
def clashes() -> np.ndarray:
    """For each two blocks the set of blocks that clash with them, as bits of a number; (7, 7) int64."""
    blocks = range(len(TRIPLES))
    return np.array([[sum(1 << z for z in blocks if _clash(x, y, z)) for y in blocks] for x in blocks])


@cache
def children(n: int, w: int) -> np.ndarray:
    """All rows of ``n / 3`` blocks with weight ``w`` in lexicographic order; (k, n / 3) int8, read-only.

    Raises:
        ValueError: ``n`` is no positive multiple of 3.
    """
    if n <= 0 or n % 3:
        raise ValueError(f"n has to be a positive multiple of 3, not {n}")
    rows = {0: np.empty((1, 0), dtype=np.int8)}
    for _ in range(n // 3):
        longer: dict[int, list[np.ndarray]] = {}
        for block in range(len(TRIPLES)):
            for weight, tails in rows.items():
                total = weight + int(WEIGHTS[block])
                if total <= w:
                    longer.setdefault(total, []).append(np.insert(tails, 0, block, axis=1))
        rows = {weight: np.concatenate(parts) for weight, parts in longer.items()}
    found = rows.get(w, np.empty((0, n // 3), dtype=np.int8))
    found.flags.writeable = False
    return found


def vectors(rows: np.ndarray) -> np.ndarray:
    """The vectors that ``rows`` (k, groups) are made of, blocks not rotated; (k, 3 * groups) int64."""
    return np.array(TRIPLES)[rows].reshape(len(rows), -1)
