"""Symmetric admissible sets: their building blocks and the compiled greedy construction.

Definitions from Romera-Paredes et al., "Mathematical discoveries from program search with large language
models", Nature 625 (2024), and the supplement to it. An admissible set holds vectors over {0, 1, 2} with
the same number ``w`` of non-zero entries, no two with the same support, such that any three of them have
a coordinate with values {0, 0, 1}, {0, 0, 2} or {0, 1, 2}. A symmetric one is made of rows of ``n / 3``
blocks; each row stands for all vectors got by rotating its blocks of three, each on its own.
"""

from functools import cache
from itertools import product

import numpy as np
from numba import njit

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


def greedy(scores: np.ndarray, n: int, w: int) -> np.ndarray:
    """Numbers of the children that a greedy construction takes, in its order; int64.

    It takes the child with the largest of ``scores`` (k,) float64, the first of equal ones, drops all
    children that can no longer join, and starts again until none is left.
    """
    order = np.argsort(-scores, kind="stable")
    return _taken(children(n, w), order, clashes(), WEIGHTS, w)


def size(scores: np.ndarray, n: int, w: int) -> int:
    """How many vectors the set has that ``greedy`` builds."""
    rows = children(n, w)[greedy(scores, n, w)]
    return int(ROTATIONS[rows].prod(axis=1).sum())


@njit(cache=True, nogil=True)
def _taken(rows: np.ndarray, order: np.ndarray, clash: np.ndarray, weights: np.ndarray, w: int) -> np.ndarray:
    """Go through ``rows`` in ``order`` and take those that nothing taken before has struck out.

    A row cannot join when it clashes in every block with two rows taken (one row twice stands for
    two of its rotations). These are listed block by block, which is far less than going through all
    rows: rows are found in the table ``struck`` by their blocks read as a number in base 7.
    """
    count, groups = rows.shape
    struck = np.zeros(7**groups, dtype=np.bool_)
    taken = np.empty(count, dtype=np.int64)
    size = 0
    masks = np.empty(groups, dtype=np.int64)
    for child in order:
        code = 0
        for block in rows[child]:
            code = 7 * code + block
        if struck[code]:
            continue
        taken[size] = child
        size += 1
        for other in taken[:size]:
            for group in range(groups):
                masks[group] = clash[rows[other, group], rows[child, group]]
            _strike(struck, masks, weights, w)
    return taken[:size].copy()


@njit(cache=True, nogil=True)
def _strike(struck: np.ndarray, masks: np.ndarray, weights: np.ndarray, w: int) -> None:
    """Strike out all rows of weight ``w`` whose blocks are among ``masks`` (groups,), sets as bits."""
    groups = len(masks)
    least = np.zeros(groups + 1, dtype=np.int64)
    most = np.zeros(groups + 1, dtype=np.int64)
    for group in range(groups - 1, -1, -1):
        low, high = 3, 0
        for block in range(7):
            if masks[group] >> block & 1:
                low = min(low, weights[block])
                high = max(high, weights[block])
        least[group] = least[group + 1] + low
        most[group] = most[group + 1] + high
    if not least[0] <= w <= most[0]:
        return
    chosen = np.full(groups, -1, dtype=np.int64)
    left = np.empty(groups + 1, dtype=np.int64)
    code = np.zeros(groups + 1, dtype=np.int64)
    left[0] = w
    depth = 0
    while depth >= 0:
        chosen[depth] += 1
        if chosen[depth] == 7:
            depth -= 1
            continue
        if not masks[depth] >> chosen[depth] & 1:
            continue
        rest = left[depth] - weights[chosen[depth]]
        if not least[depth + 1] <= rest <= most[depth + 1]:
            continue
        code[depth + 1] = 7 * code[depth] + chosen[depth]
        if depth == groups - 1:
            struck[code[depth + 1]] = True
        else:
            depth += 1
            left[depth] = rest
            chosen[depth] = -1
