"""Capacitated vehicle routing, built step by step: the candidate names the next customer or the depot.

The instances are those of ``cvrp-aco``, split by split, so that the two never mix training and test sets.
The call is that of the public task ``cvrp_construct`` of LLM4AD (arXiv 2412.17287), whose instances (16,
capacity 40) are others.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from evaluators.decisions import as_integer, immutable
from evaluators.distances import euclidean
from evaluators.fresh import fresh
from evaluators.outcome import InvalidSolution
from problems.problem import Instance, Problem, Reference, Skeleton
from problems.recipe import Drawn, Recipe, Seeded, completed
from problems.references import known

CAPACITY = 50
SIZES = {"train": (50,), "val": (50, 20, 100), "test": (50, 100)}

DESCRIPTION = """\
Capacitated vehicle routing problem: vehicles that start from a depot and return to it serve every customer \
exactly once. The demands of the customers of one vehicle must not exceed its capacity, and the total length \
of all routes is to be as short as possible. Routes are built step by step: at each step a heuristic chooses \
the next customer, or the depot to end the route. A vehicle that can serve no customer any more returns by \
itself."""

TEMPLATE = '''\
import numpy as np


def select_next_node(
    current_node: int,
    depot: int,
    unvisited_nodes: np.ndarray,
    rest_capacity: int,
    demands: np.ndarray,
    distance_matrix: np.ndarray,
) -> int:
    """Choose the node to visit next.

    current_node: number of the node the vehicle is at.
    depot: number of the depot.
    unvisited_nodes: numbers of the unvisited customers whose demand fits, ascending, shape (k,), k > 0.
    rest_capacity: what the vehicle can still take.
    demands: demands of all nodes, 0 for the depot, shape (n,).
    distance_matrix: distances between all nodes, shape (n, n).
    Returns one number out of unvisited_nodes, or depot to start a new route, unless the vehicle is there.
    The arrays are read-only.
    """
'''

SKELETON = Skeleton(
    prefix='''\
import numpy as np

def select_next_node(current_node, depot, unvisited_nodes, rest_capacity, demands, distance_matrix):
    """Choose the next customer of a vehicle: the one with the smallest score."""
    near = distance_matrix[current_node, unvisited_nodes]
    home = distance_matrix[depot, unvisited_nodes]
    extra = near - home
    rest = distance_matrix[unvisited_nodes][:, unvisited_nodes].mean(axis=1)
    load = demands[unvisited_nodes] / rest_capacity
    score =''',
    suffix="""
    score = np.asarray(score, dtype=float)
    if score.shape != unvisited_nodes.shape:
        raise ValueError(f"score has shape {score.shape}, not {unvisited_nodes.shape}")
    if not np.isfinite(score).all():
        raise FloatingPointError("score is not finite")
    return unvisited_nodes[np.argmin(score)]
""",
    hint="""\
Vehicle routing: extra (length over a trip of its own), near (from the vehicle), home (to the depot), \
rest (mean, to the others), load (demand by free capacity): a number per customer. The lowest is next.""",
    lead="extra",
)


HEURISTICS = completed(
    SKELETON,
    {
        "nearest neighbour": "near",
        "greatest saving": "extra",
    },
)


def _draw(seeded: Seeded) -> Drawn:
    generator = seeded(1234)
    drawn: Drawn = {}
    for split, count, sizes in (("train", 10, (50,)), ("val", 64, (20, 50, 100)), ("test", 64, (50, 100))):
        for size in sizes:
            array = np.zeros((count, size + 1, 3))
            for instance in array:
                instance[0, :2] = 0.5
                instance[1:, :2] = generator.rand(size, 2)
                instance[1:, 2] = generator.randint(1, 10, size=size)
            drawn[split, size] = array
    return drawn


instances = Recipe("cvrp", SIZES, _draw)
"""Place (x, y) and demand of the depot and each customer, shape (instances, size + 1, 3).

