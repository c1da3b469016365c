"""``mkp-aco`` in plain NumPy: all ants at once, but what fits ant by ant, like the public evaluators."""

from collections.abc import Callable
from typing import Any

import numpy as np

from problems.mkp_aco import ANTS, DECAY, ITERATIONS


def evaluate(heuristic: Callable[..., Any], instances: np.ndarray, seed: int = 0) -> float:
    """Minus the mean total prize, the heuristic's priors included."""
    priors = np.stack([heuristic(items[:, 0].copy(), items[:, 1:].copy()) for items in instances])
    return solve(priors, instances, seed)


def solve(decisions: np.ndarray, instances: np.ndarray, seed: int) -> float:
    """Minus the mean of the best total prizes, guided by ``decisions`` (instances, n)."""
    found = [
        _best(items[:, 0], items[:, 1:], prior, np.random.RandomState(seed + number))
        for number, (items, prior) in enumerate(zip(instances, decisions, strict=True))
    ]
    return -float(np.mean(found))


def _best(
    prizes: np.ndarray, weights: np.ndarray, prior: np.ndarray, generator: np.random.RandomState
) -> float:
    prior = np.maximum(prior + 1e-9, 1e-9)
    pheromone = np.ones(len(prizes))
    best = 0.0
    for _ in range(ITERATIONS):
        taken = _ants(weights, pheromone * prior, generator)
        totals = taken @ prizes
        best = max(best, totals.max())
        pheromone = pheromone * DECAY
        for ant in range(ANTS):
            pheromone[taken[ant]] += totals[ant] / prizes.sum()
    return best


def _ants(weights: np.ndarray, chance: np.ndarray, generator: np.random.RandomState) -> np.ndarray:
    """What each ant takes, (ANTS, n) bool, one item of every ant per step."""
    n = len(weights)
    used = np.zeros((ANTS, weights.shape[1]))
    allowed = np.ones((ANTS, n), dtype=bool)
    taken = np.zeros((ANTS, n), dtype=bool)
    while allowed.any():
        upto = np.cumsum(chance * allowed, axis=1)
        target = generator.random_sample(ANTS) * upto[:, -1]
        items = (upto > target[:, None]).argmax(axis=1)
        for ant in range(ANTS):
            if not allowed[ant].any():
                continue
            item = items[ant]
            taken[ant, item] = True
            allowed[ant, item] = False
            used[ant] += weights[item]
            candidates = np.flatnonzero(allowed[ant])
            allowed[ant, candidates[(used[ant] + weights[candidates] > 1).any(axis=1)]] = False
    return taken
