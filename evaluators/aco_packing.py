"""Compiled solvers of ``bpp-aco`` and ``mkp-aco``. They see trusted instances and checked matrices only."""

import math

import numpy as np
from numba import njit

from evaluators.randomness import below, seeded, uniform


@njit(cache=True, nogil=True)
def pack(
    prior: np.ndarray, sizes: np.ndarray, capacity: int, restarts: int, seed: int
) -> tuple[int, np.ndarray]:
    """Pack items into bins ``restarts`` times; the fewest bins, and the bin of each item (n,) int64.

    A bin starts with a random unpacked item. Then the unpacked item that fits with the highest mean
    of ``prior`` (n, n) over the rows of the bin's items, plus 1e-5, is added, the lowest number on
    ties, until none fits; that closes the bin. Of equally good restarts the first counts. ``sizes``
    (n,) are positive integers up to ``capacity``.
    """
    n = len(sizes)
    # Items are renamed by size, so that those that fit are the first few of the unpacked ones. Their
    # numbers are unsigned, which spares a look at the sign with each access.
    order = np.argsort(sizes, kind="mergesort").astype(np.uint32)
    size = sizes[order].astype(np.int64)
    by_size = np.empty((n, n))
    for a in range(n):
        for b in range(n):
            by_size[a, b] = prior[order[a], order[b]]

    state = seeded(seed)
    unpacked = np.empty(n, dtype=np.uint32)
    bins = np.empty(n, dtype=np.int64)
    inside = np.empty(n, dtype=np.uint32)
    fewest = n + 1
    best = np.empty(n, dtype=np.int64)
    for _ in range(restarts):
        unpacked[:] = np.arange(n)
        count = n
        used = 0
        while count > 0:
            room = capacity
            held = 0
            pick = below(state, count)
            while True:
                item = unpacked[pick]
                count -= 1
                for k in range(pick, count):
                    unpacked[k] = unpacked[k + 1]
                bins[item] = used
                room -= size[item]
                # Rows are summed in the order of the items' numbers: sums, and so ties, are theirs.
                k = held
                while k > 0 and order[inside[k - 1]] > order[item]:
                    inside[k] = inside[k - 1]
                    k -= 1
                inside[k] = item
                held += 1
                fitting = _fitting(size, unpacked, count, room)
                if fitting == 0:
                    break
                pick = _most_promising(by_size, order, inside, held, unpacked, fitting)
            used += 1
        if used < fewest:
            fewest = used
            for item in range(n):
                best[order[item]] = bins[item]
    return fewest, best


@njit(cache=True, nogil=True)
def _fitting(size: np.ndarray, unpacked: np.ndarray, count: int, room: int) -> int:
    """How many of the first ``count`` unpacked items, smallest first, have at most size ``room``."""
    low, high = 0, count
    while low < high:
        middle = (low + high) // 2
        if size[unpacked[middle]] <= room:
            low = middle + 1
        else:
            high = middle
    return low


@njit(cache=True, nogil=True)
def _most_promising(
    by_size: np.ndarray,
    order: np.ndarray,
    inside: np.ndarray,
    held: int,
    unpacked: np.ndarray,
    fitting: int,
) -> int:
    """Position among the first ``fitting`` unpacked items of the one with the highest mean prior."""
    best = -np.inf
    pick = -1
    first = by_size[inside[0]]
    second = by_size[inside[1]] if held > 1 else first
    for k in range(fitting):
        item = unpacked[k]
        if held == 1:
            value = first[item] + 1e-5
        elif held == 2:
            value = (first[item] + second[item]) / 2 + 1e-5
        else:
            total = first[item] + second[item]
            for other in range(2, held):
                total += by_size[inside[other], item]
            value = total / held + 1e-5
        if value > best or (value == best and order[item] < order[unpacked[pick]]):
            best = value
            pick = k
    return pick


@njit(cache=True, nogil=True)
def fill(
    pull: np.ndarray,
    prizes: np.ndarray,
    weights: np.ndarray,
    ants: int,
    iterations: int,
    decay: float,
    seed: int,
) -> tuple[float, np.ndarray]:
    """Fill a knapsack by ant colony optimisation; the best total prize and its items, (n,) bool.

    ``pull`` (n,), ``prizes`` (n,), ``weights`` (n, m) with limits of 1. An ant takes one item after
    another, each with a chance in proportion to pheromone times ``pull`` among those that still fit.
    That is to go through all items in a random order weighted in the same proportion and to take
    each that fits, since what does not fit never will; so one sort does for an ant (the order: Efraimidis
    and Spirakis, Information Processing Letters 97 (2006), 181-185). Pheromone starts at 1; after each
    iteration it is multiplied by ``decay``, then every ant adds its prize over all prizes to its items.
    """
    n, m = weights.shape
    state = seeded(seed)
    pheromone = np.ones(n)
    keys = np.empty(n)
    used = np.empty(m)
    taken = np.zeros((ants, n), dtype=np.bool_)
    found = np.empty(ants)
    best = 0.0
    chosen = np.zeros(n, dtype=np.bool_)
    everything = prizes.sum()
    for _ in range(iterations):
        chance = pheromone * pull
        for ant in range(ants):
            for item in range(n):
                keys[item] = -math.log(1.0 - uniform(state)) / chance[item]
            used[:] = 0.0
            found[ant] = 0.0
            for item in np.argsort(keys):
                fits = True
                for k in range(m):
                    if used[k] + weights[item, k] > 1.0:
                        fits = False
                        break
                taken[ant, item] = fits
                if fits:
                    for k in range(m):
                        used[k] += weights[item, k]
                    found[ant] += prizes[item]
            if found[ant] > best:
                best = found[ant]
                chosen[:] = taken[ant]
        pheromone *= decay
        for ant in range(ants):
            for item in range(n):
                if taken[ant, item]:
                    pheromone[item] += found[ant] / everything
    return best, chosen
