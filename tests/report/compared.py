"""Comparisons made by hand, as real records."""

import random
from collections.abc import Sequence
from pathlib import Path

from ahd.compare.folder import write_result
from ahd.compare.result import (
    METRICS,
    VERSION,
    ArmResult,
    Comparison,
    Curve,
    Difference,
    RunResult,
    Seconds,
    Setting,
    Spend,
    Tally,
)
from ahd.compare.statistics import corrected, difference, summary

BUDGET = 200
REFERENCE = 5.70445
LEVELS = {"esopt": 6.41, "eoh": 6.46, "noise": 6.44}
PROPOSALS = range(0, BUDGET + 1, 10)


def comparison(hostile: str = "", seeds: Sequence[int] = range(1, 11)) -> Comparison:
    """Three arms on one problem; ``hostile`` ends every text."""
    return gathered([setting(hostile, seeds=seeds)], hostile)


def gathered(settings: Sequence[Setting], hostile: str = "") -> Comparison:
    """A comparison of these settings."""
    first = settings[0]
    command = f"ahd compare tsp --methods esopt,eoh,noise{hostile}"
    tallies = [Tally(each.arm, each.against, each.metric, 1, 0, 0, 1, 0) for each in first.differences]
    arms = tuple(arm.arm for arm in first.arms)
    return Comparison(VERSION, "0", command, f"eoh{hostile}", arms, tuple(settings), tuple(tallies))


def setting(hostile: str = "", name: str = "tsp", seeds: Sequence[int] = range(1, 11)) -> Setting:
    """Arms whose objectives lie around ``LEVELS``, with a warning."""
    rng = random.Random(1)
    arms = [arm(method + hostile, level, seeds, rng, hostile) for method, level in LEVELS.items()]
    found: list[Difference] = []
    for metric in METRICS:
        known = {each.arm: {run.seed: run.objective(metric) or 0.0 for run in each.runs} for each in arms}
        base = f"eoh{hostile}"
        pairs = [
            difference(other, base, metric, known[other], known[base]) for other in known if other != base
        ]
        found += corrected(pairs)
    return Setting(
        name=name + hostile,
        problem=name + hostile,
        model="smollm2-135m" + hostile,
        style="skeleton" + hostile,
        dtype="float32" + hostile,
        budget=BUDGET,
        seeds=tuple(seeds),
        decimals=5,
        reference=REFERENCE,
        reference_source="made" + hostile,
        known={"nearest neighbour" + hostile: 7.00437},
        test_what="16 instances of size 50" + hostile,
        arms=tuple(arms),
        differences=tuple(found),
        warnings=("esopt and eoh had other initial populations" + hostile,),
    )


def arm(name: str, level: float, seeds: Sequence[int], rng: random.Random, hostile: str = "") -> ArmResult:
    """An arm whose seeds end around ``level``."""
    runs = []
    for seed in seeds:
        train = level + rng.gauss(0, 0.05)
        test = train + rng.gauss(-0.03, 0.02)
        spend = Spend(
            BUDGET, 16, 120, 90_000, 5000 + 10 * seed, 150, 12, Seconds(70.0, 4.0, 9.0), 74.0 + seed
        )
        gaps = (train / REFERENCE - 1, test / REFERENCE - 1)
        runs.append(RunResult(f"runs/{name}-{seed}{hostile}", seed, train, test, *gaps, "", spend))
    mean: tuple[float | None, ...] = tuple(level + 0.9 / (1 + at / 20) for at in PROPOSALS)
    sd: tuple[float | None, ...] = tuple(0.06 if len(seeds) > 1 else None for _ in mean)
    return ArmResult(
        arm=name,
        method="eoh",
        temperature=None,
        runs=tuple(runs),
        train=summary([run.train for run in runs]),
        test=summary([run.test for run in runs]),
        train_gap=summary([run.train_gap for run in runs]),
        test_gap=summary([run.test_gap for run in runs]),
        spend=sum((run.spend for run in runs), Spend()),
        by_proposals=Curve(tuple(map(float, PROPOSALS)), mean, sd, mean),
        by_seconds=Curve(tuple(0.4 * at for at in PROPOSALS), (None, *mean[1:]), (None, *sd[1:]), mean),
    )


def store_comparison(folder: Path, found: Comparison) -> Path:
    """Write a comparison into ``folder``."""
    folder.mkdir(parents=True, exist_ok=True)
    write_result(folder, found)
    return folder
