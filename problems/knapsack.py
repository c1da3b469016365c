"""0-1 knapsack, filled step by step: the candidate names the next item."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from evaluators.decisions import as_integer
from evaluators.fresh import fresh
from evaluators.outcome import InvalidSolution
from problems.problem import Instance, Problem, Reference, Skeleton
from problems.recipe import Drawn, Recipe, Seeded, completed
from problems.references import known

SIZES = {"train": (100,), "val": (100, 50, 200), "test": (100, 50, 200)}
TOLERANCE = 1e-12
"""How far an item may exceed the remaining capacity: rounding only."""

DESCRIPTION = """\
0-1 knapsack problem: choose items of the greatest total value whose total weight does not exceed the \
capacity. The knapsack is filled step by step: at each step a heuristic chooses one of the remaining \
items, which has to fit, until no remaining item fits."""

TEMPLATE = '''\
import numpy as np


def select_next_item(remaining_capacity: float, weights: np.ndarray, values: np.ndarray) -> int:
    """Choose the item to put into the knapsack next.

    remaining_capacity: weight the knapsack can still take; at least one remaining item fits.
    weights: weights of the remaining items, shape (k,).
    values: values of the remaining items, shape (k,).
    Returns the index (0 to k - 1) of an item whose weight is at most remaining_capacity.
    The arrays are read-only.
    """
'''

SKELETON = Skeleton(
    prefix='''\
import numpy as np

def select_next_item(remaining_capacity, weights, values):
    """Choose the next item for the knapsack: the fitting item with the largest score."""
    ratio = values / weights
    share = weights / remaining_capacity
    left = remaining_capacity - weights
    score =''',
    suffix="""
    score = np.asarray(score, dtype=float)
    if score.shape != weights.shape:
        raise ValueError(f"score has shape {score.shape}, not {weights.shape}")
    fits = weights <= remaining_capacity
    if not np.isfinite(score[fits]).all():
        raise FloatingPointError("score is not finite")
    return np.argmax(np.where(fits, score, -np.inf))
""",
    hint="""\