From the published recipe; the public files have the demand in the first column.
"""


def taken_apart(instance: np.ndarray) -> tuple[np.ndarray, np.ndarray, int]:
    """Distances (n, n), demands (n,) int64 and the capacity of an instance.

    It has a row per node: x, y and demand for the capacity of ``CAPACITY``; or, as from files, the
    distances to the n nodes, the demand and, in each row, the capacity.
    """
    n, columns = instance.shape
    if columns == 3:
        return euclidean(instance[:, :2]), instance[:, 2].astype(np.int64), CAPACITY
    return instance[:, :n].copy(), instance[:, n].astype(np.int64), int(instance[0, n + 1])


def read(path: Path) -> list[Instance]:
    """The problem of a CVRPLIB file, its distances rounded as the file says."""
    from evaluators.instance_files.cvrplib import read_vrp

    found = read_vrp(path)
    limit = np.full(len(found.demands), float(found.capacity))
    array = np.column_stack([found.distances, found.demands, limit])[None]
    best = None if found.best is None else Reference(found.best, "solution beside the file")
    return [Instance(found.name, array, best)]


def run(heuristic: Callable[..., Any], instances: np.ndarray) -> np.ndarray:
    """Build the routes of every instance; shape (instances, 2 * customers) int64.

    A row holds the nodes visited after the start at the depot, which is 0: 0 ends a route, and zeros fill
    the row. The heuristic is called for every step but returns to the depot for lack of capacity.
    """
    count, n, _ = instances.shape
    visits = np.zeros((count, 2 * (n - 1)), dtype=np.int64)
    for row, instance in zip(visits, fresh(instances), strict=True):
        lengths, needs, capacity = taken_apart(instance)
        if instance.shape[1] != 3 and lengths.max() > 0:  # of a file, in units that candidates do not know
            lengths /= lengths.max()
        matrix, demands = immutable(lengths), immutable(needs)
        waiting = np.ones(n, dtype=np.bool_)
        waiting[0] = False
        current, left, step, served = 0, capacity, 0, 0
        while served < n - 1:
            nodes = immutable(np.flatnonzero(waiting & (needs <= left)))
            if len(nodes) == 0:
                current, left = 0, capacity
                step += 1
                continue
            chosen = as_integer(heuristic(current, 0, nodes, left, demands, matrix))
            if not 0 <= chosen < n:
                raise InvalidSolution(f"step {step + 1}: there is no node {chosen}")
            if chosen == 0:
                if current == 0:
                    raise InvalidSolution(f"step {step + 1}: the vehicle is at the depot already")
                left = capacity
            else:
                if not waiting[chosen]:
                    raise InvalidSolution(f"step {step + 1}: customer {chosen} was visited before")
                left -= int(needs[chosen])
                if left < 0:
                    raise InvalidSolution(f"step {step + 1}: the demand of customer {chosen} does not fit")
                waiting[chosen] = False
                served += 1
            row[step] = current = chosen
            step += 1
    return visits


def objective(instances: np.ndarray, decisions: np.ndarray) -> float:
    """Mean total length of the routes, rounded to 5 decimals.

    Raises:
        InvalidSolution: a row does not hold every customer exactly once, or a route takes too much.
    """
    count, n, _ = instances.shape
    if decisions.shape != (count, 2 * (n - 1)) or decisions.dtype.kind != "i":
        raise InvalidSolution(f"routes have shape {decisions.shape}, not {(count, 2 * (n - 1))}")
    expected = np.concatenate([np.zeros(n - 1, dtype=np.int64), np.arange(1, n)])
    if not (np.sort(decisions, axis=1) == expected).all():
        raise InvalidSolution("the routes do not visit every customer exactly once")
    totals = []
    for visits, instance in zip(decisions, instances, strict=True):
        lengths, demands, capacity = taken_apart(instance)
        loads = np.cumsum(demands[visits])
        ends = np.append(loads[visits == 0], loads[-1])
        if (np.diff(ends, prepend=0) > capacity).any():
            raise InvalidSolution("the demands of a route exceed the capacity")
        stops = np.concatenate([[0], visits, [0]])
        totals.append(lengths[stops[:-1], stops[1:]].sum())
    return round(float(np.mean(totals)), 5)


def reference(split: str, size: int) -> Reference | None:
    """The best value known for these instances, where one is."""
    return known("cvrp", split, size)


problem = Problem(
    name="cvrp",
    title="capacitated vehicle routing, step by step",
    description=DESCRIPTION,
    function="select_next_node",
    arguments=("current_node", "depot", "unvisited_nodes", "rest_capacity", "demands", "distance_matrix"),
    template=TEMPLATE,
    skeleton=SKELETON,
    heuristics=HEURISTICS,
    sizes=SIZES,
    instances=instances,
    redraw=instances.redraw,
    run=run,
    objective=objective,
    reference=reference,
    read=read,
)
