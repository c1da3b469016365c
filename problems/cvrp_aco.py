"""Vehicle routes under a capacity, solved by an ant colony: the candidate says how promising each step is.

The objective is the true cost of the routes. The public evaluator also charges ants that are done for
waiting until the slowest one is (see ``evaluators.aco_routes.routes``), which steers the colony too: with
the inverse distance it makes 18.7 of 13.4 on the training instances, with better priors less.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from evaluators.distances import euclidean
from problems.problem import Problem, Reference, Skeleton
from problems.recipe import Drawn, Recipe, Seeded, completed
from problems.references import known

CAPACITY = 50
SIZES = {"train": (50,), "val": (50, 20, 100), "test": (50, 100)}

DESCRIPTION = """\
Capacitated vehicle routing problem: serve every customer exactly once, on routes that start and end at \
the depot and as short as possible in total; the demands on a route must not exceed the capacity of the \
vehicle. An ant colony looks for routes: at each step an ant goes to the depot or to an unserved customer \
that fits, with a probability in proportion to pheromone times prior. A heuristic computes the prior of \
every step from node to node, once per instance and before the ants start."""

TEMPLATE = '''\
import numpy as np


def heuristics(
    distance_matrix: np.ndarray, coordinates: np.ndarray, demands: np.ndarray, capacity: int
) -> np.ndarray:
    """Say how promising it is to go from one node straight to another. Node 0 is the depot.

    distance_matrix: distances between all nodes, shape (n, n), with 1 on the diagonal.
    coordinates: places of the nodes, shape (n, 2).
    demands: demands of the nodes, shape (n,), 0 for the depot.
    capacity: most demand on one route.
    Returns the priors, shape (n, n): the larger entry (i, j), the likelier ants go from i to j.
    Entries have to be finite; those below 1e-9 count as 1e-9. The arrays are read-only.
    """
'''

SKELETON = Skeleton(
    prefix='''\
import numpy as np

def heuristics(distance_matrix, coordinates, demands, capacity):
    """Prior of each step from node i to node j: the larger, the likelier ants take the step."""
    near = 1 / distance_matrix
    rank = distance_matrix.argsort(axis=1).argsort(axis=1) + 1
    close = 1 / np.minimum(rank, rank.T)
    home = np.where(demands > 0, distance_matrix[0], 0)
    save = home[:, None] + home - distance_matrix + 0.05
    load = demands / capacity
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
Ant colony for vehicle routes: each step from node to node needs a prior from near (1 / distance), close (1 \
for the nearest, 1/2 for the next), save (against trips by the depot), home, load (of it). High is likely.""",
    lead="near ** 2 * save",
)


HEURISTICS = completed(
    SKELETON,
    {
        "inverse distance": "near",
        "inverse distance squared": "near ** 2",
        # Clarke and Wright, Operations Research 12 (1964)
        "savings": "near ** 2 * save ** 2",
    },
)


def _draw(seeded: Seeded, tested: tuple[int, ...] = SIZES["test"]) -> Drawn:
    """All splits in one stream. The public file of 20 test nodes is of a stream that tests 20, 50 and 100."""
    generator = seeded(1234)

    def instance(size: int) -> np.ndarray:
        customers = generator.rand(size, 2)
        demands = generator.randint(1, 10, size=size)
        return np.vstack([[0.5, 0.5, 0.0], np.column_stack([customers, demands])])

    drawn = {}
    for split, count, sizes in (("train", 10, (50,)), ("val", 64, (20, 50, 100)), ("test", 64, tested)):
        for size in sizes:
            drawn[split, size] = np.stack([instance(size) for _ in range(count)])
    return drawn


instances = Recipe("cvrp-aco", SIZES, _draw)
"""Place (x, y) and demand of the depot and each customer, shape (instances, size + 1, 3).

From the published recipe; the public files have the demand in the first column.
"""


def run(heuristic: Callable[..., Any], instances: np.ndarray) -> np.ndarray:
    """The prior of each instance; shape (instances, size + 1, size + 1) float64."""
    from evaluators.priors import priors

    n = instances.shape[1]
    return priors(heuristic, map(shown, instances), (n, n))


def shown(instance: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, int]:
    """Distances with 1 on the diagonal, coordinates, demands and capacity, as candidates see them."""
    coordinates = instance[:, :2]
    matrix = euclidean(coordinates)
    np.fill_diagonal(matrix, 1.0)
    return matrix, coordinates, instance[:, 2].copy(), CAPACITY


def objective(instances: np.ndarray, matrices: np.ndarray, seed: int, waiting_charge: bool = False) -> float:
    """Mean cost of the best routes that colonies find, instance i with the seed ``seed + i``.

    With ``waiting_charge``, what the public evaluator calls their cost.

    Raises:
        InvalidSolution: not one prior of shape (size + 1, size + 1) per instance.
        NonFinite: a prior has entries that are not finite.
    """
    from evaluators.aco_routes import ANTS, ITERATIONS, as_priors, routes

    count, n, _ = instances.shape
    costs = []
    for i, (instance, prior) in enumerate(zip(instances, as_priors(matrices, count, n), strict=True)):
        matrix, _, demands, capacity = shown(instance)
        found = routes(matrix, demands, float(capacity), prior, seed + i, ANTS, ITERATIONS, waiting_charge)
        costs.append(found[0])
    return float(np.mean(costs))


def reference(split: str, size: int) -> Reference | None:
    """The best value known for these instances, where one is."""
    return known("cvrp-aco", split, size)


problem = Problem(
    name="cvrp-aco",
    title="capacitated vehicle routing, guiding an ant colony",
    description=DESCRIPTION,
    function="heuristics",
    arguments=("distance_matrix", "coordinates", "demands", "capacity"),
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
