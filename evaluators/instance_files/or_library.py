"""OR-Library files (Beasley, JORS 41, 1990): bin packing, and knapsacks of one or several dimensions."""

import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from evaluators.instance_files.text import Words, broken, integer, lines, number

MAX_PROBLEMS = 10_000
MAX_ITEMS = 100_000
MAX_DIMENSIONS = 1_000
MAX_DECIMALS = 6
TINY = 1e-6
"""Least size and capacity."""


@dataclass(frozen=True)
class Bins:
    """A bin packing problem: ``sizes`` (n,) float64, ``best`` the fewest bins known.

    Times ``scale``, a power of ten, capacity and sizes are integers.
    """

    name: str
    sizes: np.ndarray
    capacity: float
    best: int
    scale: int


@dataclass(frozen=True)
class Knapsack:
    """A knapsack problem: ``values`` (n,), ``weights`` (n, m) and ``limits`` (m,), float64.

    ``best`` is the greatest value known, None where the file states none.
    """

    name: str
    values: np.ndarray
    weights: np.ndarray
    limits: np.ndarray
    best: float | None


def read_bins(path: Path) -> list[Bins]:
    """Bin packing (``binpack1`` and others): a count of problems; of each, its name, then capacity,
    number of items and bins of the best solution known, then the sizes.

    Raises:
        BrokenInstanceFile: the file is not laid out so, or an item is larger than a bin.
    """
    words = Words(path)
    found = []
    for _ in range(words.integer("the number of problems", 1, MAX_PROBLEMS)):
        _, name = words.word("the name of a problem")
        (capacity,) = words.numbers(1, "capacity, above 0", TINY)
        count = words.integer("the number of items", 1, MAX_ITEMS)
        best = words.integer("the number of bins of the best solution", 1, count)
        sizes = words.numbers(count, f"size for {name}, above 0 and at most {capacity:g}", TINY, capacity)
        scale = _scale(np.array([capacity, *sizes]))
        least = math.ceil(sum(sizes) / capacity - 1e-9)
        if best < least:
            raise broken(
                path, 0, f"{name}: {best} bins are stated, but the items need {least}; mend the count"
            )
        if not scale:
            raise broken(path, 0, f"{name}: sizes have more than {MAX_DECIMALS} decimals; round them")
        found.append(Bins(name, np.array(sizes), capacity, best, scale))
    words.end()
    return found


def _scale(numbers: np.ndarray) -> int:
    """The least power of ten that makes all ``numbers`` integers, 0 where that takes too many decimals."""
    for decimals in range(MAX_DECIMALS + 1):
        scaled = numbers * 10.0**decimals
        if np.allclose(scaled, np.rint(scaled), rtol=1e-12, atol=0.0):
            return 10**decimals
    return 0


def read_knapsacks(path: Path) -> list[Knapsack]:
    """Knapsack problems in one of two layouts.

    - OR-Library's ``mknap1`` and ``mknapcb1`` to ``9``: a count of problems; of each, the numbers of items
      and of dimensions and the optimum (0: unknown), then the values, the weights dimension by dimension,
      and the limits.
    - One 0-1 knapsack: a line with the number of items and the capacity; a line per item with value and
      weight; then, optionally, the optimal choice as zeros and ones.

    Raises:
        BrokenInstanceFile: the file has neither layout.
    """
    first = lines(path)[0]
    count = len(first.text.split())
    if count == 1:
        return _several(path)
    if count == 2:
        return [_single(path)]
    raise broken(
        path,
        first.number,
        f"has {count} numbers; give a count of problems (OR-Library), or number of items and capacity",
    )


def _several(path: Path) -> list[Knapsack]:
    words = Words(path)
    found = []
    for k in range(1, words.integer("the number of problems", 1, MAX_PROBLEMS) + 1):
        n = words.integer("the number of items", 1, MAX_ITEMS)
        m = words.integer("the number of dimensions", 1, MAX_DIMENSIONS)
        best = words.number("the optimum, 0 where unknown")
        values = words.numbers(n, "value, 0 or more")
        weights = words.numbers(n * m, "weight, 0 or more")
        limits = words.numbers(m, "limit, 0 or more")
        found.append(
            Knapsack(
                f"{path.stem}-{k}",
                np.array(values),
                np.array(weights).reshape(m, n).T.copy(),
                np.array(limits),
                best if best > 0 else None,
            )
        )
    words.end()
    return found


def _single(path: Path) -> Knapsack:
    head, *rows = lines(path)
    words = head.text.split()
    n = integer(words[0], path, head.number, "the number of items", 1, MAX_ITEMS)
    capacity = number(words[1], path, head.number, "the capacity")
    if capacity < 0:
        raise broken(path, head.number, f"capacity {capacity:g}; it has to be 0 or more")
    if len(rows) < n:
        last = rows[-1].number if rows else head.number
        raise broken(path, last, f"the file ends after {len(rows)} of {n} items")
    table = np.empty((n, 2))
    for k, row in enumerate(rows[:n]):
        words = row.text.split()
        if len(words) != 2:
            raise broken(path, row.number, f"has {len(words)} numbers; an item has a value and a weight")
        table[k] = [number(word, path, row.number, "a value or a weight, 0 or more") for word in words]
        if (table[k] < 0).any():
            raise broken(path, row.number, "has a negative number; values and weights are 0 or more")
    values, weights = table[:, 0].copy(), table[:, 1].copy()
    chosen = [(row.number, word) for row in rows[n:] for word in row.text.split()]
    best = None
    if chosen:
        taken = [integer(word, path, line, "a choice", 0, 1) for line, word in chosen]
        if len(taken) != n:
            raise broken(
                path, chosen[-1][0], f"there are {len(taken)} choices for {n} items; give one for each"
            )
        picked = np.array(taken) == 1
        if weights[picked].sum() > capacity:
            raise broken(path, chosen[0][0], "the items chosen do not fit; remove or mend the choice")
        best = float(values[picked].sum())
    return Knapsack(path.stem, values, weights[:, None], np.array([capacity]), best)
