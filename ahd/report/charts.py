"""The figures of a run: what each shows, and in words."""

import math
import statistics
from collections import Counter, defaultdict
from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter

from ahd.display.text import clean, percent, signed_percent, snippet
from ahd.es.moments import mean_and_spread
from ahd.report.drawing import (
    TEXT,
    WIDTH,
    Chart,
    blank,
    counted,
    legend,
    level,
    style,
    thinned,
    whole_numbers,
)
from ahd.report.levels import levels
from ahd.report.lineage import stored_parents
from ahd.report.palette import (
    AMBER,
    BLUE,
    DIM,
    GREEN,
    INK,
    ORANGE,
    PURPLE,
    SAND,
    SKY,
    STONE,
    Colour,
    of_operator,
)
from ahd.report.read import Point, RunReport
from ahd.store import Proposal, UpdateRow
from evaluators.outcome import Status

WINDOW = 20
"""Proposals of an operator over which its validity is taken."""
LARGEST = 1e100
"""Objectives from here on are not drawn."""
MOST_ANCESTORS = 40
"""Ancestors drawn in the lineage."""
MOST_REASONS = 4
"""Kinds of failure told apart in a figure; the rest are one."""
_SPENT = "proposals (before 0: initial population)"


def run_charts(report: RunReport) -> list[Chart]:
    """The figures that the run has data for, in the order of the page."""
    with style():
        drawn = [
            _convergence(report),
            _population(report),
            _validity(report),
            _outcomes(report),
            _learning(report),
            _lineage(report),
        ]
    return [chart for chart in drawn if chart is not None]


def _convergence(report: RunReport) -> Chart | None:
    run, points, generations = report.run, report.points, report.generations
    best = _best_so_far(report)
    if not best or not generations or not _drawable(report):
        return None
    figure, (axes,) = blank()
    low, high = _frame(report, best)
    kept = [generations[index] for index in thinned(len(generations))]
    axes.fill_between(
        [each.at for each in kept],
        [each.objectives[0] for each in kept],
        [each.objectives[-1] for each in kept],
        step="post",
        color=SKY.light,
        alpha=0.5,
        linewidth=0,
        label="population",
    )
    valid = [point for point in points if point.row.objective is not None]
    dots = [valid[index] for index in thinned(len(valid))]
    axes.plot(
        [point.at for point in dots],
        [point.row.objective or 0.0 for point in dots],
        ".",
        color=STONE.light,
        markersize=3,
        label="valid proposal",
    )
    end = points[-1].at
    steps = [*best, (end, best[-1][1])]
    axes.step(
        [at for at, _ in steps],
        [value for _, value in steps],
        where="post",
        color=BLUE.light,
        label="best",
        zorder=4,
    )
    reference = _reference(report)
    first = [("reference", reference)] if reference is not None else []
    ranked = _known(report)
    shown = levels([*first, *ranked[:1]], ranked[1:], low, high)
    for each in shown:
        level(axes, each.value, each.text, INK if each.value == reference else DIM, each.at)
    if points[0].at < 1:
        axes.axvline(0, color=DIM.light, linewidth=0.7, linestyle=":")
    axes.set_ylim(low, high)
    axes.set_xlabel(_SPENT)
    axes.set_ylabel("objective, training")
    whole_numbers(axes)
    legend(figure, axes)
    where = "of a known heuristic" if report.begun_known else "at the first valid proposal"
    caption = (
        f"Best objective on the training instances, smaller is better: {run.number(best[0][1])} {where}, "
        f"{run.number(best[-1][1])} after {max(end, 0)} proposals of the budget"
    )
    gap = run.gap(best[-1][1])
    caption += f" ({signed_percent(gap)} from the reference {run.number(run.started.reference)})" * (
        gap is not None
    )
    last = generations[-1].objectives
    caption += f". The band is the range of the population, at the end {run.number(last[0])} to "
    caption += f"{run.number(last[-1])}."
    above = sum(point.row.objective is not None and point.row.objective > high for point in points)
    caption += f" Above the frame: {counted(above, 'valid proposal')}." if above else ""
    drawn = {each.name for each in shown}
    known = run.started.known.items()
    left = [f"{clean(name, 30)} {run.number(value)}" for name, value in known if name not in drawn]
    caption += f" Known heuristics without a line: {', '.join(left)}." if left else ""
    return Chart("convergence", "Convergence", caption, figure)


def _drawable(report: RunReport) -> bool:
    """Whether axes can be laid out around the objectives without overflow."""
    begun = [report.begun_known.objective] if report.begun_known else []
    found = [*begun, *(point.row.objective or 0.0 for point in report.points)]
    return all(abs(objective) < LARGEST for objective in found)


