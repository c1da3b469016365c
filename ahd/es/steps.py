"""From the weights of directions to the one move of the model's weights: mirrored pairs and momentum."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from operators.model import Direction

FADED = 0.01
"""Steps whose decay has fallen below this are left out of the velocity."""


@dataclass(frozen=True)
class Step:
    """The move ``alpha / N * sum_i weights[i] * eps(seeds[i])``, N = len(seeds): the arguments of
    ``operators.model.Model.update``. A seed may occur twice."""

    seeds: tuple[int, ...]
    weights: tuple[float, ...]

    @property
    def still(self) -> "Step":
        """The same seeds with zero weights."""
        return Step(self.seeds, (0.0,) * len(self.seeds))


def step_of(directions: Sequence[Direction], weights: Sequence[float]) -> Step:
    """The step of one batch. A mirrored direction (negative sigma) moves the other way along its seed."""
    signed = [
        math.copysign(1.0, direction.sigma) * weight
        for direction, weight in zip(directions, weights, strict=True)
    ]
    return Step(tuple(direction.seed for direction in directions), tuple(signed))


def velocity(steps: Iterable[Step], momentum: float) -> Step:
    """``v_t = momentum * v_(t-1) + step_t`` as one step that names each seed once.

    ``steps`` are those of the batches t, t-1, ..., the newest first; a step counts with
    ``momentum ** age`` until that is below ``FADED``. Every step keeps the divisor N of its own.
    """
    kept: list[tuple[float, Step]] = []
    for age, step in enumerate(steps):
        decay = momentum**age
        if decay < FADED:
            break
        kept.append((decay, step))
    sums = dict.fromkeys((seed for _, step in kept for seed in step.seeds), 0.0)
    for decay, step in kept:
        scale = decay * (len(sums) / len(step.seeds))
        for seed, weight in zip(step.seeds, step.weights, strict=True):
            sums[seed] += scale * weight
    return Step(tuple(sums), tuple(sums.values()))
