"""Guided local search for the travelling salesman: the candidate says which edges to avoid.

Guided local search (Voudouris and Tsang, EJOR 113, 1999) leaves a local optimum by making some of its
edges look longer. Interface and loop are those of EoH's task of this name (arXiv 2401.02051), the
instances those of ReEvo's (arXiv 2402.01145). Here the search takes a fixed number of rounds, not of
seconds, and no random number, so an objective is the same on any machine.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from evaluators.decisions import immutable
from evaluators.fresh import fresh
from evaluators.outcome import InvalidSolution, NonFinite
from problems.problem import Problem, Reference, Skeleton
from problems.recipe import Drawn, Recipe, Seeded, completed
from problems.references import known
from problems.tsp import objective, read, shown

ROUNDS = 50
"""Calls of the candidate per instance."""
RETURN = 10
"""Every so many rounds the search goes on from the best tour so far."""
RAISED = 5
"""Most edges that a round counts as used and moves away from."""
NEIGHBOURS = 10
"""Nodes that a move may join a node to: its nearest ones."""
SIZES = {"train": (200,), "val": (200, 20, 50, 100), "test": (200, 20, 50, 100, 500, 1000)}

DESCRIPTION = """\
Travelling salesman problem: find a short closed tour through all nodes by guided local search. Whenever \
the local search is stuck in a local optimum, a heuristic changes the distances between the nodes. The \
edges whose distance it raises most are moved away from, then the local search goes on with the true \
distances. The heuristic should raise the edges of the tour that a better tour is likely to lack, and \
spread over many edges in the long run."""

TEMPLATE = '''\
import numpy as np


def update_edge_distance(
    edge_distance: np.ndarray, local_opt_tour: np.ndarray, edge_n_used: np.ndarray
) -> np.ndarray:
    """Change the distances so that the search leaves a local optimum.

    edge_distance: true distances between all nodes, shape (n, n), symmetric.
    local_opt_tour: numbers of the nodes in the order of the tour that is stuck, from node 0, shape (n,).
    edge_n_used: how often each edge was among those raised most, shape (n, n), symmetric.
    Returns the changed distances, shape (n, n), finite; both directions of an edge are averaged. The
    arrays are read-only.
    """
'''

SKELETON = Skeleton(
    prefix='''\
import numpy as np

def update_edge_distance(edge_distance, local_opt_tour, edge_n_used):
    """Raise the distances of edges that a shorter tour should avoid, by the score of each edge."""
    dist = edge_distance
    used = edge_n_used
    after = np.roll(local_opt_tour, -1)
    tour = np.zeros(dist.shape)
    tour[local_opt_tour, after] = tour[after, local_opt_tour] = 1.0
    util = tour * dist / (1.0 + used)
    score =''',
    suffix="""
    score = np.asarray(score, dtype=float)
    if score.shape != dist.shape:
        raise ValueError(f"score has shape {score.shape}, not {dist.shape}")
    if not np.isfinite(score).all():
        raise FloatingPointError("score is not finite")
    return dist + score
""",
    hint="""\
Travelling salesman: score each edge by how much longer it should look, from the matrices dist (distance), \
used (times avoided), tour (1 on the tour, else 0) and util (tour * dist / (1 + used)).""",
    lead="util",
)


HEURISTICS = completed(
    SKELETON,
    {
        "plain local search": "0 * util",
        "classic penalty": "util",
    },
)


def _draw(seeded: Seeded) -> Drawn:
    drawn = {}
    for split, seed, count in (("train", 5, 10), ("val", 3, 64), ("test", 4, 64)):
        generator = seeded(seed)
        for size in sorted(SIZES[split]):
            drawn[split, size] = generator.random_sample((count, size, 2))
    return drawn


instances = Recipe("tsp-gls", SIZES, _draw)
"""Coordinates in the unit square, shape (instances, size, 2), from the published recipe."""


def run(heuristic: Callable[..., Any], instances: np.ndarray) -> np.ndarray:
    """The best tour found for each instance; shape (instances, n) int64, starting at node 0.

    From the local optimum next to the nearest neighbour tour, ``ROUNDS`` times: the heuristic changes the
    distances; of the ``RAISED`` edges raised most, each is counted as used and each end makes its best
    move under the changed distances; then the local search goes on under the true ones.

    Raises:
        InvalidSolution: the heuristic returns no array of numbers of shape (n, n).
        NonFinite: what it returns is not finite.
    """
    return np.stack([_search(heuristic, shown(instance)) for instance in fresh(instances, heuristic)])


def _search(heuristic: Callable[..., Any], d: np.ndarray) -> np.ndarray:
    from evaluators import local_search as search

    n = len(d)
    given, near, least = immutable(d), search.neighbours(d, NEIGHBOURS), search.least_gain(d)
    used = np.zeros((n, n))
    tour = search.nearest_neighbour(d)
    position = np.argsort(tour)
    search.descend(tour.copy(), tour, position, d, near, least)
    best, length = tour.copy(), search.tour_length(tour, d)
    for turn in range(1, ROUNDS + 1):
        route = np.roll(tour, -int(position[0]))
        guided = search.symmetric(_distances(heuristic(given, immutable(route), immutable(used)), n, turn))
        edges = search.most_raised(guided, d, RAISED)
        used[edges[:, 0], edges[:, 1]] += 1.0
        used[edges[:, 1], edges[:, 0]] += 1.0
        changed = search.perturb(tour, position, guided, near, least, edges)
        search.descend(changed, tour, position, d, near, least)
        found = search.tour_length(tour, d)
        if found < length - least:
            best, length = tour.copy(), found
        if turn % RETURN == 0:
            tour[:] = best
            position[best] = np.arange(n)
    return np.asarray(np.roll(best, -int(best.argmin())))


def _distances(value: Any, n: int, turn: int) -> np.ndarray:
    """What a heuristic returned, as (n, n) float64."""
    try:
        array = np.asarray(value)
    except ValueError:
        raise InvalidSolution(f"call {turn}: the result is no array") from None
    if array.dtype.kind not in "iufb" or array.shape != (n, n):
        raise InvalidSolution(
            f"call {turn}: the result has shape {array.shape} of {array.dtype}, not {(n, n)} of numbers"
        )
    array = array.astype(np.float64, order="C")  # the only order the compiled loops are there for
    if not np.isfinite(array).all():
        raise NonFinite(f"call {turn}: the result has entries that are not finite")
    return array


def reference(split: str, size: int) -> Reference | None:
    """The best value known for these instances, where one is."""
    return known("tsp-gls", split, size)


problem = Problem(
    name="tsp-gls",
    title="travelling salesman, guided local search",
    description=DESCRIPTION,
    function="update_edge_distance",
    arguments=("edge_distance", "local_opt_tour", "edge_n_used"),
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
