"""The figures of a comparison."""

import math
import statistics

from ahd.display.text import clean
from ahd.report.comparison import AXES, MEASURES, Comparison, Difference
from ahd.report.drawing import Chart, blank, legend, level, style, thinned
from ahd.report.palette import BLUE, DASHES, INK, ORANGE, SERIES, Colour


def comparison_charts(data: Comparison) -> list[Chart]:
    """The figures that the comparison has data for, in the order of the page."""
    with style():
        drawn = [_curves(data, axis) for axis in AXES]
        drawn += [_runs(data, measure) for measure in reversed(MEASURES)]
        drawn += [_differences(data, measure) for measure in reversed(MEASURES)]
    return [chart for chart in drawn if chart is not None]


def _look(data: Comparison, name: str) -> tuple[Colour, object]:
    index = next((place for place, arm in enumerate(data.arms) if arm.name == name), 0)
    return SERIES[index % len(SERIES)], DASHES[index % len(DASHES)]


def _curves(data: Comparison, axis: str) -> Chart | None:
    curves = data.curves.get(axis)
    if not curves:
        return None
    figure, (axes,) = blank()
    told = []
    for name, curve in curves.items():
        colour, dash = _look(data, name)
        kept = thinned(len(curve.grid))
        at = [curve.grid[index] for index in kept]
        if curve.low:
            low, high = [curve.low[index] for index in kept], [curve.high[index] for index in kept]
            axes.fill_between(at, low, high, color=colour.light, alpha=0.15, linewidth=0)
        mean = [curve.mean[index] for index in kept]
        axes.plot(at, mean, color=colour.light, linestyle=dash, label=clean(name, 24))
        last = next((value for value in reversed(curve.mean) if math.isfinite(value)), None)
        told.append(f"{clean(name, 40)} {data.number(last)}")
    bottom, top = axes.get_ylim()
    if data.reference is not None and data.reference > bottom - (top - bottom):
        level(axes, data.reference, "reference", INK)
    axes.set_xlabel(AXES[axis])
    axes.set_ylabel("best objective, training")
    legend(figure, axes)
    caption = f"Mean over seeds of the best training objective, with its band. At the end: {', '.join(told)}."
    return Chart(f"curves-{axis}", f"Convergence by {AXES[axis]}", caption, figure)


def _runs(data: Comparison, measure: str) -> Chart | None:
    arms = [arm for arm in data.arms if arm.values(measure)]
    if not arms:
        return None
    figure, (axes,) = blank(70 + 34 * len(arms))
    told = []
    for row, arm in enumerate(arms):
        values = arm.values(measure)
        colour, _ = _look(data, arm.name)
        axes.plot(
            values, [row] * len(values), "o", color=colour.light, alpha=0.6, markersize=6, markeredgewidth=0
        )
        mean = statistics.fmean(values)
        axes.plot([mean, mean], [row - 0.28, row + 0.28], color=INK.light, linewidth=2)
        told.append(f"{clean(arm.name, 40)} {data.number(mean)} ({len(values)} runs)")
    axes.set_yticks(range(len(arms)), [clean(arm.name, 24) for arm in arms])
    axes.set_ylim(len(arms) - 0.5, -0.5)
    axes.locator_params(axis="x", nbins=5)
    axes.set_xlabel(f"{MEASURES[measure]}, smaller is better")
    caption = f"One dot per seed; the bar is the mean: {', '.join(told)}."
    return Chart(f"runs-{measure}", f"{MEASURES[measure].capitalize()} of every run", caption, figure)


def _differences(data: Comparison, measure: str) -> Chart | None:
    found = [each for each in data.differences if each.measure == measure]
    if not found:
        return None
    figure, (axes,) = blank(70 + 34 * len(found))
    for row, each in enumerate(found):
        colour = ORANGE if _decided(each) else BLUE
        if each.low is not None and each.high is not None:
            axes.plot([each.low, each.high], [row, row], color=colour.light, linewidth=2.2)
        axes.plot(each.mean, row, "o", color=colour.light, markersize=7)
    axes.axvline(0, color=INK.light, linewidth=1)
    axes.set_yticks(range(len(found)), [pair(each) for each in found])
    axes.set_ylim(len(found) - 0.5, -0.5)
    axes.locator_params(axis="x", nbins=5)
    axes.set_xlabel(f"difference of the {MEASURES[measure]}")
    told = "; ".join(f"{pair(each)}: {data.number(each.mean)}{interval(data, each)}" for each in found)
    caption = f"First minus second, mean with its interval; left of 0 the first is better. {told}."
    return Chart(f"differences-{measure}", f"Differences, {MEASURES[measure]}", caption, figure)


def _decided(each: Difference) -> bool:
    return each.low is not None and each.high is not None and not each.low <= 0 <= each.high


def pair(each: Difference) -> str:
    """``esopt - eoh``."""
    return f"{clean(each.first, 16)} - {clean(each.second, 16)}"


def interval(data: Comparison, each: Difference) -> str:
    """`` [low, high]``, empty where it is not known."""
    known = each.low is not None and each.high is not None
    return f" [{data.number(each.low)}, {data.number(each.high)}]" if known else ""
