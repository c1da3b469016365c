"""Step-by-step ``knapsack`` in plain NumPy, like the public evaluators: what remains is copied each step."""

from collections.abc import Callable
from typing import Any

import numpy as np

from problems.knapsack import TOLERANCE, capacity


def evaluate(heuristic: Callable[..., Any], instances: np.ndarray, seed: int = 0) -> float:
    """The objective of ``heuristic``: minus the mean value."""
    del seed
    totals = []
    for items in instances:
        weights, values = items[:, 0].copy(), items[:, 1].copy()
        left, total = capacity(len(items)), 0.0
        while len(weights) and min(weights) <= left:
            item = int(heuristic(remaining_capacity=left, weights=weights, values=values))
            if weights[item] > left + TOLERANCE:
                raise ValueError("does not fit")
            left -= weights[item]
            total += values[item]
            weights, values = np.delete(weights, item), np.delete(values, item)
        totals.append(total)
    return round(-float(np.mean(totals)), 5)
