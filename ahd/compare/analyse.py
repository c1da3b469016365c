"""From run folders to a ``Comparison``."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import ahd
from ahd.compare import curves, pairing
from ahd.compare.plan import Arm, arms_of
from ahd.compare.power import LEVEL
from ahd.compare.result import METRICS, VERSION, ArmResult, Comparison, Difference, Setting, Tally
from ahd.compare.result import Spend as Total
from ahd.compare.runs import Run
from ahd.compare.spend import check_equal
from ahd.compare.statistics import TIE, corrected, difference, summary
from ahd.config import ConfigError
from ahd.display.text import clean

Arms = Mapping[str, Sequence[Run]]
USUAL_BASE = "eoh"


def compare(
    runs: Sequence[Run], against: str = "", planned: Sequence[Arm] = (), command: str = ""
) -> Comparison:
    """Compare runs by setting (a problem with a model), arms with ``against`` paired by seed.

    ``against`` empty: ``eoh`` where it is there, else the first arm. ``planned``: the arm of each run; empty:
    it follows from what the runs differ in, in the order they come.

    Raises:
        UnequalSpend: runs of a setting spent different numbers of proposals.
        ConfigError: two runs of one arm and seed in a setting, no arm ``against``, or only one arm.
    """
    each_arm = list(planned) or arms_of([run.config for run in runs])
    own = {arm.label: arm.own for arm in each_arm}
    names = list(own)
    settings = _settings(runs, [arm.label for arm in each_arm], names)
    against = against or (USUAL_BASE if USUAL_BASE in names else names[0])
    if against not in names:
        raise ConfigError(f"--against {against}: there are runs of {', '.join(names)}; choose one of these")
    if len(names) < 2:
        raise ConfigError(f"there are runs of {names[0]} only: a comparison needs two methods or more")
    found = [_setting(name, arms, against, own) for name, arms in settings.items()]
    found = _with_holm(found)
    return Comparison(
        version=VERSION,
        ahd=ahd.__version__,
        command=command,
        against=against,
        arms=tuple(names),
        settings=tuple(found),
        tallies=tuple(
            _tally(found, arm, against, metric) for arm in names if arm != against for metric in METRICS
        ),
    )


def _settings(
    runs: Sequence[Run], labels: Sequence[str], order: Sequence[str]
) -> dict[str, dict[str, list[Run]]]:
    """The runs by setting and arm; the arms of each in the given order, the seeds sorted."""
    several = len({run.started.model for run in runs}) > 1
    found: dict[str, dict[str, list[Run]]] = {}
    taken: dict[tuple[str, str, int], Run] = {}
    for run, arm in zip(runs, labels, strict=True):
        name = f"{run.config.problem}, {run.started.model}" if several else run.config.problem
        twin = taken.setdefault((name, arm, run.config.seed), run)
        if twin is not run:
            raise ConfigError(
                f"{run.folder} and {twin.folder} are both {name}, {arm}, seed {run.config.seed}: "
                "move one of them away"
            )
        found.setdefault(name, {}).setdefault(arm, []).append(run)
    for name, arms in found.items():
        check_equal(name, {run.folder: run.result.spend.proposals for each in arms.values() for run in each})
        keys = sorted(arms, key=order.index)
        found[name] = {arm: sorted(arms[arm], key=lambda run: run.config.seed) for arm in keys}
    return found


def _setting(name: str, arms: Arms, against: str, own: Mapping[str, frozenset[str]]) -> Setting:
    first = next(iter(arms.values()))[0]
    every = [run for runs in arms.values() for run in runs]
    grids = curves.proposals_grid(first.config.budget), curves.seconds_grid([run.trace for run in every])
    return Setting(
        name=name,
        problem=first.config.problem,
        model=first.started.model,
        style=first.started.style,
        dtype=first.dtype,
        budget=first.config.budget,
        seeds=tuple(sorted({run.config.seed for run in every})),
        decimals=first.started.decimals,
        reference=first.started.reference,
        reference_source=first.started.reference_source,
        known=first.started.known,
        test_what=first.test_what,
        arms=tuple(_arm_result(arm, runs, *grids) for arm, runs in arms.items()),
        differences=tuple(_differences(arms, against)),
        warnings=(*pairing.warnings(arms, against, own), *_untested(arms)),
    )


def _arm_result(
    arm: str, runs: Sequence[Run], proposals: Sequence[float], seconds: Sequence[float]
) -> ArmResult:
    results, traces = [run.result for run in runs], [run.trace for run in runs]
    return ArmResult(
        arm=arm,
        method=runs[0].config.method.value,
        temperature=runs[0].temperature,
        runs=tuple(results),
        train=summary([result.train for result in results]),
        test=summary([result.test for result in results]),
        train_gap=summary([result.train_gap for result in results]),
        test_gap=summary([result.test_gap for result in results]),
        spend=sum((result.spend for result in results), Total()),
        by_proposals=curves.by_proposals(traces, proposals),
        by_seconds=curves.by_seconds(traces, seconds),
    )


def _differences(arms: Arms, against: str) -> list[Difference]:
    if against not in arms:
        return []
    return [
        difference(arm, against, metric, _by_seed(runs, metric), _by_seed(arms[against], metric))
        for metric in METRICS
        for arm, runs in arms.items()
        if arm != against
    ]


def _untested(arms: Arms) -> list[str]:
    """A line for every run whose best heuristic has no test objective."""

    def why(run: Run) -> str:
        return clean(run.result.test_detail) or "not measured"

    return [
        f"{arm}, seed {run.config.seed} has no test objective: {why(run)}"
        for arm, runs in arms.items()
        for run in runs
        if run.result.test is None
    ]


def _by_seed(runs: Sequence[Run], metric: str) -> dict[int, float]:
    values = {run.config.seed: run.result.objective(metric) for run in runs}
    return {seed: value for seed, value in values.items() if value is not None}


def _with_holm(settings: Sequence[Setting]) -> list[Setting]:
    """The settings with p-values corrected for all differences of a metric."""
    found: dict[tuple[str, str, str], Difference] = {}
    for metric in METRICS:
        places = [
            (setting.name, each)
            for setting in settings
            for each in setting.differences
            if each.metric == metric
        ]
        for (name, _), each in zip(places, corrected([each for _, each in places]), strict=True):
            found[name, each.arm, metric] = each
    return [
        replace(
            setting,
            differences=tuple(found[setting.name, each.arm, each.metric] for each in setting.differences),
        )
        for setting in settings
    ]


def _tally(settings: Sequence[Setting], arm: str, against: str, metric: str) -> Tally:
    wins = ties = losses = significant_wins = significant_losses = 0
    for setting in settings:
        for each in setting.differences:
            if (each.arm, each.metric) != (arm, metric) or each.mean is None:
                continue
            told = each.p_holm is not None and each.p_holm < LEVEL
            if abs(each.relative if each.relative is not None else each.mean) <= TIE:
                ties += 1
            elif each.mean < 0:
                wins += 1
                significant_wins += told
            else:
                losses += 1
                significant_losses += told
    return Tally(arm, against, metric, wins, ties, losses, significant_wins, significant_losses)
