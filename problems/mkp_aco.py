"""Multidimensional knapsack by ant colony optimisation: the candidate says how promising items are.

Rules of the public evaluators (ReEvo, arXiv 2402.01145, after DeepACO, arXiv 2309.14032): 10 ants, 50
iterations, pheromone on items, decay 0.9; an ant takes items one after another, in proportion to pheromone
times heuristic among those that fit, until none does. Weights are divided by the limits, which thus are 1.
Theirs adds weights up in single precision; ours is exact.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from problems.problem import Instance, Problem, Reference, Skeleton
from problems.recipe import Drawn, Recipe, Seeded, completed
from problems.references import known

DIMENSIONS = 5
ANTS, ITERATIONS, DECAY = 10, 50, 0.9
SIZES = {"train": (100,), "val": (100, 300, 500), "test": (100, 200, 300, 500, 1000)}

DESCRIPTION = """\
Multidimensional knapsack problem: choose items of the greatest total prize. Every item has a weight in \
each of several dimensions, and in each dimension the total weight may be at most 1. Ants choose items at \
random, one after another: the more promising a heuristic says an item is, the likelier it is taken, as \
long as it fits."""

TEMPLATE = '''\
import numpy as np


def heuristics(prize: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Say how promising each item is.

    prize: prizes of the items, shape (n,).
    weight: weights of the items, shape (n, m); in each of the m dimensions the limit is 1.
    Returns an array of shape (n,): an ant takes an item in proportion to its entry. Entries have to
    be finite; those below 1e-9 count as 1e-9. The arrays are read-only.
    """
'''

SKELETON = Skeleton(
    prefix='''\
import numpy as np

def heuristics(prize, weight):
    """Say how promising each item is, in proportion to its chance of being taken."""
    total = weight.sum(axis=1)
    ratio = prize / total
    top = weight.max(axis=1)
    scarce = weight @ (weight.sum(axis=0) / weight.sum())
    prior =''',
    suffix="""
    prior = np.asarray(prior, dtype=float)
    if prior.shape != prize.shape:
        raise ValueError(f"prior has shape {prior.shape}, not {prize.shape}")
    if not np.isfinite(prior).all():
        raise FloatingPointError("prior is not finite")
    return prior
""",
    hint="""\
Per item: prize, total and top (sum and largest of its weights), scarce (its weight where room is scarce) \
and ratio (prize / total). An item is taken in proportion to its prior, which is above 0; powers sharpen \
it.""",
    lead="ratio",
)

HEURISTICS = completed(
    SKELETON,
    {
        # Dobson, Mathematics of Operations Research 7 (1982): prize over the sum of scaled weights
        "prize per weight": "ratio",
        "greatest prize": "prize",
        # Toyoda, Management Science 21 (1975): prize over weights that count by how scarce room is
        "prize per scarce weight": "prize / scarce",
    },
)


def _draw(seeded: Seeded) -> Drawn:
    drawn = {}
    for split, seed, count in (("train", 1234, 5), ("val", 3456, 5), ("test", 4567, 64)):
        generator = seeded(seed)
        for size in SIZES[split]:
            drawn[split, size] = np.stack([_instance(generator, size) for _ in range(count)])
    return drawn


def _instance(generator: np.random.RandomState, size: int) -> np.ndarray:
    prizes = generator.rand(size)
    weights = generator.rand(size, DIMENSIONS)
    limits = generator.uniform(low=weights.max(axis=0), high=weights.sum(axis=0))
    return np.column_stack([prizes, weights / limits])


instances = Recipe("mkp-aco", SIZES, _draw)
"""Prize and weights of each item, shape (instances, size, 1 + DIMENSIONS), from the published recipe."""


def read(path: Path) -> list[Instance]:
    """The problems of an OR-Library file, of any number of dimensions, weights divided by their limits.

    They are also made less by a part in 1e12, so that rounding keeps no choice out that fills a limit.

    Raises:
        BrokenInstanceFile: the file is broken, or a limit is 0.
    """
    from evaluators.instance_files.or_library import read_knapsacks
    from evaluators.instance_files.text import broken

    found = []
    for each in read_knapsacks(path):
        if not each.limits.all():
            raise broken(
                path, 0, f"{each.name} has a limit of 0; leave out that dimension and what weighs in it"
            )
        best = None if each.best is None else Reference(-each.best, "stated in the file")
        weights = each.weights / each.limits * (1.0 - 1e-12)
        found.append(Instance(each.name, np.column_stack([each.values, weights])[None], best))
    return found


def run(heuristic: Callable[..., Any], instances: np.ndarray) -> np.ndarray:
    """What the heuristic says of each item, shape (instances, n) float64."""
    from evaluators.priors import priors

    calls = ((items[:, 0], items[:, 1:]) for items in instances)
    return priors(heuristic, calls, instances.shape[1:2])


def solve(items: np.ndarray, prior: np.ndarray, seed: int) -> tuple[float, np.ndarray]:
    """The greatest total prize the ants find for one instance, and the items taken, (n,) bool."""
    from evaluators.aco_packing import fill
    from evaluators.guidance import pull

    prizes, weights = items[:, 0].copy(), items[:, 1:].copy()
    return fill(pull(prior), prizes, weights, ANTS, ITERATIONS, DECAY, seed)


def objective(instances: np.ndarray, decisions: np.ndarray, seed: int = 0) -> float:
    """Minus the mean of the prizes the ants find, guided by ``decisions`` (instances, n).

    Raises:
        InvalidSolution: the decisions have another shape or type.
        NonFinite: one is NaN or infinite.
    """
    from evaluators.guidance import guidance

    priors = guidance(decisions, instances.shape[:2])
    return -float(
        np.mean([solve(*pair, seed + k)[0] for k, pair in enumerate(zip(instances, priors, strict=True))])
    )


def reference(split: str, size: int) -> Reference | None:
    """The best value known for these instances, where one is."""
    return known("mkp-aco", split, size)


problem = Problem(
    name="mkp-aco",
    title="multidimensional knapsack by ant colony",
    description=DESCRIPTION,
    function="heuristics",
    arguments=("prize", "weight"),
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
    read=read,
)