def _known(report: RunReport) -> list[tuple[str, float]]:
    """The known heuristics that can be drawn, the best first."""
    found = [each for each in report.run.started.known.items() if abs(each[1]) < LARGEST]
    return sorted(found, key=lambda each: each[1])


def _reference(report: RunReport) -> float | None:
    """The reference, where it can be drawn."""
    reference = report.run.started.reference
    return None if reference is None or abs(reference) >= LARGEST else reference


def _best_so_far(report: RunReport) -> list[tuple[int, float]]:
    """Where the best objective became better, and to what."""
    begun = report.begun_known
    found = [(0, begun.objective)] if begun else []
    for point in report.points:
        value = point.row.objective
        if value is not None and (not found or value < found[-1][1]):
            found.append((point.at, value))
    return found


def _frame(report: RunReport, best: Sequence[tuple[int, float]]) -> tuple[float, float]:
    """Lowest and highest objective drawn: the reference, the best and the best known heuristic to the usual
    top of the population, so that a single bad start does not flatten the rest."""
    reference = _reference(report)
    to_compare = [value for _, value in _known(report)[:1]] + ([] if reference is None else [reference])
    lows = [best[-1][1], *to_compare]
    searched = [each for each in report.generations if each.at > 0] or report.generations
    tops = [each.objectives[-1] for each in searched]
    beginning = [value for at, value in best if at <= 0]
    highs = [statistics.median(tops), *beginning[-1:], best[-1][1]]
    low, high = min(lows), max(highs)
    high = max([high + 0.35 * (high - low), *to_compare])
    room = 0.06 * (high - low) or 0.05 * abs(high) or 1.0
    return low - room, high + room


def _population(report: RunReport) -> Chart | None:
    generations = report.generations
    if not generations or not _drawable(report):
        return None
    kept = [generations[index] for index in thinned(len(generations), 60)]
    figure, (axes,) = blank()
    axes.plot(
        [each.at for each in kept for _ in each.objectives],
        [value for each in kept for value in each.objectives],
        "_",
        color=BLUE.light,
        markersize=7,
        markeredgewidth=1.4,
        label="a member",
    )
    middle = [statistics.median(each.objectives) for each in kept]
    axes.plot([each.at for each in kept], middle, color=ORANGE.light, label="median")
    searched = [each for each in generations if each.at > 0] or list(generations)
    low = min(each.objectives[0] for each in searched)
    high = max(max(middle[-len(searched) :]), statistics.median(each.objectives[-1] for each in searched))
    room = 0.08 * (high - low) or 0.02 * abs(high) or 1.0
    axes.set_ylim(low - room, high + 2 * room)
    axes.set_xlabel(_SPENT)
    axes.set_ylabel("objective, training")
    whole_numbers(axes)
    legend(figure, axes)
    number = report.run.number
    first, last = generations[0].objectives, generations[-1].objectives
    caption = (
        f"Objectives of the members after each batch: {len(first)} of {number(first[0])} to "
        f"{number(first[-1])} at first (median {number(statistics.median(first))}), {len(last)} of "
        f"{number(last[0])} to {number(last[-1])} at the end (median {number(statistics.median(last))})."
    )
    hidden = sum(value > high + 2 * room for each in kept for value in each.objectives)
    caption += " Worse members lie above the frame." if hidden else ""
    return Chart("population", "Population", caption, figure)


