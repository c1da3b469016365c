"""Step-by-step vehicle routing in plain NumPy: every call gets copies, and sets are searched anew."""

from collections.abc import Callable
from copy import deepcopy
from typing import Any

import numpy as np

CAPACITY = 50


def _routes(matrix: np.ndarray, demands: np.ndarray, heuristic: Callable[..., Any]) -> list[int]:
    route, load, current = [0], 0, 0
    unvisited = set(range(1, len(demands)))
    nodes = np.array(sorted(unvisited))
    feasible = nodes
    while unvisited:
        chosen = int(heuristic(current, 0, feasible, CAPACITY - load, deepcopy(demands), deepcopy(matrix)))
        route.append(chosen)
        if chosen == 0:
            load = 0
        else:
            load += int(demands[chosen])
            unvisited.remove(chosen)
        current = chosen
        fitting = np.array([node for node in nodes if load + demands[node] <= CAPACITY], dtype=int)
        feasible = np.intersect1d(fitting, sorted(unvisited)).astype(int)
        if unvisited and len(feasible) == 0:
            route.append(0)
            load, current = 0, 0
            feasible = np.array(sorted(unvisited))
    return route


def evaluate(heuristic: Callable[..., Any], instances: np.ndarray, seed: int = 0) -> float:
    """The objective of ``heuristic``: mean total length."""
    del seed
    lengths = []
    for instance in instances:
        points, demands = instance[:, :2], instance[:, 2].astype(int)
        matrix = np.linalg.norm(points[:, None] - points[None], axis=-1)
        route = _routes(matrix, demands, heuristic)
        length = 0.0
        for a, b in zip(route, [*route[1:], route[0]], strict=True):
            length += float(np.linalg.norm(points[a] - points[b]))
        lengths.append(length)
    return float(np.mean(lengths))
