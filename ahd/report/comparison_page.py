"""The page of a comparison, and its Markdown."""

import statistics
from collections.abc import Sequence
from pathlib import Path

from ahd.display.text import duration, signed_percent
from ahd.gap import relative_gap
from ahd.report.comparison import Arm, Comparison, Difference
from ahd.report.comparison_charts import interval, pair
from ahd.report.drawing import Chart
from ahd.report.page import environment
from ahd.report.summary import figures, plain, table

ARM_HEAD = ("arm", "runs", "training", "test", "gap", "proposals", "tokens", "wall time")
DIFFERENCE_HEAD = ("first - second", "of", "difference [interval]", "p", "effect", "seeds", "seeds needed")


def comparison_page(data: Comparison, charts: list[Chart]) -> str:
    """HTML of a comparison."""
    return (
        environment()
        .get_template("comparison.html.jinja")
        .render(
            title=f"Comparison on {data.problem}",
            data=data,
            charts=charts,
            arm_head=ARM_HEAD,
            arms=[arm_row(data, arm) for arm in data.arms],
            difference_head=DIFFERENCE_HEAD,
            differences=[difference_row(data, each) for each in data.differences],
        )
    )


def arm_row(data: Comparison, arm: Arm) -> list[str]:
    """Means and standard deviations over the runs of an arm, in the order of ``ARM_HEAD``."""
    test = arm.values("test")
    gap = relative_gap(statistics.fmean(arm.values("train")), data.reference) if arm.values("train") else None
    seconds = arm.values("seconds")
    return [
        arm.name,
        str(len(arm.runs)),
        _spread(data, arm.values("train")),
        _spread(data, test),
        signed_percent(gap) or "-",
        _mean(arm.values("proposals")),
        _mean(arm.values("tokens")),
        duration(statistics.fmean(seconds)) if seconds else "-",
    ]


def difference_row(data: Comparison, each: Difference) -> list[str]:
    """A difference in the order of ``DIFFERENCE_HEAD``."""
    return [
        pair(each),
        each.measure,
        data.number(each.mean) + interval(data, each),
        "-" if each.p is None else f"{each.p:.3g}",
        "-" if each.effect is None else f"{each.effect:+.2f}",
        _mean([] if each.seeds is None else [each.seeds]),
        _mean([] if each.seeds_for_power is None else [each.seeds_for_power]),
    ]


def _spread(data: Comparison, values: Sequence[float]) -> str:
    if not values:
        return "-"
    text = data.number(statistics.fmean(values))
    return f"{text} ± {data.number(statistics.stdev(values))}" if len(values) > 1 else text


def _mean(values: Sequence[float]) -> str:
    return f"{statistics.fmean(values):,.0f}" if values else "-"


def comparison_summary(data: Comparison, charts: Sequence[Chart], folder: Path | None, beside: Path) -> str:
    """Markdown of a comparison; arguments as for ``ahd.report.summary.run_summary``."""
    told = ", ".join(f"{plain(name)} {plain(value)}" for name, value in data.settings.items())
    parts = [
        f"# Comparison on {plain(data.problem)}",
        f"{told}. Smaller is better." if told else "Smaller is better.",
        "## Arms",
        table(ARM_HEAD, [arm_row(data, arm) for arm in data.arms]),
        "Mean and standard deviation over runs; the gap is that of the training objective.",
    ]
    if data.differences:
        rows = [difference_row(data, each) for each in data.differences]
        parts += ["## Differences", table(DIFFERENCE_HEAD, rows), "First minus second, paired by seed."]
    if folder:
        parts += ["## Figures", *figures(charts, folder, beside)]
    return "\n\n".join(parts) + "\n"
