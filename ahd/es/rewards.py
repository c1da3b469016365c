"""What the proposals of a batch are worth. Objectives are minimised.

``evolution_reward`` and ``sampling_rewards`` are the rules of arXiv 2608.17310; ``new_reward`` and
``new_sampling_rewards`` are ours. Theirs gives hardly more to what is new than to a valid copy of the parent,
so that a model learns to copy; with ours a copy earns nothing, or costs something. A failure costs more:
without that, little of what tells directions apart is left in the reward (docs/learning.md).
"""

from collections.abc import Sequence

from ahd.es.moments import mean_and_spread

NEARLY_ZERO = 1e-8


def evolution_reward(child: float | None, parent: float, worst: float) -> float:
    """Reward of one offspring in evolution mode.

    ``r = P - C`` when the child is valid and no worse than the population's worst finite objective
    W, else ``r = max(P - W, -1)``. ``child`` is None for an invalid candidate.
    """
    if child is not None and child <= worst:
        return parent - child
    return max(parent - worst, -1.0)


def sampling_rewards(objectives: Sequence[float | None]) -> list[float] | None:
    """Rewards of a batch of independent samples.

    ``r = -C`` for a valid one; an invalid one gets ``min - std`` over the valid rewards (population
    standard deviation), with the spread replaced by ``1% of |mean|`` when it is nearly zero, and by
    1 when that is nearly zero too. None when nothing in the batch is valid: no update is made.
    """
    valid = [-objective for objective in objectives if objective is not None]
    if not valid:
        return None
    mean, spread = mean_and_spread(valid)
    if spread < NEARLY_ZERO:
        spread = 0.01 * abs(mean)
    if spread < NEARLY_ZERO:
        spread = 1.0
    invalid = min(valid) - spread
    return [invalid if objective is None else -objective for objective in objectives]


def new_reward(
    child: float | None, copy: bool, parent: float, population: Sequence[float], worth: float = 0.0
) -> float:
    """Reward of one offspring in evolution mode that pays for valid, new and better.

    -1 for an invalid child and ``worth`` for a copy; else 0.5, plus half the share of the population (its
    objectives before the batch) that is no better than the child, plus 1 when the child is better than its
    parent.
    """
    if child is None:
        return -1.0
    if copy:
        return worth
    beaten = sum(child <= member for member in population) / len(population)
    return 0.5 + 0.5 * beaten + (child < parent)


def new_sampling_rewards(
    objectives: Sequence[float | None], copies: Sequence[bool], worth: float = 0.0
) -> list[float]:
    """Rewards of a batch of independent samples that pay for valid, new and good.

    -1 for an invalid one and ``worth`` for a copy; else 0.5, plus half the share of the batch's valid new
    ones that is no better, itself among them.
    """
    new = [
        objective
        for objective, copy in zip(objectives, copies, strict=True)
        if objective is not None and not copy
    ]
    return [
        -1.0
        if objective is None
        else worth
        if copy
        else 0.5 + 0.5 * sum(objective <= other for other in new) / len(new)
        for objective, copy in zip(objectives, copies, strict=True)
    ]
