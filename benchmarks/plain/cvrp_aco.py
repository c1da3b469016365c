"""``cvrp-aco`` in torch, a step of all ants at a time, as the public evaluators do it.

With ``waiting_charge`` the costs are theirs: 1 for each step that an ant waits for the slowest one.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from evaluators.aco_routes import ANTS, ITERATIONS, KEPT, LEAST_PHEROMONE, LEAST_PRIOR
from problems.cvrp_aco import CAPACITY, shown


def evaluate(
    heuristic: Callable[..., Any], instances: np.ndarray, seed: int = 0, waiting_charge: bool = False
) -> float:
    """Mean cost of the best routes, the heuristic's priors included."""
    priors = np.stack([np.asarray(heuristic(*shown(instance)), dtype=float) for instance in instances])
    return solve(priors, instances, seed, waiting_charge)


def solve(decisions: np.ndarray, instances: np.ndarray, seed: int = 0, waiting_charge: bool = False) -> float:
    """Mean cost of the best routes, guided by ``decisions`` (instances, n, n)."""
    torch.set_num_threads(1)
    found = []
    for number, (instance, prior) in enumerate(zip(instances, decisions, strict=True)):
        torch.manual_seed(seed + number)
        matrix, _, demands, _ = shown(instance)
        matrix[0, 0] = float(waiting_charge)
        pull = torch.from_numpy(prior).float().clamp(min=LEAST_PRIOR)
        found.append(cheapest(torch.from_numpy(matrix), torch.from_numpy(demands), pull))
    return float(np.mean(found))


def cheapest(distances: torch.Tensor, demands: torch.Tensor, prior: torch.Tensor) -> float:
    """Cost of the best routes that the ants find; staying at the depot costs the first distance."""
    pheromone = torch.ones_like(prior)
    best = float("inf")
    for _ in range(ITERATIONS):
        paths = walk(demands, pheromone, prior)
        costs = distances[paths[:-1], paths[1:]].sum(dim=0)
        best = min(best, costs.min().item())
        pheromone = pheromone * KEPT
        for ant in range(ANTS):
            pheromone[paths[:-1, ant], paths[1:, ant]] += 1.0 / costs[ant]
        pheromone = pheromone.clamp(min=LEAST_PHEROMONE)
    return best


def walk(demands: torch.Tensor, pheromone: torch.Tensor, prior: torch.Tensor) -> torch.Tensor:
    """Routes per ant, shape (steps, ants), with as many steps as the slowest ant takes."""
    n = len(prior)
    ants = torch.arange(ANTS)
    node = torch.zeros(ANTS, dtype=torch.long)
    unserved = torch.ones(ANTS, n)
    unserved[:, 0] = 0
    load = torch.zeros(ANTS, dtype=demands.dtype)
    steps = [node]
    while unserved[:, 1:].any() or node.any():
        allowed = unserved * (demands <= CAPACITY - load[:, None])
        allowed[:, 0] = ((node != 0) | ~unserved[:, 1:].any(dim=1)).float()
        pull = pheromone[node] * prior[node] * allowed
        node = torch.distributions.Categorical(pull).sample()
        unserved[ants, node] = 0
        load = torch.where(node == 0, 0.0, load + demands[node])
        steps.append(node)
    return torch.stack(steps)
