"""Step-by-step ``tsp`` in plain NumPy, like the public evaluators: neighbours are filtered anew each step."""

from collections.abc import Callable
from typing import Any

import numpy as np

NEIGHBOURS = 50


def evaluate(heuristic: Callable[..., Any], instances: np.ndarray, seed: int = 0) -> float:
    """The objective of ``heuristic``: mean length."""
    del seed
    lengths = []
    for nodes in instances:
        distances = np.linalg.norm(nodes[:, None] - nodes[None], axis=-1)
        tour = _tour(heuristic, distances)
        length = 0.0
        for a, b in zip(tour, np.roll(tour, -1), strict=True):
            length += np.linalg.norm(nodes[a] - nodes[b])
        lengths.append(length)
    return round(float(np.mean(lengths)), 5)


def _tour(heuristic: Callable[..., Any], distances: np.ndarray) -> np.ndarray:
    n = len(distances)
    neighbours = np.argsort(distances, axis=1)
    tour = np.zeros(n, dtype=int)
    current = 0
    for step in range(1, n - 1):
        near = neighbours[current][1:]
        unvisited = near[~np.isin(near, tour[:step])][:NEIGHBOURS]
        current = heuristic(current, 0, unvisited, distances)
        if current in tour[:step]:
            raise ValueError("visited before")
        tour[step] = current
    tour[-1] = np.setdiff1d(np.arange(n), tour[:-1])[0]
    return tour
