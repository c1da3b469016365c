"""Travelling salesman, built step by step: the candidate names the next node."""

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from evaluators.decisions import as_integer, immutable
from evaluators.outcome import InvalidSolution
from problems.problem import Problem, Reference, Skeleton

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


def _complete(expression: str) -> str:
    return f"{SKELETON.prefix} {expression}{SKELETON.suffix}"


HEURISTICS = {
    "nearest neighbour": _complete("near"),
    "nearest minus home": _complete("near - 0.3 * home"),
    "nearest minus rest": _complete("near - 0.5 * rest"),
}


@cache
def _draw() -> dict[tuple[str, int], np.ndarray]:
    generator = np.random.RandomState(1234)
    drawn = {("train", 50): generator.rand(64, 50, 2)}
    for split, count in (("val", 64), ("test", 1000)):
        for size in (20, 50, 100, 200):
            drawn[split, size] = generator.rand(count, size, 2)
    for array in drawn.values():
        array.flags.writeable = False
    return drawn


def instances(split: str, size: int) -> np.ndarray:
    """Coordinates in the unit square, shape (instances, size, 2), from the published recipe.

    Raises:
        ValueError: the split has no such size.
    """
    if size not in SIZES.get(split, ()):
        offered = SIZES[split] if split in SIZES else tuple(SIZES)
        raise ValueError(f"tsp has no {split} instances of size {size}: use {offered}")
    return _draw()[split, size]


def distances(coordinates: np.ndarray) -> np.ndarray:
    """Euclidean distances, shape (n, n), of coordinates of shape (n, 2)."""
    difference = coordinates[:, None] - coordinates[None]
    return np.asarray(np.sqrt((difference**2).sum(axis=-1)))


def run(heuristic: Callable[..., Any], instances: np.ndarray) -> np.ndarray:
    """Build a tour per instance; shape (instances, n) int64, each starting at node 0.

    The heuristic is called n - 2 times per instance; the last node is appended.
    """
    from evaluators.stepwise import nearest_unvisited

    count, n, _ = instances.shape
    tours = np.zeros((count, n), dtype=np.int64)
    for tour, coordinates in zip(tours, instances, strict=True):
        matrix = distances(coordinates)
        order = np.argsort(matrix, axis=1, kind="stable")
        shown = immutable(matrix)
        visited = np.zeros(n, dtype=np.bool_)
        visited[0] = True
        current = 0
        for step in range(1, n - 1):
            nodes = nearest_unvisited(order[current], visited, NEIGHBOURS)
            current = as_integer(heuristic(current, 0, immutable(nodes), shown))
            if not 0 <= current < n:
                raise InvalidSolution(f"step {step}: there is no node {current}")
            if visited[current]:
                raise InvalidSolution(f"step {step}: node {current} was visited before")
            visited[current] = True
            tour[step] = current
        tour[n - 1] = visited.argmin()
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
    path = np.take_along_axis(instances, decisions[:, :, None], axis=1)
    steps = path - np.roll(path, -1, axis=1)
    lengths = np.sqrt((steps**2).sum(axis=-1)).sum(axis=1)
    return round(float(lengths.mean()), 5)


_SEARCHED = "iterated local search (benchmarks/references.py)"
_REFERENCES = {
    ("train", 50): Reference(5.70445, _SEARCHED),
    ("val", 20): Reference(3.80395, _SEARCHED),
    ("val", 50): Reference(5.75466, _SEARCHED),
    ("val", 100): Reference(7.72676, _SEARCHED),
    ("val", 200): Reference(10.71302, _SEARCHED),
    ("test", 20): Reference(3.81989, _SEARCHED),
    ("test", 50): Reference(5.675, "published optimum, arXiv 2608.17310"),
    ("test", 100): Reference(7.7703, _SEARCHED),
}


def reference(split: str, size: int) -> Reference | None:
    """The best value known for these instances, where one is."""
    return _REFERENCES.get((split, size))


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
    run=run,
    objective=objective,
    reference=reference,
)
