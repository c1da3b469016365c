"""The table and the plot of a learning trial, from its files alone (``benchmarks/learning.py``)."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.learning_file import Record, key
from benchmarks.paired import Difference, Estimate, difference, estimate, slope

METRICS = {
    "valid": "share valid",
    "new": "share valid and new in the arm so far",
    "distinct": "share valid and new in the batch",
    "better": "share better than the parent",
    "reward_paper": "mean reward, rule of the paper",
    "reward_new": "mean reward, rule `new`",
}
COMPARED = (("esopt", "noise"), ("esopt", "eoh"), ("noise", "eoh"))
COLOURS = {"eoh": ("#6b6b6b",), "noise": ("#c98500", "#8f5a00"), "esopt": ("#1f6fd6", "#0f8a6d", "#7a4fd0")}


@dataclass(frozen=True)
class Arm:
    """One method with one set of settings: its series by seed and metric, one value per batch."""

    method: str
    settings: dict[str, Any]
    records: dict[int, Record]

    def series(self, metric: str, seed: int) -> list[float]:
        return [float(batch[metric]) for batch in self.records[seed]["batches"]]

    def extends(self, other: "Arm") -> bool:
        """Whether whatever matters to ``other`` was the same here, so that the two are paired by seed."""
        return all(self.settings.get(name) == value for name, value in other.settings.items())


def arms(records: Iterable[Record]) -> list[Arm]:
    """Group by method and settings, esopt first."""
    found: dict[tuple[str, str], Arm] = {}
    for record in records:
        method, settings, seed = key(record)
        arm = found.setdefault((method, settings), Arm(method, record["settings"], {}))
        arm.records[seed] = record
    order = ["esopt", "noise", "eoh"]
    return sorted(found.values(), key=lambda arm: order.index(arm.method))


def label(arm: Arm, all_arms: Sequence[Arm]) -> str:
    """The method, with the settings in which the arms of this method differ."""
    rivals = [other.settings for other in all_arms if other.method == arm.method]
    told = [
        f"{name} {value}"
        for name, value in arm.settings.items()
        if any(rival.get(name) != value for rival in rivals)
    ]
    return " ".join([arm.method, *([f"({', '.join(told)})"] if told else [])])


def quarter(updates: int) -> int:
    """Batches in a quarter of the trial, in whole pairs of m1 and m2 where there are so many."""
    return min(updates, 2 * max(1, round(updates / 8)))


def summaries(arm: Arm, metric: str, seeds: Iterable[int]) -> dict[str, list[float]]:
    """Per seed, in the order given: mean of the first and the last quarter, and slope per update."""
    found: dict[str, list[float]] = {"first": [], "last": [], "slope": []}
    for seed in seeds:
        values = arm.series(metric, seed)
        count = quarter(len(values))
        found["first"].append(float(np.mean(values[:count])))
        found["last"].append(float(np.mean(values[-count:])))
        found["slope"].append(slope(values))
    return found


def table(records: Sequence[Record]) -> str:
    """The report in Markdown.

    Raises:
        ValueError: no finished lines.
    """
    found = arms(records)
    if not found:
        raise ValueError("no finished (seed, method) lines")
    return "\n\n".join(["# Learning trial", _what(found), _levels(found), _differences(found)]) + "\n"


def _what(found: Sequence[Arm]) -> str:
    lines = ["| arm | seeds | minutes per seed | settings |", "|---|---|---|---|"]
    for arm in found:
        seconds = estimate([record["seconds"] for record in arm.records.values()]).mean
        settings = ", ".join(f"{name} {value}" for name, value in arm.settings.items())
        lines.append(f"| {label(arm, found)} | {_ranges(arm.records)} | {seconds / 60:.1f} | {settings} |")
    return "\n".join(lines)


def _levels(found: Sequence[Arm]) -> str:
    count = quarter(len(next(iter(found[0].records.values()))["batches"]))
    lines = [
        f"Mean over seeds with 95% t interval. First and last: the {count} first and last batches. "
        "Slope: least squares per update, times 100.",
        "",
        "| metric | arm | seeds | first | last | slope |",
        "|---|---|---|---|---|---|",
    ]
    for metric, words in METRICS.items():
        for arm in found:
            values = summaries(arm, metric, arm.records)
            cells = [
                _interval(estimate([scale * value for value in values[name]]))
                for name, scale in (("first", 1), ("last", 1), ("slope", 100))
            ]
            lines.append(f"| {words} | {label(arm, found)} | {len(arm.records)} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _differences(found: Sequence[Arm]) -> str:
    lines = [
        "Paired differences over the seeds both arms have: mean with 95% t interval, two-sided paired t-test "
        "(not corrected for the number of tests), Cohen's d of the differences, and the seeds that show an "
        "effect of this size with a power of 80%.",
        "",
        "| metric | difference | seeds | of | mean | p | d | seeds needed |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for metric, words in METRICS.items():
        for one, other in paired(found):
            seeds = sorted(one.records.keys() & other.records.keys())
            ones, others = summaries(one, metric, seeds), summaries(other, metric, seeds)
            for name, scale, of in (("last", 1, "last"), ("slope", 100, "slope")):
                result = difference(*([scale * value for value in side[name]] for side in (ones, others)))
                names = f"{label(one, found)} - {label(other, found)}"
                lines.append(f"| {words} | {names} | {len(seeds)} | {of} | {_tested(result)} |")
    return "\n".join(lines)


def paired(found: Sequence[Arm]) -> list[tuple[Arm, Arm]]:
    """The arms that can be compared: same settings where both have them, at least one seed in common."""
    return [
        (one, other)
        for first, second in COMPARED
        for one, other in product(found, found)
        if (one.method, other.method) == (first, second)
        and one.extends(other)
        and one.records.keys() & other.records.keys()
    ]


def _interval(found: Estimate) -> str:
    return f"{found.mean:.3f} [{_number(found.low)}, {_number(found.high)}]"


def _tested(found: Difference) -> str:
    needed = "-" if found.seeds is None else str(found.seeds) if found.seeds <= 10_000 else "> 10000"
    return f"{_interval(found.estimate)} | {_number(found.p)} | {_number(found.effect, 2)} | {needed}"


def _number(value: float, decimals: int = 3) -> str:
    return "-" if math.isnan(value) else f"{value:.{decimals}f}"


def _ranges(numbers: Iterable[int]) -> str:
    """Numbers as ranges: 1, 2, 3, 7 as ``1-3, 7``."""
    runs: list[list[int]] = []
    for number in sorted(numbers):
        if runs and runs[-1][-1] == number - 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return ", ".join(f"{run[0]}-{run[-1]}" if len(run) > 1 else str(run[0]) for run in runs)


def generations(values: Sequence[float]) -> list[float]:
    """Means over consecutive pairs of batches, one of m1 and one of m2; an odd last batch stands alone."""
    return [float(np.mean(values[start : start + 2])) for start in range(0, len(values), 2)]


def plot(records: Sequence[Record], file: Path) -> None:
    """Mean over seeds with its 95% band against updates, one line per arm and one panel per metric;
    the reward is that of the rule which the first arm learns from.

    Raises:
        ValueError: no finished lines.
    """
    import matplotlib

    matplotlib.use("svg")
    from matplotlib import pyplot

    found = arms(records)
    if not found:
        raise ValueError("no finished (seed, method) lines")
    style: Any = {"svg.fonttype": "none", "svg.hashsalt": "ahd", "font.size": 9, "font.family": "sans-serif"}
    with matplotlib.rc_context(style):
        figure, panels = pyplot.subplots(1, 3, figsize=(10, 3.2), layout="constrained")
        rule = found[0].settings.get("reward", "new")
        for metric, axes in zip(("valid", "better", f"reward_{rule}"), panels, strict=True):
            _panel(axes, metric, found)
        handles, names = panels[0].get_legend_handles_labels()
        figure.legend(handles, names, loc="outside lower center", ncols=min(4, len(names)), frameon=False)
        figure.savefig(file, metadata={"Date": None, "Creator": None})
        pyplot.close(figure)


def _panel(axes: Any, metric: str, found: Sequence[Arm]) -> None:
    drawn = dict.fromkeys(COLOURS, 0)
    for arm in found:
        colours = COLOURS[arm.method]
        colour = colours[drawn[arm.method] % len(colours)]
        drawn[arm.method] += 1
        series = [arm.series(metric, seed) for seed in arm.records]
        points = [estimate(values) for values in zip(*map(generations, series), strict=True)]
        updates = generations(range(1, len(series[0]) + 1))
        axes.plot(updates, [point.mean for point in points], color=colour, lw=1.6, label=label(arm, found))
        low, high = [point.low for point in points], [point.high for point in points]
        axes.fill_between(updates, low, high, color=colour, alpha=0.15, lw=0)
    axes.set_title(METRICS[metric].replace("`", ""), loc="left", fontsize=9)
    axes.set_xlabel("update")
    axes.xaxis.get_major_locator().set_params(integer=True)
    axes.spines[["top", "right"]].set_visible(False)
