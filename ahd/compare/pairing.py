"""Whether runs that are paired by seed differ in nothing but what is compared."""

from collections.abc import Mapping, Sequence
from dataclasses import fields

from ahd.compare.runs import Run
from ahd.config import RunConfig

_COMPARED = {"method", "seed", "budget", "temperature", "search_temperature", "problem"}
"""What arms and seeds may differ in, or is checked elsewhere (temperatures: by the initial populations)."""
_PLACE = {"workers", "sandbox", "memory_mb", "trust_remote_code", "replicas", "ray_address", "server"} | {
    "tensor_parallel",
    "problem_path",
    "model",
    "style",
    "dtype",
}
"""Where and how fast a run works, or what is compared as it turned out in the end."""
_LEARNING = {
    "sigma",
    "alpha",
    "kind",
    "scope",
    "rank",
    "reward",
    "shaping",
    "antithetic",
    "per_direction",
} | {
    "momentum",
    "validity_floor",
    "patience",
}
"""Matters only to methods that perturb the weights."""


def warnings(arms: Mapping[str, Sequence[Run]], against: str, own: Mapping[str, frozenset[str]]) -> list[str]:
    """What keeps the runs of a setting from being pairs, one line each; empty: nothing known.

    Every arm is held against ``against`` seed by seed, and its runs against each other. ``own``: by arm, the
    fields of the configuration that it is there to compare.
    """
    found = []
    for arm, runs in arms.items():
        if differing := _config_differences(runs[0], runs[1:], frozenset()):
            found.append(f"runs of {arm} differ in {', '.join(differing)}")
    base = {run.config.seed: run for run in arms.get(against, ())}
    if not base:
        return [*found, f"there is no run of {against}: no differences"]
    for arm, runs in arms.items():
        if arm != against:
            compared = own[arm] | own[against]
            found += _between(arm, {run.config.seed: run for run in runs}, against, base, compared)
    return found


def _between(
    arm: str, ours: Mapping[int, Run], against: str, base: Mapping[int, Run], compared: frozenset[str]
) -> list[str]:
    found = []
    for name, alone in ((arm, ours.keys() - base.keys()), (against, base.keys() - ours.keys())):
        if alone:
            found.append(f"{_seeds(alone)} of {name} has no partner in {arm if name == against else against}")
    both = sorted(ours.keys() & base.keys())
    one, other = next(iter(ours.values())), next(iter(base.values()))
    ignored = frozenset() if _learn_alike(one, other) else frozenset(_LEARNING)
    if {"kind", "scope"} & compared:
        ignored |= {"sigma", "alpha", "scope"}
    if differing := _config_differences(one, [other], ignored | compared):
        found.append(f"{arm} and {against} differ in {', '.join(differing)}")
    for what, told in (
        ("style", lambda run: run.started.style),
        ("number format", lambda run: run.dtype),
        ("number of weights", lambda run: run.started.parameters),
        ("training instances", lambda run: (run.started.known, run.started.reference)),
    ):
        unlike = [seed for seed in both if told(ours[seed]) != told(base[seed])]
        if unlike:
            found.append(f"{arm} and {against} differ in {what}: {_seeds(unlike)}")
    unlike = [
        seed
        for seed in both
        if ours[seed].base_hash and base[seed].base_hash and ours[seed].base_hash != base[seed].base_hash
    ]
    if unlike:
        found.append(f"{arm} and {against} began with other weights: {_seeds(unlike)}")
    unlike = [seed for seed in both if ours[seed].init != base[seed].init]
    if unlike:
        first = _first_difference(ours[unlike[0]].init, base[unlike[0]].init)
        found.append(
            f"{arm} and {against} have other initial populations: {_seeds(unlike)} "
            f"(seed {unlike[0]} from proposal {first} on)"
        )
    return found


def _learn_alike(one: Run, other: Run) -> bool:
    return one.config.method.perturbs and other.config.method.perturbs


def _config_differences(one: Run, others: Sequence[Run], ignored: frozenset[str]) -> list[str]:
    """Options of the runs that are not alike, as the command line names them."""
    left_out = _COMPARED | _PLACE | ignored
    names = [each.name for each in fields(RunConfig) if each.name not in left_out]
    return [
        "--" + name.replace("_", "-")
        for name in names
        if any(getattr(one.config, name) != getattr(other.config, name) for other in others)
    ]


def _first_difference(one: Sequence[str], other: Sequence[str]) -> int:
    for number, (ours, theirs) in enumerate(zip(one, other, strict=False), 1):
        if ours != theirs:
            return number
    return min(len(one), len(other)) + 1


def _seeds(seeds: Sequence[int] | set[int]) -> str:
    return f"seed{'s' * (len(seeds) != 1)} {', '.join(map(str, sorted(seeds)))}"
