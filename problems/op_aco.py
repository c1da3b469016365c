"""Orienteering by ant colony optimisation: the candidate says how promising steps are.

Rules of the public evaluators (ReEvo, arXiv 2402.01145, after DeepACO, arXiv 2309.14032): 20 ants, 50
iterations, decay 0.9; an ant starts at the depot, node 0, and moves on in proportion to pheromone times
heuristic among the nodes from which it can still return in time. Prizes grow with the distance to the depot
(Fischetti, Salazar and Toth, INFORMS Journal on Computing 10 (1998), generation 3), and the largest is 1;
the depot's own, 0.01, counts, as theirs does. The diagonal of the distances that the candidate sees is 1e9.

In 12 of the 389 instances rounding gives the farthest node 99 points instead of 100 before the largest
becomes 1. So it does in theirs, but there it hangs on the last bit of distances that torch works out: with
torch 2.13 on a processor with AVX2, all training and validation prizes are equal to ours, and those of 187
of the 192 test instances.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from evaluators.distances import euclidean
from problems.problem import Problem, Reference, Skeleton
from problems.recipe import Drawn, Recipe, Seeded, completed
from problems.references import known

ANTS, ITERATIONS, DECAY = 20, 50, 0.9
SIZES = {"train": (50,), "val": (50, 100, 200), "test": (50, 100, 200)}

DESCRIPTION = """\
Orienteering problem: visit nodes with the greatest total prize on a tour that starts and ends at node 0 \
and is at most maxlen long. Ants move from node to node at random: the more promising a heuristic says a \
step is, the likelier it is made, as long as the ant can still return in time."""

TEMPLATE = '''\
import numpy as np


def heuristics(prize: np.ndarray, distance: np.ndarray, maxlen: float) -> np.ndarray:
    """Say how promising each step from a node to another is.

    prize: prizes of the nodes, at most 1, shape (n,).
    distance: distances between the nodes, shape (n, n), with 1e9 on the diagonal.
    maxlen: greatest length of a tour.
    Returns an array of shape (n, n): at node i an ant moves to node j in proportion to entry (i, j).
    Entries have to be finite; those below 1e-9 count as 1e-9. The arrays are read-only.
    """
'''

SKELETON = Skeleton(
    prefix='''\
import numpy as np

def heuristics(prize, distance, maxlen):
    """Say how promising each step is, in proportion to its chance of being made."""
    gain = prize / distance
    near = 1 / distance
    home = np.where(distance[0] < 1e9, distance[0], 0) / maxlen
    prior =''',
    suffix="""
    prior = np.asarray(prior, dtype=float)
    if prior.shape != distance.shape:
        raise ValueError(f"prior has shape {prior.shape}, not {distance.shape}")
    if not np.isfinite(prior).all():
        raise FloatingPointError("prior is not finite")
    return prior
""",
    hint="""\
Per step: gain (prize over distance) and near (1 / distance); per node: prize and home (distance to the \
start over maxlen). A step is made in proportion to its prior, which is above 0; powers sharpen it.""",
    lead="gain",
)

HEURISTICS = completed(
    SKELETON,
    {
        "prize per distance": "gain",
        "nearest": "near",
        # Tsiligirides, Journal of the Operational Research Society 35 (1984), the stochastic method
        "prize per distance, to the fourth": "gain ** 4",
    },
)


def _draw(seeded: Seeded) -> Drawn:
    drawn = {}
    for split, seed, count in (("train", 1234, 5), ("val", 3456, 64), ("test", 4567, 64)):
        generator = seeded(seed)
        for size in SIZES[split]:
            drawn[split, size] = generator.rand(count, size, 2)
    return drawn


instances = Recipe("op-aco", SIZES, _draw)
"""Coordinates in the unit square, shape (instances, size, 2), from the published recipe."""


def longest(size: int) -> float:
    """Greatest length of a tour of ``size`` nodes."""
    return next(limit for most, limit in ((50, 3.0), (100, 4.0), (200, 5.0)) if size <= most)


def distances(coordinates: np.ndarray) -> np.ndarray:
    """Euclidean distances, shape (n, n), with 1e9 on the diagonal, of coordinates of shape (n, 2)."""
    matrix = euclidean(coordinates)
    np.fill_diagonal(matrix, 1e9)
    return matrix


def prizes(coordinates: np.ndarray) -> np.ndarray:
    """Prizes (n,) that grow with the distance to node 0, in hundredths of the largest, which is 1."""
    away = np.sqrt(((coordinates - coordinates[0]) ** 2).sum(axis=-1))
    found = 1 + np.floor(99 * away / away.max())
    return np.asarray(found / found.max())


def run(heuristic: Callable[..., Any], instances: np.ndarray) -> np.ndarray:
    """What the heuristic says of each step, shape (instances, n, n) float64."""
    from evaluators.priors import priors

    n = instances.shape[1]
    calls = ((prizes(nodes), distances(nodes), longest(n)) for nodes in instances)
    return priors(heuristic, calls, (n, n))


def solve(coordinates: np.ndarray, prior: np.ndarray, seed: int) -> tuple[float, np.ndarray]:
    """The greatest total prize the ants find for one instance, and the nodes of that tour from node 0."""
    from evaluators.aco_orienteering import collect
    from evaluators.guidance import pull

    limit = longest(len(coordinates))
    return collect(
        pull(prior), prizes(coordinates), distances(coordinates), limit, ANTS, ITERATIONS, DECAY, seed
    )


def objective(instances: np.ndarray, decisions: np.ndarray, seed: int = 0) -> float:
    """Minus the mean of the prizes the ants find, guided by ``decisions`` (instances, n, n).

    Raises:
        InvalidSolution: the decisions have another shape or type.
        NonFinite: one is NaN or infinite.
    """
    from evaluators.guidance import guidance

    count, n, _ = instances.shape
    priors = guidance(decisions, (count, n, n))
    return -float(
        np.mean([solve(*pair, seed + k)[0] for k, pair in enumerate(zip(instances, priors, strict=True))])
    )


def reference(split: str, size: int) -> Reference | None:
    """The best value known for these instances, where one is."""
    return known("op-aco", split, size)


problem = Problem(
    name="op-aco",
    title="orienteering by ant colony",
    description=DESCRIPTION,
    function="heuristics",
    arguments=("prize", "distance", "maxlen"),
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
)
