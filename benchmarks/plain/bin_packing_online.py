"""Online bin packing in plain NumPy, item by item, with as many bins as items."""

from collections.abc import Callable
from typing import Any

import numpy as np

CAPACITY = 100


def evaluate(heuristic: Callable[..., Any], instances: np.ndarray, seed: int = 0) -> float:
    """The objective of ``heuristic``: mean excess over the L1 bound in percent."""
    del seed
    used, bounds = [], []
    for items in instances:
        bins = np.array([CAPACITY for _ in range(len(items))])
        content: list[list[int]] = [[] for _ in bins]
        for item in items:
            valid = np.nonzero((bins - item) >= 0)[0]
            best = valid[np.argmax(heuristic(item, bins[valid]))]
            bins[best] -= item
            content[best].append(item)
        used.append(int((bins != CAPACITY).sum()))
        bounds.append(np.ceil(np.sum(items) / CAPACITY))
    return float(100 * (np.mean(used) - np.mean(bounds)) / np.mean(bounds))
