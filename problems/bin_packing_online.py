"""Online bin packing: items come one by one, and the candidate says which bin to put each one into."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from evaluators.fresh import fresh
from evaluators.outcome import InvalidSolution, NonFinite
from problems.problem import Instance, Problem, Reference, Skeleton
from problems.recipe import Drawn, Recipe, Seeded, completed

CAPACITY = 100
SIZES = {"train": (5000, 1000), "val": (5000, 1000), "test": (5000, 1000, 10000)}

DESCRIPTION = """\
Online bin packing: items of different sizes arrive one by one. Each has to be put into a bin at once, \
without knowledge of later items, and stays there. The sizes in a bin must not exceed its capacity, and as \
few bins as possible are to be used. For every item a heuristic gives each bin with enough room a priority; \
the item goes into the bin with the highest one."""

TEMPLATE = '''\
import numpy as np


def priority(item: int, bins: np.ndarray) -> np.ndarray:
    """Rate the bins for an item.

    item: size of the item.
    bins: remaining capacities of all bins that the item fits in, shape (k,); bins that are still empty
        are among them, at the end mostly. None is smaller than item.
    Returns the priorities, shape (k,): the item goes into the bin with the highest one, the first of equals.
    """
'''

SKELETON = Skeleton(
    prefix='''\
import numpy as np

def priority(item, bins):
    """Priority of each bin for an item: it goes into the bin with the highest score."""
    left = bins - item
    share = item / bins
    empty = bins == bins.max()
    rank = np.arange(len(bins))
    score =''',
    suffix="""
    score = np.asarray(score, dtype=float)
    if score.shape != bins.shape:
        raise ValueError(f"score has shape {score.shape}, not {bins.shape}")
    if not np.isfinite(score).all():
        raise FloatingPointError("score is not finite")
    return score
""",
    hint="""\
Bin packing: the arrays left (room left in a bin after the item), share (item size by room), empty (if it is \
new) and rank (0, 1, 2, ...) have one number per bin. The highest score wins: few bins are to be opened.""",
    lead="-left",
)


HEURISTICS = completed(
    SKELETON,
    {
        "best fit": "-left",
        "first fit": "-rank",
    },
)


def _draw(seeded: Seeded) -> Drawn:
    generator = seeded(1234)

    def weibull(count: int, size: int) -> np.ndarray:
        sizes = np.clip(generator.weibull(3, count * size) * 45, None, CAPACITY)
        return np.asarray(np.round(sizes).astype(np.int64).reshape(count, size))

    order = [("train", 5000), ("train", 1000), ("val", 5000), ("val", 1000)]
    order += [("test", 1000), ("test", 5000), ("test", 10000)]
    return {(split, size): weibull(1 if split == "train" else 5, size) for split, size in order}


instances = Recipe("bin-packing-online", SIZES, _draw)
"""Sizes of items in the order they arrive, shape (instances, size) int64, from the published recipe.

Weibull(3) times 45, at most 100, rounded. One instance in training sets, five in others. The published
sets for a capacity of 500 come from the same stream but are not offered.
"""


def taken_apart(instance: np.ndarray) -> tuple[np.ndarray, int]:
    """Sizes (n,) int64 of the items and capacity of the bins: ``CAPACITY``, or that of a second column."""
    return (instance, CAPACITY) if instance.ndim == 1 else (instance[:, 0], int(instance[0, 1]))


def read(path: Path) -> list[Instance]:
    """The problems of an OR-Library file, items arriving in its order; (1, n, 2) int64, size and capacity.

    Sizes with decimals are multiplied by a power of ten that makes all of them integers.
    """
    from evaluators.instance_files.or_library import read_bins

    found = []
    for each in read_bins(path):
        table = np.column_stack([each.sizes, np.full(len(each.sizes), each.capacity)])[None]
        best = Reference(each.best, "stated in the file")
        found.append(Instance(each.name, np.rint(table * each.scale).astype(np.int64), best))
    return found


def run(heuristic: Callable[..., Any], instances: np.ndarray) -> np.ndarray:
    """Pack every instance; bin numbers of the items in their order, shape (instances, n) int64.

    The heuristic is called for every item with the remaining capacities of the bins it fits in, of as
    many bins as there are items: the empty ones are shown too, so that heuristics that compare
    neighbours in the array do what they did where they were published. The array is the heuristic's own.
    """
    from evaluators.packing import fitting, put

    n = instances.shape[1]
    packed = np.empty(instances.shape[:2], dtype=np.int64)
    for row, (items, capacity) in zip(packed, map(taken_apart, fresh(instances, heuristic)), strict=True):
        left = np.full(n, capacity)
        for step, item in enumerate(items.tolist()):
            capacities = fitting(left, item)
            count = len(capacities)
            row[step] = put(left, item, _best(heuristic(item, capacities), count, step))
    return packed


def _best(priorities: Any, count: int, step: int) -> int:
    """Index of the first of the largest of ``count`` priorities; infinities are allowed."""
    try:
        priorities = np.asarray(priorities)
    except ValueError:
        raise InvalidSolution(f"item {step + 1}: the priorities are no array") from None
    if priorities.shape != (count,) or priorities.dtype.kind not in "iufb":
        raise InvalidSolution(
            f"item {step + 1}: the priorities have shape {priorities.shape} of {priorities.dtype}, "
            f"not {(count,)} of numbers"
        )
    best = int(priorities.argmax())
    if priorities[best] != priorities[best]:
        raise NonFinite(f"item {step + 1}: a priority is NaN")
    return best


def bounds(instances: np.ndarray) -> np.ndarray:
    """Least bins that the total size of the items needs, shape (instances,): the L1 bound."""
    return np.asarray(-(-instances.sum(axis=1) // CAPACITY))


def objective(instances: np.ndarray, decisions: np.ndarray) -> float:
    """Mean bins used above the mean L1 bound, in percent of it, rounded to 5 decimals.

    Of instances from files, the mean bins used: those have best values in bins.

    Raises:
        InvalidSolution: a decision is no bin, or the items in a bin exceed its capacity.
    """
    count, n = instances.shape[:2]
    if decisions.shape != (count, n) or decisions.dtype.kind != "i":
        raise InvalidSolution(f"packings have shape {decisions.shape}, not {(count, n)}")
    if decisions.min() < 0 or decisions.max() >= n:
        raise InvalidSolution("a decision is no bin")
    used = 0
    for (items, capacity), bins in zip(map(taken_apart, instances), decisions, strict=True):
        loads = np.zeros(n, dtype=np.int64)
        np.add.at(loads, bins, items)
        if loads.max() > capacity:
            raise InvalidSolution("the items do not fit in a bin")
        used += int(np.count_nonzero(loads))
    if instances.ndim == 3:
        return round(float(used / count), 5)
    bound = bounds(instances).sum()
    return round(float(100 * (used - bound) / bound), 5)


def reference(split: str, size: int) -> Reference | None:
    """No packing has less than no excess."""
    return Reference(0.0, "L1 bound") if size in SIZES.get(split, ()) else None


problem = Problem(
    name="bin-packing-online",
    title="online bin packing, item by item",
    description=DESCRIPTION,
    function="priority",
    arguments=("item", "bins"),
    template=TEMPLATE,
    skeleton=SKELETON,
    heuristics=HEURISTICS,
    sizes=SIZES,
    instances=instances,
    redraw=instances.redraw,
    run=run,
    apart=True,
    objective=objective,
    reference=reference,
    read=read,
)
