"""``bpp-aco`` in plain NumPy, item by item with masks over all items, like the public evaluators."""

from collections.abc import Callable
from typing import Any

import numpy as np

from problems.bpp_aco import CAPACITY, RESTARTS


def evaluate(heuristic: Callable[..., Any], instances: np.ndarray, seed: int = 0) -> float:
    """Mean number of bins, the heuristic's priors included."""
    priors = np.stack([np.asarray(heuristic(demand.copy(), CAPACITY), dtype=float) for demand in instances])
    return solve(priors, instances, seed)


def solve(decisions: np.ndarray, instances: np.ndarray, seed: int) -> float:
    """Mean number of bins of the best of the restarts, guided by ``decisions`` (instances, n, n)."""
    found = []
    for number, (demand, prior) in enumerate(zip(instances, decisions, strict=True)):
        generator = np.random.RandomState(seed + number)
        prior = np.clip(prior, 1e-6, 1e6)
        prior = np.maximum(prior / prior.max(), 1e-6)
        found.append(min(pack(prior, demand, generator.random_sample).max() + 1 for _ in range(RESTARTS)))
    return float(np.mean(found))


def pack(prior: np.ndarray, demand: np.ndarray, uniform: Callable[[], float]) -> np.ndarray:
    """The bin of each item, of one packing."""
    n = len(demand)
    bins = np.full(n, -1)
    unpacked = np.ones(n, dtype=bool)
    inside = np.zeros(n, dtype=bool)
    current, room, held = 0, CAPACITY, 0
    for _ in range(n):
        fits = (demand <= room) & unpacked
        if held and not fits.any():
            current, room, held = current + 1, CAPACITY, 0
            inside[:] = False
            fits = unpacked
        if held == 0:
            items = np.flatnonzero(fits)
            item = items[int(uniform() * len(items))]
        else:
            item = ((prior[inside].sum(axis=0) / held + 1e-5) * fits).argmax()
        inside[item] = True
        unpacked[item] = False
        bins[item] = current
        room -= demand[item]
        held += 1
    return bins
