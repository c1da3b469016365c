"""Greedy construction of symmetric admissible sets in plain Python, one child at a time."""

from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np

from evaluators.admissible_set import ROTATIONS, TRIPLES, WEIGHTS, clashes

Row = tuple[int, ...]

_WEIGHTS = WEIGHTS.tolist()
_CLASHES = {
    tuple(sorted((x, y, z)))
    for x, row in enumerate(clashes().tolist())
    for y, mask in enumerate(row)
    for z in range(len(TRIPLES))
    if mask >> z & 1
}


def children(n: int, w: int) -> list[Row]:
    """All rows of weight ``w``."""
    return [
        row
        for row in product(range(len(TRIPLES)), repeat=n // 3)
        if sum(_WEIGHTS[block] for block in row) == w
    ]


def _survives(child: Row, new: Row, taken: list[Row]) -> bool:
    """Whether ``child`` can still join after ``new`` has, with ``taken`` in the set before it."""
    if all(_WEIGHTS[a] <= _WEIGHTS[b] for a, b in zip(new, child, strict=True)):
        return False
    if all(_WEIGHTS[a] >= _WEIGHTS[b] for a, b in zip(new, child, strict=True)):
        return False
    for other in taken:
        if all(tuple(sorted(three)) in _CLASHES for three in zip(other, new, child, strict=True)):
            return False
    return True


def solve(decisions: np.ndarray, instances: np.ndarray, seed: int = 0) -> float:
    """Minus the mean size of the sets built by scores (instances, k)."""
    del seed
    sizes = []
    for (n, w), given in zip(instances.tolist(), decisions, strict=True):
        left, scores = children(n, w), np.asarray(given)
        taken: list[Row] = []
        while left:
            new = left[int(np.argmax(scores))]
            kept = [index for index, child in enumerate(left) if _survives(child, new, taken)]
            left, scores = [left[index] for index in kept], scores[kept]
            taken.append(new)
        sizes.append(len([vector for row in taken for vector in _rotated(row)]))
    return -float(np.mean(sizes))


def _rotated(row: Row) -> list[Row]:
    """All vectors that a row stands for."""
    choices = []
    for block in row:
        triple = TRIPLES[block]
        choices.append([triple[k:] + triple[:k] for k in range(int(ROTATIONS[block]))])
    return [sum(parts, ()) for parts in product(*choices)]


def evaluate(heuristic: Callable[..., Any], instances: np.ndarray, seed: int = 0) -> float:
    """The objective of ``heuristic``: every child is scored once, then the set is built."""
    scores = [
        [heuristic(sum((TRIPLES[block] for block in row), ()), n, w) for row in children(n, w)]
        for n, w in instances.tolist()
    ]
    return solve(np.array(scores), instances, seed)
