"""The tables of a comparison as text, for its page and its Markdown alike."""

from dataclasses import dataclass, field

from ahd.compare.result import METRICS, ArmResult, Comparison, Difference, RunResult, Setting, Summary
from ahd.compare.wording import METRIC, number, p_value, seeds_needed, short
from ahd.display.text import clean, count, duration, percent, signed_percent

LEVEL = 0.05


@dataclass(frozen=True)
class Grid:
    """A table whose first column is text, the others numbers; ``notes`` are sentences below it."""

    title: str
    head: tuple[str, ...]
    rows: list[list[str]]
    notes: list[str] = field(default_factory=list)


def tests(found: Comparison) -> int:
    """How many tests Holm's correction of a metric takes together."""
    return sum(each.metric == METRICS[0] for setting in found.settings for each in setting.differences)


def objectives(setting: Setting) -> Grid:
    """Mean, spread and best of every arm."""
    head = ("arm", "seeds", "training: mean ± sd", "best", "gap", "test: mean ± sd", "best", "gap")
    rows = []
    for arm in setting.arms:
        cells = [arm.arm, str(len(arm.runs))]
        for told, gap in ((arm.train, arm.train_gap), (arm.test, arm.test_gap)):
            best = number(told.best, setting.decimals)
            cells += [spread(told, setting.decimals), best, signed_percent(gap.mean) or "-"]
        rows.append(cells)
    notes = ["sd: sample standard deviation over seeds."]
    if setting.reference is not None:
        source = f" ({setting.reference_source})" if setting.reference_source else ""
        where = f"{number(setting.reference, setting.decimals)} on the training instances{source}"
        notes.append(f"Gaps are means, to the reference of the instances: {where}.")
    if setting.test_what:
        notes.append(f"Test: {setting.test_what}.")
    known = [f"{name} {number(value, setting.decimals)}" for name, value in setting.known.items()]
    if known:
        notes.append(f"Known heuristics on the training instances: {', '.join(known)}.")
    return Grid("Objectives", head, rows, notes)


def spread(told: Summary, decimals: int) -> str:
    """``6.41234 ± 0.0512``."""
    return number(told.mean, decimals) + ("" if told.sd is None else f" ± {short(told.sd)}")


def differences(setting: Setting, corrected: bool) -> Grid:
    """What the statistics say; ``corrected``: there are several tests, so that Holm's p differs."""
    head = ["difference", "on", "mean", "95% interval", "relative", "p", "Holm", "sign flips", "d"]
    head += ["seeds", "for 80%", "wins / ties / losses"]
    rows = [
        [
            pair(each),
            METRIC.get(each.metric, each.metric),
            short(each.mean, True),
            interval(each) or "-",
            signed_percent(each.relative) or "-",
            p_value(each.p),
            p_value(each.p_holm),
            p_value(each.p_sign_flip),
            number(each.effect, 2),
            str(len(each.seeds)),
            seeds_needed(each),
            f"{each.wins} / {each.ties} / {each.losses}",
        ]
        for each in setting.differences
    ]
    if not corrected:
        place = head.index("Holm")
        head, rows = _without(head, place), [_without(row, place) for row in rows]
    notes = [
        "Paired by seed; below 0 the first is better. Interval and p: paired t-test, two-sided. "
        + ("Holm: p corrected for all tests of the comparison on those instances. " if corrected else "")
        + "Sign flips: permutation test. d: Cohen's d of the differences. For 80%: seeds that find a "
        "difference of this size with a power of 80%. Wins, ties and losses count seeds."
    ]
    return Grid("Differences", tuple(head), rows, notes + [f"-: {told}." for told in _missing(setting)])


def _without(cells: list[str], place: int) -> list[str]:
    return cells[:place] + cells[place + 1 :]


def _missing(setting: Setting) -> list[str]:
    """Why figures of the differences are missing, each reason once."""
    shown = ("mean", "relative", "low", "p", "p_sign_flip", "effect", "seeds_needed")
    reasons = (each.missing.get(name, "") for each in setting.differences for name in shown)
    return list(dict.fromkeys(reason for reason in reasons if reason))


