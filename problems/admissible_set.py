"""Symmetric admissible sets (of cap set research): the candidate says which vector to add first.

Rules and best known sizes: Romera-Paredes et al., "Mathematical discoveries from program search with
large language models", Nature 625 (2024), section on cap sets.
"""

import math
import numbers
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import numpy as np

from evaluators.outcome import InvalidSolution, NonFinite
from problems.problem import Problem, Reference, Skeleton
from problems.recipe import Drawn, Recipe, Seeded, completed

WEIGHTS = {12: 7, 15: 10, 21: 15, 24: 17}
"""Non-zero entries of vectors, by their length: the size of an instance is the length."""
SIZES = {"train": (15,), "val": (15, 12, 21), "test": (15, 12, 21, 24)}
KEPT = 10_000
"""Most vectors kept as tuples between candidates."""

DESCRIPTION = """\
Admissible sets: build a set, as large as possible, of vectors of length n over {0, 1, 2} with exactly w \
non-zero entries each. Two vectors never have the same non-zero positions, and any three have a position \
where their values are 0, 0, 1 or 0, 0, 2 or 0, 1, 2 in some order. The set is built greedily: the vector \
with the highest priority is added, all vectors that no longer fit are dropped, and so on until none is \
left. A vector is read in blocks of three, and brings along all vectors made by rotating its blocks."""

TEMPLATE = '''\
import numpy as np


def priority(el: tuple[int, ...], n: int, w: int) -> float:
    """Say how early a vector should be added to the set.

    el: the vector, n integers out of 0, 1 and 2, of which w are not 0.
    n: length of the vector, a multiple of 3.
    w: number of entries that are not 0.
    Returns a finite number: the vector with the largest one is added first.
    """
'''

SKELETON = Skeleton(
    prefix='''\
import math

def priority(el, n, w):
    """Priority of adding the vector el, n entries out of 0, 1 and 2, to a set that has to grow large."""
    last = el[-1:] + el[:-1]
    gap = sum(abs(a - b) for a, b in zip(el, last))
    falls = sum(a < b for a, b in zip(el, last))
    third = sum(a == b for a, b in zip(el, el[-3:] + el[:-3]))
    full = sum(all(el[k:k + 3]) for k in range(0, n, 3))
    ones = el.count(1)
    score =''',
    suffix="""
    if not math.isfinite(score):
        raise FloatingPointError("score is not finite")
    return score
""",
    hint="""\
Numbers of a vector of 0, 1, 2: gap (sum of neighbours' differences), falls (entries below the one before), \
third (entries equal to the third before), full (blocks of three without 0), ones. Highest score first.""",
    lead="gap",
)


HEURISTICS = completed(
    SKELETON,
    {
        "constant": "0.0",
        "few full blocks": "-full",
        "large steps": "gap",
    },
)


def _draw(_: Seeded) -> Drawn:
    return {(split, n): np.array([[n, WEIGHTS[n]]]) for split, sizes in SIZES.items() for n in sizes}


instances = Recipe("admissible-set", SIZES, _draw)
"""One instance of each size: the length n and the weight w, shape (1, 2). All splits share them."""


@cache
def _kept(n: int, w: int) -> list[tuple[int, ...]]:
    from evaluators.admissible_set import children, vectors

    return [tuple(row) for row in vectors(children(n, w)).tolist()]


def _elements(n: int, w: int) -> Iterator[tuple[int, ...]]:
    """The vectors to score, in their order."""
    from evaluators.admissible_set import children, vectors

    rows = children(n, w)
    if len(rows) <= KEPT:
        yield from _kept(n, w)
        return
    for start in range(0, len(rows), KEPT):
        yield from map(tuple, vectors(rows[start : start + KEPT]).tolist())


def run(heuristic: Callable[..., Any], instances: np.ndarray) -> np.ndarray:
    """Scores of all vectors, shape (1, vectors) float64. The heuristic is called once for each."""
    [(n, w)] = instances.tolist()
    return _scores([heuristic(element, n, w) for element in _elements(n, w)])[None]


def _scores(values: list[Any]) -> np.ndarray:
    try:
        array = np.asarray(values)
    except ValueError:
        raise InvalidSolution("a priority is no single number") from None
    if array.ndim == 1 and array.dtype.kind == "O":  # such as integers beyond 64 bits
        array = np.array([_number(value) for value in values])
    if array.ndim != 1 or array.dtype.kind not in "iufb":
        raise InvalidSolution("a priority is no single number")
    array = array.astype(np.float64)
    if not np.isfinite(array).all():
        raise NonFinite(f"the priority of vector {int(np.isfinite(array).argmin())} is not finite")
    return array


def _number(value: Any) -> float:
    if not isinstance(value, numbers.Real):
        raise InvalidSolution(f"a priority is {type(value).__name__}, not a number")
    try:
        return float(value)
    except OverflowError:
        return math.inf


def objective(instances: np.ndarray, decisions: np.ndarray) -> float:
    """Minus the size of the set that the priorities lead to.

    Raises:
        InvalidSolution: there is not one number for each vector.
        NonFinite: one is not finite.
    """
    from evaluators.admissible_greedy import size
    from evaluators.admissible_set import children

    [(n, w)] = instances.tolist()
    count = len(children(n, w))
    if decisions.shape != (1, count) or decisions.dtype.kind != "f":
        raise InvalidSolution(f"priorities have shape {decisions.shape}, not {(1, count)}")
    if not np.isfinite(decisions).all():
        raise NonFinite("a priority is not finite")
    return -float(size(decisions[0], n, w))


_SOURCE = "best known, FunSearch (Nature 625, 2024)"
_BEST = {12: 792, 15: 3003, 21: 43596, 24: 237984}


def reference(split: str, size: int) -> Reference | None:
    """Minus the largest size known; up to length 15 no set is larger (there are no more supports)."""
    return Reference(-float(_BEST[size]), _SOURCE) if size in SIZES.get(split, ()) else None


problem = Problem(
    name="admissible-set",
    title="admissible sets, greedily by priority",
    description=DESCRIPTION,
    function="priority",
    arguments=("el", "n", "w"),
    template=TEMPLATE,
    skeleton=SKELETON,
    heuristics=HEURISTICS,
    sizes=SIZES,
    instances=instances,
    run=run,
    objective=objective,
    reference=reference,
    time_limit=30.0,
    decimals=0,
)