The arrays weights, values, ratio (value per weight), share (of the remaining capacity) and left (capacity \
left after it) have one number per remaining item; the item with the largest score that fits is taken.""",
    lead="ratio",
)


HEURISTICS = completed(
    SKELETON,
    {
        "value per weight": "ratio",
        "greatest value": "values",
    },
)


def _draw(seeded: Seeded) -> Drawn:
    generator = seeded(3333)
    drawn = {("train", 100): generator.rand(64, 100, 2)}
    for split, count in (("val", 64), ("test", 1000)):
        for size in (50, 100, 200):
            drawn[split, size] = generator.rand(count, size, 2)
    return drawn


instances = Recipe("knapsack", SIZES, _draw)
"""Weight and value of each item, shape (instances, size, 2), from the published recipe."""


def capacity(size: int) -> float:
    """Capacity of the knapsack for ``size`` items."""
    return 12.5 if size == 50 else 25.0


def capacities(instances: np.ndarray) -> np.ndarray:
    """Capacity of each instance, (instances,): that of a third column where there is one, as from files."""
    count, n, columns = instances.shape
    return instances[:, 0, 2].copy() if columns == 3 else np.full(count, capacity(n))


def read(path: Path) -> list[Instance]:
    """The knapsacks of a file, with three columns: weight, value and, in each row, the capacity.

    Raises:
        BrokenInstanceFile: the file is broken, or has a knapsack of several dimensions.
    """
    from evaluators.instance_files.or_library import read_knapsacks
    from evaluators.instance_files.text import broken

    found = []
    for each in read_knapsacks(path):
        if len(each.limits) != 1:
            raise broken(path, 0, f"{each.name} has {len(each.limits)} dimensions; use mkp-aco")
        limit = np.full(len(each.values), each.limits[0])
        array = np.column_stack([each.weights[:, 0], each.values, limit])[None]
        best = None if each.best is None else Reference(-each.best, "stated in the file")
        found.append(Instance(each.name, array, best))
    return found


def run(heuristic: Callable[..., Any], instances: np.ndarray) -> np.ndarray:
    """Fill a knapsack per instance; items in the order taken, then -1, shape (instances, n) int64.

    The heuristic is called while the lightest remaining item fits.
    """
    count, n, _ = instances.shape
    chosen = np.full((count, n), -1, dtype=np.int64)
    for row, instance, limit in zip(chosen, fresh(instances), capacities(instances), strict=True):
        weights = instance[:, 0].tolist()
        heaviest = sorted(range(n), key=weights.__getitem__, reverse=True)
        numbers, taken, left = list(range(n)), [False] * n, float(limit)
        columns = [column.tobytes() for column in instance.T[:2].astype(np.float64)]
        for step in range(n):
            while taken[heaviest[-1]]:
                heaviest.pop()
            if weights[heaviest[-1]] > left:
                break
            index = as_integer(heuristic(left, *map(np.frombuffer, columns)))
            if not 0 <= index < len(numbers):
                raise InvalidSolution(f"step {step + 1}: there is no item {index} among {len(numbers)}")
            item = numbers.pop(index)
            if weights[item] > left + TOLERANCE:
                raise InvalidSolution(f"step {step + 1}: item {index} does not fit")
            left -= weights[item]
            taken[item] = True
            row[step] = item
            columns = [column[: 8 * index] + column[8 * index + 8 :] for column in columns]
    return chosen


def compiled(heuristic: Callable[..., Any], instances: np.ndarray) -> np.ndarray:
    """The items of ``run`` for a heuristic that Numba has compiled.

    Raises:
        ValueError: the heuristic does something wrong.
    """
    from evaluators.stepwise import filling

    chosen = np.empty(instances.shape[:2], dtype=np.int64)
    for row, instance, limit in zip(chosen, instances, capacities(instances), strict=True):
        row[:] = filling(heuristic, instance.T[:2].copy(), float(limit), TOLERANCE)
    return chosen


def objective(instances: np.ndarray, decisions: np.ndarray) -> float:
    """Minus the mean value of the chosen items, rounded to 5 decimals.

    Raises:
        InvalidSolution: a row holds numbers that are no items, an item twice, or too much weight.
    """
    count, n, _ = instances.shape
    if decisions.shape != (count, n) or decisions.dtype.kind != "i":
        raise InvalidSolution(f"choices have shape {decisions.shape}, not {(count, n)}")
    if decisions.min() < -1 or decisions.max() >= n:
        raise InvalidSolution("a choice is no item")
    chosen = decisions >= 0
    ordered = np.sort(decisions, axis=1)
    if ((ordered[:, 1:] == ordered[:, :-1]) & (ordered[:, 1:] >= 0)).any():
        raise InvalidSolution("an item is taken twice")
    picked = np.take_along_axis(instances, np.where(chosen, decisions, 0)[:, :, None], axis=1)
    picked = np.where(chosen[:, :, None], picked, 0.0)
    left = capacities(instances)
    for weights in picked[:, :, 0].T:
        if (weights > left + TOLERANCE).any():
            raise InvalidSolution("the items do not fit")
        left = left - weights
    return round(-float(picked[:, :, 1].sum(axis=1).mean()), 5)


def reference(split: str, size: int) -> Reference | None:
    """The optimum of these instances."""
    return known("knapsack", split, size)


problem = Problem(
    name="knapsack",
    title="0-1 knapsack, item by item",
    description=DESCRIPTION,
    function="select_next_item",
    arguments=("remaining_capacity", "weights", "values"),
    template=TEMPLATE,
    skeleton=SKELETON,
    heuristics=HEURISTICS,
    sizes=SIZES,
    instances=instances,
    redraw=instances.redraw,
    run=run,
    objective=objective,
    reference=reference,
    compiled=compiled,
    read=read,
)
