"""Travelling salesman, solved by an ant colony: the candidate says how promising each step is.

The training instances are the first five of those of ``tsp``: a search over both problems at once would
mix their splits.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from problems import tsp
from problems.problem import Problem, Reference, Skeleton
from problems.recipe import Drawn, Recipe, Seeded, completed
from problems.references import known

CLOSEST = 1e-6
"""Distance of nodes at one place, as files have them."""
SIZES = {"train": (50,), "val": (50, 20, 100), "test": (50, 100)}

DESCRIPTION = """\
Travelling salesman problem: visit every node exactly once and return to the start, on a tour as short \
as possible. An ant colony looks for tours: at each step an ant goes to an unvisited node with a \
probability in proportion to pheromone times prior. A heuristic computes the prior of every step from \
node to node, once per instance and before the ants start."""

TEMPLATE = '''\
import numpy as np


def heuristics(distance_matrix: np.ndarray) -> np.ndarray:
    """Say how promising it is to go from one node straight to another.

    distance_matrix: distances between all nodes, shape (n, n), with 1 on the diagonal.
    Returns the priors, shape (n, n): the larger entry (i, j), the likelier ants go from i to j.
    Entries have to be finite; those below 1e-9 count as 1e-9. The array is read-only.
    """
'''

SKELETON = Skeleton(
    prefix='''\
import numpy as np

def heuristics(distance_matrix):
    """Prior of each step from node i to node j: the larger, the likelier ants take the step."""
    near = 1 / distance_matrix
    rank = distance_matrix.argsort(axis=1).argsort(axis=1) + 1
    close = 1 / np.minimum(rank, rank.T)
    mean = distance_matrix.mean(axis=1)
    mean = (mean[:, None] + mean) / 2
    prior =''',
    suffix="""
    prior = np.asarray(prior, dtype=float)
    if prior.shape != distance_matrix.shape:
        raise ValueError(f"prior has shape {prior.shape}, not {distance_matrix.shape}")
    if not np.isfinite(prior).all():
        raise FloatingPointError("prior is not finite")
    return prior
""",
    hint="""\
Ant colony for tours: give each step from node to node a prior from the (n, n) arrays near (1 / distance), \
close (1 for the nearest node, 1/2 for the next) and mean (distance of both to all). Large is likely.""",
    lead="near ** 2",
)


HEURISTICS = completed(
    SKELETON,
    {
        "inverse distance": "near",
        "inverse distance squared": "near ** 2",
        "inverse distance to the fifth": "near ** 5",
        "ten nearest": "near ** 2 * (close >= 1 / 10)",
    },
)


def _draw(seeded: Seeded, tested: tuple[int, ...] = SIZES["test"]) -> Drawn:
    """All splits in one stream. The public file of 20 test nodes is of a stream that tests 20, 50 and 100."""
    generator = seeded(1234)
    drawn = {("train", 50): generator.rand(5, 50, 2)}
    for split, sizes in (("val", (20, 50, 100)), ("test", tested)):
        for size in sizes:
            drawn[split, size] = generator.rand(64, size, 2)
    return drawn


instances = Recipe("tsp-aco", SIZES, _draw)
"""Coordinates in the unit square, shape (instances, size, 2), from the published recipe."""


def run(heuristic: Callable[..., Any], instances: np.ndarray) -> np.ndarray:
    """The prior of each instance; shape (instances, n, n) float64."""
    from evaluators.priors import priors

    n = instances.shape[1]
    return priors(heuristic, ((shown(coordinates),) for coordinates in instances), (n, n))


def shown(instance: np.ndarray) -> np.ndarray:
    """Distances (n, n) as candidates see them: 1 on the diagonal and at least ``CLOSEST`` elsewhere, so that
    they can be divided by.

    Of coordinates (n, 2), or, as from files, of a matrix (n, n), divided by its largest entry.
    """
    matrix = np.maximum(tsp.shown(instance), CLOSEST)
    np.fill_diagonal(matrix, 1.0)
    return matrix


def objective(instances: np.ndarray, matrices: np.ndarray, seed: int) -> float:
    """Mean length of the best tours that colonies find, instance i with the seed ``seed + i``.

    Raises:
        InvalidSolution: not one prior of shape (n, n) per instance.
        NonFinite: a prior has entries that are not finite.
    """
    from evaluators.aco_routes import ANTS, ITERATIONS, as_priors, tour

    count, n, _ = instances.shape
    guided = zip(instances, as_priors(matrices, count, n), strict=True)
    lengths = []
    for i, (instance, prior) in enumerate(guided):
        length, route = tour(shown(instance), prior, seed + i, ANTS, ITERATIONS)
        if instance.shape[1] != 2:  # distances of a file: in its units
            length = float(instance[route, np.roll(route, -1)].sum())
        lengths.append(length)
    return float(np.mean(lengths))


def reference(split: str, size: int) -> Reference | None:
    """The best value known for these instances, where one is."""
    return known("tsp-aco", split, size)


problem = Problem(
    name="tsp-aco",
    title="travelling salesman, guiding an ant colony",
    description=DESCRIPTION,
    function="heuristics",
    arguments=("distance_matrix",),
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
    read=tsp.read,
)
