"""How much of a reward tells directions apart.

The proposals of one direction share its weights and differ in parent, prompt and sampling. A one-way
analysis of variance within each batch splits the variance of a reward into what lies between directions,
which is all that an update can learn from, and what lies within them, which is noise to it.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import fmean, variance
from typing import Any

from ahd.es.rewards import evolution_reward, new_reward
from benchmarks.learning_trial import POPULATION

_POPULATION = list(POPULATION.values())
Reward = Callable[[float | None, bool, float], float]
"""Of a child (None: invalid), whether it is a copy, and its parent."""

REWARDS: dict[str, Reward] = {
    "valid: 1, else 0": lambda child, copy, parent: float(child is not None),
    "`paper`": lambda child, copy, parent: evolution_reward(child, parent, max(_POPULATION)),
    "`new`": lambda child, copy, parent: new_reward(child, copy, parent, _POPULATION),
    "`new`, failures earn 0": lambda child, copy, parent: max(
        0.0, new_reward(child, copy, parent, _POPULATION)
    ),
    "better than the parent: 1, else 0": lambda child, copy, parent: float(
        child is not None and child < parent
    ),
}


@dataclass(frozen=True)
class Components:
    """Variance ``between`` directions with its standard ``error`` (normal approximation), and ``within``
    them. An estimate of the first can be negative."""

    between: float
    error: float
    within: float

    @property
    def share(self) -> float:
        """Of the variance that lies between directions."""
        total = self.between + self.within
        return self.between / total if total else 0.0


def components(batches: Sequence[Sequence[Sequence[float]]]) -> Components:
    """From rewards by batch, direction and proposal, equally many proposals in each direction."""
    size = len(batches[0][0])
    groups = sum(len(batch) - 1 for batch in batches)
    within = fmean(fmean(variance(direction) for direction in batch) for batch in batches)
    means = fmean(size * variance([fmean(direction) for direction in batch]) for batch in batches)
    return Components((means - within) / size, within / size * math.sqrt(2 / groups), within)


def rewards_of(record: dict[str, Any], reward: Reward) -> list[list[list[float]]]:
    """Rewards of an arm by batch, direction and proposal. A copy repeats an objective of the population or
    of an earlier proposal of the arm."""
    size = record["settings"]["per_direction"]
    seen = set(_POPULATION)
    batches = []
    for batch in record["batches"]:
        values = []
        for child, parent in zip(batch["children"], batch["parents"], strict=True):
            values.append(reward(child, child in seen, parent))
            seen |= {child} if child is not None else set()
        batches.append([values[start : start + size] for start in range(0, len(values), size)])
    return batches


def signal_table(records: Sequence[dict[str, Any]]) -> str:
    """A Markdown table: for each setting with several proposals per direction, each reward's components."""
    arms: dict[tuple[str, str, float], list[dict[str, Any]]] = {}
    for record in records:
        settings = record["settings"]
        if settings.get("per_direction", 1) > 1:
            arms.setdefault((settings["kind"], settings["scope"], settings["sigma"]), []).append(record)
    lines = [
        "| kind, scope | sigma | directions | reward | between directions | within | share |",
        "|---|---|---|---|---|---|---|",
    ]
    for (kind, scope, sigma), group in sorted(arms.items()):
        for name, reward in REWARDS.items():
            batches = [batch for record in group for batch in rewards_of(record, reward)]
            found = components(batches)
            count = sum(len(batch) for batch in batches)
            lines.append(
                f"| {kind}, {scope} | {sigma:g} | {count} | {name} | {found.between:.4f} ± {found.error:.4f} "
                f"| {found.within:.3f} | {found.share:.1%} |"
            )
    return "\n".join(lines) + "\n"