def verdict(each: Difference) -> str:
    """The difference in one sentence, with what may be said about chance."""
    where = METRIC.get(each.metric, each.metric)
    if each.mean is None:
        return f"{pair(each)} on {where}: {each.missing.get('mean', 'not known')}."
    if each.mean == 0:
        return f"On {where} {each.arm} and {each.against} are equal in the mean."
    share = "" if each.relative is None else f"{percent(abs(each.relative), 2)} "
    side = "better" if each.mean < 0 else "worse"
    told = f"On {where} {each.arm} is {share}{side} than {each.against} in the mean"
    if each.p_holm is None:
        return f"{told}; whether that is chance cannot be said: {each.missing.get('p', 'there is no p')}."
    p = f"{'p' if each.p_holm == each.p else 'corrected p'} {p_value(each.p_holm)}"
    if each.p_holm < LEVEL:
        return f"{told}, more than chance explains ({p})."
    needed = seeds_needed(each)
    more = f"; about {needed} seeds would tell, if the difference is truly of this size" * (needed != "-")
    return f"{told}, which may be chance ({p}){more}."


def pair(each: Difference) -> str:
    """``esopt - eoh``."""
    return f"{clean(each.arm, 24)} - {clean(each.against, 24)}"


def interval(each: Difference) -> str:
    """``[-0.12, +0.03]``, empty where it is not known."""
    known = each.low is not None and each.high is not None
    return f"[{short(each.low, True)}, {short(each.high, True)}]" if known else ""


def spends(setting: Setting) -> Grid:
    """What all runs of an arm spent together, by kind."""
    head = ("arm", "proposals", "+ initial", "valid", "prompt tokens", "reply tokens", "evaluations")
    rest = ("updates", "model", "ES", "evaluation", "wall")
    rows = []
    for arm in setting.arms:
        spend, seconds = arm.spend, arm.spend.seconds
        times = (seconds.model, seconds.es, seconds.evaluation, spend.wall_seconds)
        cells = [str(spend.proposals), str(spend.init_proposals), str(spend.valid)]
        cells += [count(spend.prompt_tokens), count(spend.completion_tokens)]
        rows.append([arm.arm, *cells, str(spend.evaluations), str(spend.updates), *map(_time, times)])
    notes = [
        "All runs of an arm together. Proposals and valid ones are those of the budget; tokens, evaluations "
        "and times include the initial population. ES: moving weights. Model and evaluation overlap."
    ]
    return Grid("Spend by kind", (*head, *rest), rows, notes)


def _time(seconds: float) -> str:
    return f"{seconds:.1f} s" if seconds < 60 else duration(seconds)


def runs(setting: Setting, arm: ArmResult) -> Grid:
    """Every run of an arm."""
    head = ("seed", "training", "gap", "test", "gap", "valid", "model", "ES", "evaluation", "wall", "folder")
    return Grid(arm.arm, head, [_run(setting, run) for run in arm.runs])


def _run(setting: Setting, run: RunResult) -> list[str]:
    seconds = run.spend.seconds
    times = (seconds.model, seconds.es, seconds.evaluation, run.spend.wall_seconds)
    cells = [str(run.seed), number(run.train, setting.decimals), signed_percent(run.train_gap) or "-"]
    cells += [number(run.test, setting.decimals), signed_percent(run.test_gap) or "-"]
    return [*cells, f"{run.spend.valid} of {run.spend.proposals}", *map(_time, times), run.folder]


def tallies(found: Comparison) -> Grid:
    """Wins over settings."""
    head = ("arm", "on", "wins", "ties", "losses", "wins, p < 5%", "losses, p < 5%")
    rows = [
        [
            each.arm,
            METRIC.get(each.metric, each.metric),
            *map(str, (each.wins, each.ties, each.losses, each.significant_wins, each.significant_losses)),
        ]
        for each in found.tallies
    ]
    notes = [f"Settings in which the mean is below that of {found.against}; p corrected by Holm's method."]
    return Grid(f"Against {found.against}, over {len(found.settings)} settings", head, rows, notes)
