"""The figures of a comparison."""

import math
import re
from collections.abc import Sequence
from dataclasses import replace

from ahd.compare.result import METRICS, ArmResult, Comparison, Curve, Difference, Setting
from ahd.compare.wording import METRIC, number, short
from ahd.display.text import clean
from ahd.report.charts import LARGEST
from ahd.report.comparison_tables import interval, pair
from ahd.report.drawing import Chart, blank, counted, legend, level, style, whole_numbers
from ahd.report.palette import BLUE, DASHES, INK, ORANGE, SERIES, Colour

AXES = {"proposals": "proposals", "seconds": "working seconds"}


def comparison_charts(found: Comparison) -> list[list[Chart]]:
    """The figures that every setting has data for, in the order of the page; the names of all differ."""
    prefixes = _prefixes([setting.name for setting in found.settings])
    return [
        [replace(chart, name=f"{prefix}{chart.name}") for chart in _setting_charts(setting)]
        for prefix, setting in zip(prefixes, found.settings, strict=True)
    ]


def _prefixes(names: Sequence[str]) -> list[str]:
    """What names of files and elements may begin with, one for each; empty where there is only one."""
    if len(names) == 1:
        return [""]
    words = [re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:40] for name in names]
    return [f"{place}-{word}-" if word else f"{place}-" for place, word in enumerate(words, 1)]


def _setting_charts(setting: Setting) -> list[Chart]:
    with style():
        drawn = [_curves(setting, axis) for axis in AXES]
        for metric in reversed(METRICS):
            drawn += [_runs(setting, metric), _differences(setting, metric)]
    return [chart for chart in drawn if chart is not None]


def _look(setting: Setting, name: str) -> tuple[Colour, object]:
    index = next((place for place, arm in enumerate(setting.arms) if arm.arm == name), 0)
    return SERIES[index % len(SERIES)], DASHES[index % len(DASHES)]


def _drawable(value: float | None) -> bool:
    return value is not None and abs(value) < LARGEST


def _gaps(values: Sequence[float | None]) -> list[float]:
    """Numbers that a line has a gap at where there is nothing to draw."""
    return [value if value is not None and _drawable(value) else math.nan for value in values]


def _curves(setting: Setting, axis: str) -> Chart | None:
    figure, (axes,) = blank()
    told, bands = [], False
    for arm in setting.arms:
        curve: Curve = arm.by_proposals if axis == "proposals" else arm.by_seconds
        mean, sd = _gaps(curve.mean), _gaps(curve.sd)
        last = next((value for value in reversed(mean) if math.isfinite(value)), None)
        if last is None:
            continue
        colour, dash = _look(setting, arm.arm)
        low = [value - spread for value, spread in zip(mean, sd, strict=True)]
        high = [value + spread for value, spread in zip(mean, sd, strict=True)]
        if any(map(math.isfinite, low)):
            bands = True
            axes.fill_between(curve.x, low, high, step="post", color=colour.light, alpha=0.15, linewidth=0)
        label = clean(arm.arm, 24)
        axes.plot(curve.x, mean, color=colour.light, linestyle=dash, label=label, drawstyle="steps-post")
        told.append(f"{clean(arm.arm, 40)} {number(last, setting.decimals)}")
    if not told:
        return None
    bottom, top = axes.get_ylim()
    reference = setting.reference
    if reference is not None and _drawable(reference) and reference > bottom - (top - bottom):
        level(axes, reference, "reference", INK)
    if axis == "proposals":
        whole_numbers(axes)
    axes.set_xlabel(AXES[axis])
    axes.set_ylabel("best objective, training")
    legend(figure, axes)
    where = (
        "proposals of the budget; 0 is the initial population"
        if axis == "proposals"
        else "seconds of model, weights and evaluation added up, the initial population's included"
    )
    band = " and one standard deviation to both sides" * bands
    caption = f"Best training objective so far: mean over seeds{band}, against {where}. "
    caption += f"At the end: {', '.join(told)}."
    return Chart(f"curves-{axis}", f"Convergence by {AXES[axis]}", caption, figure)


def _values(arm: ArmResult, metric: str) -> list[float]:
    found = (run.objective(metric) for run in arm.runs)
    return [value for value in found if value is not None and _drawable(value)]


def _runs(setting: Setting, metric: str) -> Chart | None:
    arms = [arm for arm in setting.arms if _values(arm, metric)]
    if not arms:
        return None
    figure, (axes,) = blank(70 + 34 * len(arms))
    told = []
    for row, arm in enumerate(arms):
        values = _values(arm, metric)
        colour, _ = _look(setting, arm.arm)
        at = [row] * len(values)
        axes.plot(values, at, "o", color=colour.light, alpha=0.6, markersize=6, markeredgewidth=0)
        mean = math.fsum(values) / len(values)
        axes.plot([mean, mean], [row - 0.28, row + 0.28], color=INK.light, linewidth=2)
        runs = counted(len(values), "run")
        told.append(f"{clean(arm.arm, 40)} {number(mean, setting.decimals)} ({runs})")
    axes.set_yticks(range(len(arms)), [clean(arm.arm, 24) for arm in arms])
    axes.set_ylim(len(arms) - 0.5, -0.5)
    axes.locator_params(axis="x", nbins=5)
    axes.set_xlabel(f"{METRIC[metric]} objective, smaller is better")
    caption = f"One dot per seed; the bar is the mean: {', '.join(told)}."
    return Chart(f"runs-{metric}", f"{METRIC[metric].capitalize()} objective of every run", caption, figure)


def _differences(setting: Setting, metric: str) -> Chart | None:
    found = [each for each in setting.differences if each.metric == metric and _drawable(each.mean)]
    if all(each.identical for each in found):
        return None
    figure, (axes,) = blank(70 + 34 * len(found))
    for row, each in enumerate(found):
        assert each.mean is not None
        colour = ORANGE if _decided(each) else BLUE
        values = _gaps(each.values)
        axes.plot(values, [row + 0.25] * len(values), "|", color=INK.light, markersize=7)
        if _drawable(each.low) and _drawable(each.high):
            axes.plot(_gaps([each.low, each.high]), [row, row], color=colour.light, linewidth=2.2)
        axes.plot(each.mean, row, "o", color=colour.light, markersize=7)
    axes.axvline(0, color=INK.light, linewidth=1)
    axes.set_yticks(range(len(found)), [clean(each.arm, 24) for each in found])
    axes.set_ylim(len(found) - 0.5, -0.5)
    axes.locator_params(axis="x", nbins=5)
    against = clean(found[0].against, 24)
    axes.set_xlabel(f"{METRIC[metric]} objective minus that of {against}")
    told = "; ".join(f"{pair(each)} {short(each.mean, True)} {interval(each)}".strip() for each in found)
    caption = (
        "Paired by seed: dots are means, lines their 95% intervals, strokes below the seeds; left of 0 the "
        f"arm is better, orange where the interval leaves out 0. {told}."
    )
    return Chart(f"differences-{metric}", f"Differences to {against}, {METRIC[metric]}", caption, figure)


def _decided(each: Difference) -> bool:
    return each.low is not None and each.high is not None and not each.low <= 0 <= each.high
