"""Bin packing, all items known: the candidate says which items belong together.

Rules of the public evaluators (ReEvo, arXiv 2402.01145, as in MCTS-AHD, arXiv 2501.08603): 200 restarts, no
pheromone. A bin starts with a random item, then takes the fitting item with the highest mean prior over the
items in the bin. The objective is the least number of bins of the restarts, mean over instances: it moves
in steps of 1 / instances.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from evaluators.outcome import InvalidSolution
from problems.problem import Problem, Reference, Skeleton
from problems.recipe import Drawn, Recipe, Seeded, completed
from problems.references import known

CAPACITY = 150
RESTARTS = 200
SIZES = {"train": (500,), "val": (500, 120, 1000), "test": (500, 1000)}

DESCRIPTION = """\
Bin packing problem: put items of given sizes into as few bins of one capacity as possible. Bins are \
filled one after another: each starts with a random item and then takes, of the items that still fit, the \
most promising one beside those in the bin. A heuristic says how promising each pair of items is. The \
best of 200 such packings counts."""

TEMPLATE = '''\
import numpy as np


def heuristics(demand: np.ndarray, capacity: int) -> np.ndarray:
    """Say how promising it is to put two items into one bin.

    demand: sizes of the items, integers, shape (n,).
    capacity: size of every bin.
    Returns an array of shape (n, n): entry (i, j) says how good it is to add item j to a bin that holds
    item i, the higher the better. Entries have to be finite, the largest above 0; those below one
    millionth of the largest count as that. The array is read-only.
    """
'''

SKELETON = Skeleton(
    prefix='''\
import numpy as np

def heuristics(demand, capacity):
    """Say how promising each pair of items is for one bin, the higher the better."""
    size = np.tile(demand / demand.max(), (len(demand), 1))
    fill = (demand[:, None] + demand[None, :]) / capacity
    gap = np.abs(1 - fill)
    twin = np.abs(size - size.T)
    prior =''',
    suffix="""
    prior = np.asarray(prior, dtype=float)
    if prior.shape != size.shape:
        raise ValueError(f"prior has shape {prior.shape}, not {size.shape}")
    if not np.isfinite(prior).all():
        raise FloatingPointError("prior is not finite")
    return prior
""",
    hint="""\
For pairs of items: size (of the second one), fill (share of a bin both take), gap (share both leave) and \
twin (difference of sizes). The pair with the highest prior goes into one bin; priors are above 0.""",
    lead="size",
)

HEURISTICS = completed(
    SKELETON,
    {
        # Levine and Ducatelle, Journal of the Operational Research Society 55 (2004): the size of the item
        "largest first": "size",
        "first of the list": "np.ones_like(size)",
        "most alike": "1 - twin",
    },
)


def _draw(seeded: Seeded) -> Drawn:
    drawn = {}
    for split, seed, count, sizes in (
        ("train", 5, 5, (500,)),
        ("val", 3, 64, (120, 500, 1000)),
        ("test", 4, 64, (500, 1000)),
    ):
        generator = seeded(seed)
        for size in sizes:
            drawn[split, size] = generator.randint(20, 101, size=(count, size)).astype(np.int32)
    return drawn


instances = Recipe("bpp-aco", SIZES, _draw)
"""Sizes of items from 20 to 100, shape (instances, size) int32, from the published recipe."""


def run(heuristic: Callable[..., Any], instances: np.ndarray) -> np.ndarray:
    """The heuristic's priors, shape (instances, n, n) float64."""
    from evaluators.priors import priors

    n = instances.shape[1]
    return priors(heuristic, ((demand, CAPACITY) for demand in instances), (n, n))


def scaled(prior: np.ndarray) -> np.ndarray:
    """``prior`` (n, n) as the solver takes it: clipped to [1e-6, 1e6], largest 1, floor 1e-6."""
    prior = np.clip(prior, 1e-6, 1e6)
    return np.maximum(prior / prior.max(), 1e-6)


def objective(instances: np.ndarray, decisions: np.ndarray, seed: int = 0) -> float:
    """Mean number of bins of the best of the restarts, guided by ``decisions`` (instances, n, n).

    Raises:
        InvalidSolution: the priors have another shape or type, or are nowhere above 0 for an instance.
        NonFinite: a prior is NaN or infinite.
    """
    from evaluators.aco_packing import pack
    from evaluators.guidance import guidance

    count, n = instances.shape
    priors = guidance(decisions, (count, n, n))
    if (priors.max(axis=(1, 2)) <= 0).any():
        raise InvalidSolution("no prior of an instance is above 0")
    return float(
        np.mean(
            [
                pack(scaled(prior), demand, CAPACITY, RESTARTS, seed + number)[0]
                for number, (demand, prior) in enumerate(zip(instances, priors, strict=True))
            ]
        )
    )


def reference(split: str, size: int) -> Reference | None:
    """The best value known; else the mean of the least number of bins that the items' total size leaves
    room for."""
    least = -(-instances(split, size).sum(axis=1, dtype=np.int64) // CAPACITY)
    bound = Reference(float(least.mean()), "lower bound L1: total size over capacity")
    return known("bpp-aco", split, size) or bound


problem = Problem(
    name="bpp-aco",
    title="bin packing, pairs of items guide 200 restarts",
    description=DESCRIPTION,
    function="heuristics",
    arguments=("demand", "capacity"),
    template=TEMPLATE,
    skeleton=SKELETON,
    heuristics=HEURISTICS,
    sizes=SIZES,
    instances=instances,
    redraw=instances.redraw,
    run=run,
    objective=objective,
    reference=reference,
    seeded=True,
    chunk=8,  # a matrix of 1000 items takes 8 MB
)
