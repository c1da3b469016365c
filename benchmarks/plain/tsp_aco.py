"""``tsp-aco`` in torch, a step of all ants at a time, as the public evaluators do it."""

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from evaluators.aco_routes import ANTS, ITERATIONS, KEPT, LEAST_PRIOR
from problems.tsp_aco import shown


def evaluate(heuristic: Callable[..., Any], instances: np.ndarray, seed: int = 0) -> float:
    """Mean length of the best tours, the heuristic's priors included."""
    priors = np.stack([np.asarray(heuristic(shown(nodes)), dtype=float) for nodes in instances])
    return solve(priors, instances, seed)


def solve(decisions: np.ndarray, instances: np.ndarray, seed: int = 0) -> float:
    """Mean length of the best tours, guided by ``decisions`` (instances, n, n)."""
    torch.set_num_threads(1)
    found = []
    for number, (nodes, prior) in enumerate(zip(instances, decisions, strict=True)):
        torch.manual_seed(seed + number)
        pull = torch.from_numpy(prior).float().clamp(min=LEAST_PRIOR)
        found.append(shortest(torch.from_numpy(shown(nodes)), pull))
    return float(np.mean(found))


def shortest(distances: torch.Tensor, prior: torch.Tensor) -> float:
    """Length of the best tour that the ants find."""
    pheromone = torch.ones_like(prior)
    best = float("inf")
    for _ in range(ITERATIONS):
        tours = walk(pheromone, prior)
        back = torch.roll(tours, 1, dims=0)
        lengths = distances[tours, back].sum(dim=0)
        best = min(best, lengths.min().item())
        pheromone = pheromone * KEPT
        for ant in range(ANTS):
            laid = 1.0 / lengths[ant]
            pheromone[tours[:, ant], back[:, ant]] += laid
            pheromone[back[:, ant], tours[:, ant]] += laid
    return best


def walk(pheromone: torch.Tensor, prior: torch.Tensor) -> torch.Tensor:
    """A tour per ant, shape (n, ants)."""
    n = len(prior)
    ants = torch.arange(ANTS)
    node = torch.randint(0, n, (ANTS,))
    unvisited = torch.ones(ANTS, n)
    unvisited[ants, node] = 0
    steps = [node]
    for _ in range(n - 1):
        pull = pheromone[node] * prior[node] * unvisited
        node = torch.distributions.Categorical(pull).sample()
        unvisited[ants, node] = 0
        steps.append(node)
    return torch.stack(steps)
