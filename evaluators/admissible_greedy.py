"""The compiled greedy construction of symmetric admissible sets, for which see ``admissible_set``."""

import numpy as np
from numba import njit

from evaluators.admissible_set import ROTATIONS, WEIGHTS, children, clashes


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
