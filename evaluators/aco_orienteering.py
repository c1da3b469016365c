"""Compiled solver of ``op-aco``. It sees trusted instances and checked matrices only."""

import numpy as np
from numba import njit

from evaluators.randomness import seeded, uniform


@njit(cache=True, nogil=True)
def collect(
    pull: np.ndarray,
    prizes: np.ndarray,
    distances: np.ndarray,
    limit: float,
    ants: int,
    iterations: int,
    decay: float,
    seed: int,
) -> tuple[float, np.ndarray]:
    """Collect prizes on a tour by ant colony optimisation; the best total and its nodes in order, int64.

    ``pull`` and ``distances`` (n, n), ``prizes`` (n,). An ant starts at node 0 and moves on to an
    unvisited node from which it can still return within ``limit``, with a chance in proportion to
    pheromone times ``pull``, until there is none. A node that was once out of reach stays so.
    Pheromone starts at 1; after each iteration it is multiplied by ``decay``, then every ant adds its
    prize over all prizes to the steps it took, not to the one back to node 0.
    """
    n = len(prizes)
    state = seeded(seed)
    pheromone = np.ones((n, n))
    chance = np.empty((n, n))
    tours = np.empty((ants, n), dtype=np.int64)
    lengths = np.empty(ants, dtype=np.int64)
    found = np.empty(ants)
    reach = np.empty(n, dtype=np.int64)
    upto = np.empty(n)
    best = 0.0
    tour = np.zeros(1, dtype=np.int64)
    everything = prizes.sum()
    for _ in range(iterations):
        for a in range(n):
            for b in range(n):
                chance[a, b] = pheromone[a, b] * pull[a, b]
        for ant in range(ants):
            count = n - 1
            for k in range(count):
                reach[k] = k + 1
            current, steps, travelled, prize = 0, 1, 0.0, prizes[0]
            tours[ant, 0] = 0
            while True:
                left = 0
                total = 0.0
                for k in range(count):
                    node = reach[k]
                    if travelled + distances[current, node] + distances[node, 0] <= limit:
                        total += chance[current, node]
                        reach[left] = node
                        upto[left] = total
                        left += 1
                if left == 0:
                    break
                target = uniform(state) * total
                pick = 0
                while pick < left - 1 and upto[pick] <= target:
                    pick += 1
                node = reach[pick]
                travelled += distances[current, node]
                prize += prizes[node]
                current = node
                tours[ant, steps] = node
                steps += 1
                count = left - 1
                for k in range(pick, count):
                    reach[k] = reach[k + 1]
            lengths[ant] = steps
            found[ant] = prize
            if prize > best:
                best = prize
                tour = tours[ant, :steps].copy()
        for a in range(n):
            for b in range(n):
                pheromone[a, b] *= decay
        for ant in range(ants):
            for k in range(1, lengths[ant]):
                pheromone[tours[ant, k - 1], tours[ant, k]] += found[ant] / everything
    return best, tour