def _validity(report: RunReport) -> Chart | None:
    if not report.points:
        return None
    by_operator: dict[str, list[Point]] = defaultdict(list)
    for point in report.points:
        by_operator[clean(point.row.operator, 20)].append(point)
    figure, (axes,) = blank(235)
    told, few = [], []
    for name, points in by_operator.items():
        valid = [point.row.objective is not None for point in points]
        shares = [
            statistics.fmean(valid[max(0, end - WINDOW) : end])
            for end in range(min(WINDOW // 2, len(valid)), len(valid) + 1)
        ]
        at = [point.at for point in points[-len(shares) :]]
        colour, dash = of_operator(name)
        kept = thinned(len(at), 200)
        axes.plot(
            [at[index] for index in kept],
            [shares[index] for index in kept],
            color=colour.light,
            linestyle=dash,
            label=name,
            marker="o" if len(at) == 1 else None,
        )
        told.append(f"{name} {percent(statistics.fmean(valid), 0)} of {len(valid)}")
        few.append(len(at) == 1)
    axes.set_ylim(-0.03, 1.03)
    axes.yaxis.set_major_formatter(PercentFormatter(1, decimals=0))
    axes.set_xlabel(_SPENT)
    axes.set_ylabel("valid" if all(few) else f"valid, last {WINDOW}")
    whole_numbers(axes)
    legend(figure, axes, 5)
    caption = ""
    if not all(few):
        caption += f"Lines: share of valid proposals among the last {WINDOW} of an operator, from its "
        caption += f"{WINDOW // 2}th on. "
    if any(few):
        caption += f"Dots: share among all proposals of an operator that has {WINDOW // 2} or fewer. "
    caption += f"Over the whole run: {', '.join(told)}."
    return Chart("validity", "Validity of the operators", caption, figure)


def _outcomes(report: RunReport) -> Chart | None:
    rows = report.run.rows
    if not rows:
        return None
    failures = Counter(row.outcome for row in rows if row.outcome != Status.OK)
    common = [name for name, _ in failures.most_common(MOST_REASONS)]
    names = [
        "valid and new",
        "valid, duplicate",
        *common,
        *["other failures"] * (len(failures) > len(common)),
    ]
    colours: tuple[Colour, ...] = (BLUE, SKY, ORANGE, SAND, AMBER, PURPLE, STONE)
    counts: dict[str, Counter[str]] = {}
    for row in rows:
        counts.setdefault(clean(row.operator, 20), Counter())[_kind(row, common)] += 1
    operators = list(counts)
    figure, (axes,) = blank(110 + 26 * len(operators) + 14 * math.ceil(len(names) / 2))
    left = [0.0] * len(operators)
    for name, colour in zip(names, colours, strict=False):
        share = [counts[each][name] / counts[each].total() for each in operators]
        axes.barh(
            operators,
            share,
            left=left,
            color=colour.light,
            height=0.68,
            label=clean(name.replace("_", " "), 24),
        )
        left = [before + more for before, more in zip(left, share, strict=True)]
    axes.invert_yaxis()
    axes.set_xlim(0, 1)
    axes.xaxis.set_major_formatter(PercentFormatter(1, decimals=0))
    axes.grid(axis="y", visible=False)
    axes.set_xlabel("share of the operator's proposals")
    legend(figure, axes, 2)
    whole = sum(counts.values(), Counter())
    told = ", ".join(f"{clean(name.replace('_', ' '), 24)} {whole[name]}" for name in names)
    return Chart("outcomes", "Outcomes by operator", f"Of {len(rows)} proposals: {told}.", figure)


def _kind(row: Proposal, common: Sequence[str]) -> str:
    if row.outcome == Status.OK:
        return "valid and new" if row.duplicate_of is None else "valid, duplicate"
    return row.outcome if row.outcome in common else "other failures"


def _learning(report: RunReport) -> Chart | None:
    updates = report.run.updates
    if not updates:
        return None
    figure, panels = blank(440, rows=4)
    at = [update.id for update in updates]
    moments = [mean_and_spread(update.rewards) for update in updates]
    mean = [each for each, _ in moments]
    _line(panels[0], at, [update.sigma for update in updates], PURPLE, "sigma")
    _line(panels[1], at, mean, BLUE, "reward")
    panels[1].fill_between(
        at,
        [middle - spread for middle, spread in moments],
        [middle + spread for middle, spread in moments],
        color=SKY.light,
        alpha=0.5,
        linewidth=0,
    )
    _line(panels[2], at, [update.norm for update in updates], ORANGE, "norm")
    _line(panels[3], at, [update.moved for update in updates], GREEN, "moved")
    panels[3].yaxis.set_major_formatter(lambda value, _: f"{100 * value:.4g}%")
    for axes in (panels[0], panels[2], panels[3]):
        _from_zero(axes)
    back = [update for update in updates if update.rollback_to is not None]
    for axes in panels:
        for update in back:
            axes.axvline(update.id, color=INK.light, linewidth=1, linestyle=":")
    panels[3].set_xlabel("update" + " (dotted: rolled back)" * bool(back))
    whole_numbers(panels[3])
    figure.align_ylabels(panels)
    return Chart("learning", "Evolution strategies", _learning_words(updates, moments, len(back)), figure)


def _line(axes: Axes, at: Sequence[int], values: Sequence[float], colour: Colour, name: str) -> None:
    kept = [index for index in thinned(len(at)) if math.isfinite(values[index])]
    axes.plot(
        [at[index] for index in kept],
        [values[index] for index in kept],
        color=colour.light,
        marker="o" if len(kept) <= 30 else None,
        markersize=3.5,
    )
    axes.set_ylabel(name)
    axes.locator_params(axis="y", nbins=3)
    axes.margins(y=0.2)


def _from_zero(axes: Axes) -> None:
    """Lets the y axis begin at 0 and end above all markers."""
    top = 1.2 * axes.dataLim.y1
    axes.set_ylim(0, top if math.isfinite(top) and top > 0 else None)


def _learning_words(
    updates: Sequence[UpdateRow], moments: Sequence[tuple[float, float]], rollbacks: int
) -> str:
    first, last = updates[0], updates[-1]

    def change(name: str, before: float, after: float, form: str) -> str:
        if len(updates) == 1:
            return f"{name} {format(after, form)}"
        return f"{name} {format(before, form)} to {format(after, form)}"

    parts = [
        change("sigma", first.sigma, last.sigma, ".3g"),
        change(
            "mean reward of a batch (band: one standard deviation)", moments[0][0], moments[-1][0], "+.3g"
        ),
        change("spread of the rewards of a batch", moments[0][1], moments[-1][1], ".3g"),
        change("norm of the update", first.norm, last.norm, ".3g"),
        change("share of the weights moved, in percent", 100 * first.moved, 100 * last.moved, ".3g"),
    ]
    text = f"{counted(len(updates), 'update')}, first to last: {'; '.join(parts)}."
    return text + (f" {rollbacks} rolled back." if rollbacks else "")


def _lineage(report: RunReport) -> Chart | None:
    everyone, steps = report.lineage.ancestors, report.lineage.steps
    if not everyone:
        return None
    main = [step.child.id for step in steps]
    keep = set(main[:MOST_ANCESTORS])
    for row in everyone:
        if len(keep) < MOST_ANCESTORS:
            keep.add(row.id)
    shown = [row for row in everyone if row.id in keep]
    figure = _tree(report, shown, set(main))
    hidden = len(everyone) - len(shown)
    caption = (
        f"Ancestors of proposal {everyone[0].id}, newest first: {counted(len(everyone) - 1, 'proposal')}, "
        f"{counted(len(steps) - 1, 'step')} along the main line (thick) from the initial population."
    )
    caption += f" {hidden} older ones are not drawn." if hidden else ""
    return Chart("lineage", "Ancestors of the best", caption, figure)


def _tree(report: RunReport, shown: Sequence[Proposal], main: set[int]) -> Figure:
    """One row per ancestor, parents below their children, in lanes as version control draws history."""
    by_id = {row.id: row for row in shown}
    height = {row.id: -index for index, row in enumerate(shown)}
    lanes = _lanes(shown, by_id, main)
    figure, (axes,) = blank(24 + 20 * max(len(shown), 2))
    axes.set_axis_off()
    widest = max(lanes.values())
    gap = min(16.0, 110 / (widest + 1))
    for child in shown:
        for parent in stored_parents(child, by_id):
            from_x, to_x = lanes[child.id] * gap, lanes[parent.id] * gap
            top, end = height[child.id], height[parent.id]
            bold = child.id in main and parent.id in main
            axes.plot(
                [from_x, to_x, to_x],
                [top, top - 1, end],
                color=(BLUE if bold else STONE).light,
                linewidth=2.4 if bold else 1.2,
                zorder=2 if bold else 1,
                solid_joinstyle="round",
            )
    for row in shown:
        colour, _ = of_operator(row.operator)
        axes.plot(lanes[row.id] * gap, height[row.id], "o", color=colour.light, markersize=7, zorder=3)
        text = f"{row.id} {clean(row.operator, 8)}  {clean(report.run.number(row.objective), 14)}  "
        room = int((WIDTH - widest * gap - 30) / (0.52 * TEXT)) - len(text)
        axes.text(
            widest * gap + 14,
            height[row.id],
            text + clean(snippet(row.completion or row.code), max(room, 4)),
            va="center",
            fontsize=TEXT - 1,
            fontweight="bold" if row.id in main else "normal",
            in_layout=False,
        )
    axes.set_xlim(-8, WIDTH - 8)
    axes.set_ylim(min(height.values()) - 0.6, 0.6)
    return figure


def _lanes(shown: Sequence[Proposal], by_id: dict[int, Proposal], main: set[int]) -> dict[int, int]:
    """A column for every ancestor: kept free from its first child down to itself; 0 is the main line's."""
    lanes, taken = {shown[0].id: 0}, {0: shown[0].id}
    for row in shown:
        own = lanes.setdefault(row.id, 0)
        if taken.get(own) == row.id and row.id not in main:
            del taken[own]
        parents = stored_parents(row, by_id)
        for parent in sorted(parents, key=lambda each: each.id not in main):
            if parent.id in lanes:
                continue
            lane = 0 if parent.id in main else next(n for n in range(1, len(shown) + 2) if n not in taken)
            lanes[parent.id] = lane
            taken[lane] = parent.id
    return lanes


def named(charts: Sequence[Chart]) -> dict[str, Chart]:
    """Charts by their names."""
    return {chart.name: chart for chart in charts}
