"""Travelling salesman, built step by step: the candidate names the next node."""

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

NEIGHBOURS = 50
"""Most unvisited nodes a candidate is shown."""
SIZES = {"train": (50,), "val": (50, 20, 100, 200), "test": (50, 20, 100, 200)}

DESCRIPTION = """\
Travelling salesman problem: visit every node exactly once and return to the start, on a tour as short \
as possible. The tour is built step by step: at each step a heuristic chooses the next node among the \
unvisited ones."""

TEMPLATE = '''\
import numpy as np


def select_next_node(
    current_node: int, destination_node: int, unvisited_nodes: np.ndarray, distance_matrix: np.ndarray
) -> int:
    """Choose the node to visit next.

    current_node: number of the node the tour has reached.
    destination_node: number of the node where the tour started and has to end.
    unvisited_nodes: numbers of the unvisited nodes, nearest to current_node first, shape (k,).
    distance_matrix: distances between all nodes, shape (n, n).
    Returns one number out of unvisited_nodes. The arrays are read-only.
    """
'''

SKELETON = Skeleton(
    prefix='''\
import numpy as np

def select_next_node(current_node, destination_node, unvisited_nodes, distance_matrix):
    """Choose the next node of a short tour: the unvisited node with the smallest score."""
    near = distance_matrix[current_node, unvisited_nodes]
    home = distance_matrix[destination_node, unvisited_nodes]
    rest = distance_matrix[unvisited_nodes][:, unvisited_nodes].mean(axis=1)
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
Travelling salesman: score each unvisited node by its distances near (to the current node), home (to the \
start) and rest (mean, to the unvisited nodes). The node with the lowest score is visited next.""",
    lead="near",
)


FARTHEST_INSERTION = '''\
import numpy as np

_matrix = None
_after = None


def select_next_node(current_node, destination_node, unvisited_nodes, distance_matrix):
    """Follow the tour that farthest insertion builds when it first sees an instance."""
    global _matrix, _after
    if distance_matrix is not _matrix:
        _matrix, _after = distance_matrix, insert_farthest(distance_matrix, destination_node)
    return _after[current_node]


def insert_farthest(distance_matrix, start):
    """The node after each node on a tour that takes in the node farthest from it, where it costs least."""
    tour = np.array([start])
    apart = distance_matrix[start].copy()
    apart[start] = -1.0
    for _ in range(len(distance_matrix) - 1):
        node = int(apart.argmax())
        after = np.roll(tour, -1)
        detours = distance_matrix[tour, node] + distance_matrix[node, after] - distance_matrix[tour, after]
        tour = np.insert(tour, detours.argmin() + 1, node)
        apart = np.minimum(apart, distance_matrix[node])
        apart[node] = -1.0
    found = np.empty(len(tour), dtype=int)
    found[tour] = np.roll(tour, -1)
    return found
'''
"""Rosenkrantz, Stearns and Lewis, SIAM Journal on Computing 6 (1977). It plans ahead, the others do not."""

HEURISTICS = completed(
    SKELETON,
    {
        "nearest neighbour": "near",
        "nearest minus home": "near - 0.3 * home",
        "nearest minus rest": "near - 0.5 * rest",
    },
) | {"farthest insertion": FARTHEST_INSERTION}


def _draw(seeded: Seeded) -> Drawn:
    generator = seeded(1234)
    drawn = {("train", 50): generator.rand(64, 50, 2)}
    for split, count in (("val", 64), ("test", 1000)):
        for size in (20, 50, 100, 200):
            drawn[split, size] = generator.rand(count, size, 2)
    return drawn


instances = Recipe("tsp", SIZES, _draw)
"""Coordinates in the unit square, shape (instances, size, 2), from the published recipe."""


def holds_distances(instances: np.ndarray) -> bool:
    """Whether ``instances`` (count, n, n) are distance matrices, as files have, not coordinates."""
    return instances.shape[2] != 2


def distances(instance: np.ndarray) -> np.ndarray:
    """Distances, shape (n, n): Euclidean ones of coordinates (n, 2); a matrix (n, n), n > 2, as it is."""
    if instance.shape[1] != 2:
        return instance
    return euclidean(instance)


def shown(instance: np.ndarray) -> np.ndarray:
    """Distances as candidates are shown them: those of a file are divided by the largest.

    Candidates are made on the unit square; in the units of a file, constants of theirs would mean nothing.
    """
    matrix = distances(instance)
    largest = float(matrix.max())
    return matrix / largest if instance.shape[1] != 2 and largest > 0 else matrix


def run(heuristic: Callable[..., Any], instances: np.ndarray) -> np.ndarray:
    """Build a tour per instance; shape (instances, n) int64, each starting at node 0.

    The heuristic is called n - 2 times per instance; the last node is appended.
    """
    count, n, _ = instances.shape
    tours = np.zeros((count, n), dtype=np.int64)
    for tour, coordinates in zip(tours, fresh(instances), strict=True):
        matrix = shown(coordinates)
        order = np.argsort(matrix, axis=1, kind="stable")
        given = immutable(matrix)
        unvisited = np.ones(n, dtype=np.bool_)
        unvisited[0] = False
        current = 0
        for step in range(1, n - 1):
            nodes = order[current]
            nodes = immutable(nodes[unvisited[nodes]][:NEIGHBOURS])
            current = as_integer(heuristic(current, 0, nodes, given))
            if not 0 <= current < n:
                raise InvalidSolution(f"step {step}: there is no node {current}")
            if not unvisited[current]:
                raise InvalidSolution(f"step {step}: node {current} was visited before")
            unvisited[current] = False
            tour[step] = current
        tour[n - 1] = unvisited.argmax()
    return tours


def read(path: Path) -> list[Instance]:
    """The symmetric TSP of a TSPLIB file, as a matrix of distances, with the optimum where it is known."""
    from evaluators.instance_files import optima, tsplib

    name, matrix = tsplib.read_tsp(path)
    optimum = optima.optimum(name, len(matrix))
    return [Instance(name, matrix[None], None if optimum is None else Reference(optimum, optima.SOURCE))]


def compiled(heuristic: Callable[..., Any], instances: np.ndarray) -> np.ndarray:
    """The tours of ``run`` for a heuristic that Numba has compiled.

    Raises:
        ValueError: the heuristic does something wrong.
    """
    from evaluators.stepwise import tour

    tours = np.empty(instances.shape[:2], dtype=np.int64)
    for number, matrix in enumerate(map(shown, instances)):
        tours[number] = tour(heuristic, np.argsort(matrix, axis=1, kind="stable"), matrix, NEIGHBOURS)
    return tours


def objective(instances: np.ndarray, decisions: np.ndarray) -> float:
    """Mean length of the closed tours, rounded to 5 decimals.

    Raises:
        InvalidSolution: a row is no permutation of the nodes that starts at node 0.
    """
    count, n, _ = instances.shape
    if decisions.shape != (count, n) or decisions.dtype.kind != "i":
        raise InvalidSolution(f"tours have shape {decisions.shape}, not {(count, n)}")
    if not (np.sort(decisions, axis=1) == np.arange(n)).all():
        raise InvalidSolution("a tour does not visit every node exactly once")
    if decisions[:, 0].any():
        raise InvalidSolution("a tour does not start at node 0")
    if holds_distances(instances):
        legs = instances[np.arange(count)[:, None], decisions, np.roll(decisions, -1, axis=1)]
        return round(float(legs.sum(axis=1).mean()), 5)
    path = np.take_along_axis(instances, decisions[:, :, None], axis=1)
    steps = path - np.roll(path, -1, axis=1)
    lengths = np.sqrt((steps**2).sum(axis=-1)).sum(axis=1)
    return round(float(lengths.mean()), 5)


def reference(split: str, size: int) -> Reference | None:
    """The best value known for these instances, where one is."""
    return known("tsp", split, size)


problem = Problem(
    name="tsp",
    title="travelling salesman, step by step",
    description=DESCRIPTION,
    function="select_next_node",
    arguments=("current_node", "destination_node", "unvisited_nodes", "distance_matrix"),
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
