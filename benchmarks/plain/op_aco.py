"""``op-aco`` in plain NumPy: all ants at once, what is in reach ant by ant, like the public evaluators."""

from collections.abc import Callable
from typing import Any

import numpy as np

from problems.op_aco import ANTS, DECAY, ITERATIONS, distances, longest, prizes


def evaluate(heuristic: Callable[..., Any], instances: np.ndarray, seed: int = 0) -> float:
    """Minus the mean total prize, the heuristic's priors included."""
    limit = longest(instances.shape[1])
    priors = np.stack([heuristic(prizes(nodes), distances(nodes), limit) for nodes in instances])
    return solve(priors, instances, seed)


def solve(decisions: np.ndarray, instances: np.ndarray, seed: int) -> float:
    """Minus the mean of the best total prizes, guided by ``decisions`` (instances, n, n)."""
    limit = longest(instances.shape[1])
    found = [
        _best(prizes(nodes), distances(nodes), limit, prior, np.random.RandomState(seed + number))
        for number, (nodes, prior) in enumerate(zip(instances, decisions, strict=True))
    ]
    return -float(np.mean(found))


def _best(
    prize: np.ndarray,
    distance: np.ndarray,
    limit: float,
    prior: np.ndarray,
    generator: np.random.RandomState,
) -> float:
    prior = np.maximum(prior + 1e-9, 1e-9)
    pheromone = np.ones(distance.shape)
    best = 0.0
    for _ in range(ITERATIONS):
        tours = _ants(distance, limit, pheromone * prior, generator)
        totals = [prize[tour].sum() for tour in tours]
        best = max(best, *totals)
        pheromone = pheromone * DECAY
        for tour, total in zip(tours, totals, strict=True):
            pheromone[tour[:-1], tour[1:]] += total / prize.sum()
    return best


def _ants(
    distance: np.ndarray, limit: float, chance: np.ndarray, generator: np.random.RandomState
) -> list[list[int]]:
    """The tour of each ant, one step of every ant at a time."""
    n = len(distance)
    allowed = np.ones((ANTS, n), dtype=bool)
    current = np.zeros(ANTS, dtype=int)
    travelled = np.zeros(ANTS)
    tours: list[list[int]] = [[0] for _ in range(ANTS)]
    while True:
        allowed[np.arange(ANTS), current] = False
        for ant in range(ANTS):
            candidates = np.flatnonzero(allowed[ant])
            there = travelled[ant] + distance[current[ant], candidates] + distance[candidates, 0]
            allowed[ant, candidates[there > limit]] = False
        if not allowed.any():
            return tours
        upto = np.cumsum(chance[current] * allowed, axis=1)
        target = generator.random_sample(ANTS) * upto[:, -1]
        nodes = (upto > target[:, None]).argmax(axis=1)
        for ant in np.flatnonzero(allowed.any(axis=1)):
            travelled[ant] += distance[current[ant], nodes[ant]]
            current[ant] = nodes[ant]
            tours[ant].append(int(nodes[ant]))
