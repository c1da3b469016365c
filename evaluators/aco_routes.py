"""Ant colonies for tours and for vehicle routes, guided by a prior over the steps from node to node.

The ant system of Dorigo, Maniezzo and Colorni (IEEE Trans. SMC-B 26(1), 1996) with the settings of the
public evaluators of ReEvo (arXiv 2402.01145): 30 ants, 100 iterations, pheromone 1 at the start and
0.9 of it kept per iteration, and every ant lays 1 / cost on the steps it took. An ant takes a step that
is allowed with a probability in proportion to pheromone times prior. Costs, pheromone and sums are
float64; priors are float32.
"""

import numpy as np
from numba import njit

from evaluators.guidance import guidance
from evaluators.outcome import NonFinite
from evaluators.randomness import below, seeded, uniform

ANTS = 30
ITERATIONS = 100
KEPT = 0.9
"""Share of the pheromone that is left after an iteration."""
LEAST_PRIOR = 1e-9
LEAST_PHEROMONE = 1e-10
"""For routes only, as in the public evaluator."""
LEAST_COST = 1e-9
"""What a walk between nodes at one place counts as when pheromone is laid."""


def as_priors(matrices: np.ndarray, count: int, n: int) -> np.ndarray:
    """What candidates returned, as priors: (count, n, n) float32, at least ``LEAST_PRIOR``.

    Raises:
        InvalidSolution: not ``count`` float64 matrices of shape (n, n).
        NonFinite: an entry is not finite, or too large for float32.
    """
    with np.errstate(over="ignore"):
        priors = guidance(matrices, (count, n, n)).astype(np.float32)
    if not np.isfinite(priors).all():
        raise NonFinite("results have entries that are not finite in single precision")
    return np.maximum(priors, np.float32(LEAST_PRIOR))


@njit(cache=True, nogil=True)
def tour(
    distances: np.ndarray, prior: np.ndarray, seed: int, ants: int, iterations: int
) -> tuple[float, np.ndarray]:
    """The best closed tour of a colony whose ants start at random nodes.

    Args:
        distances: (n, n) float64, n at least 2. The diagonal is not used.
        prior: (n, n) float32, positive.
        seed: of the colony's random generator.
        ants: walks per iteration.
        iterations: pheromone changes after each.

    Returns:
        Its length, and its nodes in the order of the visit, (n,) int64.
    """
    n = len(distances)
    random = seeded(seed)
    pheromone = np.ones((n, n))
    weights = np.empty((n, n))
    tours = np.empty((ants, n), dtype=np.int64)
    lengths = np.empty(ants)
    left = np.empty(n, dtype=np.int64)
    sums = np.empty(n)
    best, shortest = np.inf, np.empty(n, dtype=np.int64)
    for _ in range(iterations):
        _multiply(pheromone, prior, weights)
        for ant in range(ants):
            for node in range(n):
                left[node] = node
            place = below(random, n)
            for step in range(n - 1):
                node = left[place]
                tours[ant, step] = node
                remaining = n - 1 - step
                left[place] = left[remaining]
                total = 0.0
                row = weights[node]
                for k in range(remaining):
                    total += row[left[k]]
                    sums[k] = total
                place = _find(sums, remaining, uniform(random) * total)
            tours[ant, n - 1] = left[place]
            length = 0.0
            last = tours[ant, n - 1]
            for step in range(n):
                length += distances[last, tours[ant, step]]
                last = tours[ant, step]
            lengths[ant] = length
            if length < best:
                best = length
                shortest[:] = tours[ant]
        pheromone *= KEPT
        for ant in range(ants):
            laid = 1.0 / max(lengths[ant], LEAST_COST)
            last = tours[ant, n - 1]
            for step in range(n):
                node = tours[ant, step]
                pheromone[last, node] += laid
                pheromone[node, last] += laid
                last = node
    return best, shortest


@njit(cache=True, nogil=True)
def routes(
    distances: np.ndarray,
    demands: np.ndarray,
    capacity: float,
    prior: np.ndarray,
    seed: int,
    ants: int,
    iterations: int,
    waiting_charge: bool,
) -> tuple[float, np.ndarray]:
    """The best routes of a colony for one vehicle that serves every customer and returns to its depot.

    At the depot (node 0) the vehicle is empty; it may come back from any customer, with room left or
    not, and has to leave again while there are customers.

    Args:
        distances: (n, n) float64, n at least 2. The diagonal is not used.
        demands: (n,) float64, none above ``capacity``; that of the depot is not used.
        capacity: of the vehicle, in the unit of the demands.
        prior: (n, n) float32, positive.
        seed: of the colony's random generator.
        ants: walks per iteration.
        iterations: pheromone changes after each.
        waiting_charge: as in the public evaluator, where all ants take as many steps as the slowest of
            the iteration: those that are done wait at the depot, and each step of waiting costs 1.

    Returns:
        Their cost, and the nodes in the order of the visit, from depot to depot, (steps,) int64.
    """
    n = len(distances)
    random = seeded(seed)
    pheromone = np.ones((n, n))
    weights = np.empty((n, n))
    paths = np.empty((ants, 2 * n), dtype=np.int64)
    lengths = np.empty(ants, dtype=np.int64)
    costs = np.empty(ants)
    left = np.empty(n, dtype=np.int64)
    sums = np.empty(n)
    best, cheapest = np.inf, np.zeros(1, dtype=np.int64)
    for _ in range(iterations):
        _multiply(pheromone, prior, weights)
        for ant in range(ants):
            remaining = n - 1
            for k in range(remaining):
                left[k] = k + 1
            node, room, cost = 0, capacity, 0.0
            paths[ant, 0] = 0
            steps = 1
            while remaining > 0 or node != 0:
                row = weights[node]
                total = 0.0
                for k in range(remaining):
                    if demands[left[k]] <= room:
                        total += row[left[k]]
                    sums[k] = total
                sums[remaining] = total = total + row[0] if node != 0 else total
                place = _find(sums, remaining + 1, uniform(random) * total)
                last = node
                if place == remaining:
                    node, room = 0, capacity
                else:
                    node = left[place]
                    room -= demands[node]
                    remaining -= 1
                    left[place] = left[remaining]
                cost += distances[last, node]
                paths[ant, steps] = node
                steps += 1
            lengths[ant] = steps
            costs[ant] = cost
        if waiting_charge:
            for ant in range(ants):
                costs[ant] += lengths.max() - lengths[ant]
        pheromone *= KEPT
        for ant in range(ants):
            if costs[ant] < best:
                best = costs[ant]
                cheapest = paths[ant, : lengths[ant]].copy()
            laid = 1.0 / max(costs[ant], LEAST_COST)
            for step in range(1, lengths[ant]):
                pheromone[paths[ant, step - 1], paths[ant, step]] += laid
        for i in range(n):
            for j in range(n):
                pheromone[i, j] = max(pheromone[i, j], LEAST_PHEROMONE)
    return best, cheapest


@njit(cache=True, nogil=True)
def _multiply(pheromone: np.ndarray, prior: np.ndarray, weights: np.ndarray) -> None:
    for i in range(len(weights)):
        for j in range(len(weights)):
            weights[i, j] = pheromone[i, j] * prior[i, j]


@njit(cache=True, nogil=True)
def _find(sums: np.ndarray, count: int, value: float) -> int:
    """Index of the first of ``count`` ascending ``sums`` above ``value``; there is one.

    A uniform below 1 times the last sum is below it in floating point too.
    """
    found = 0
    for k in range(count):
        found += sums[k] <= value
    return found
