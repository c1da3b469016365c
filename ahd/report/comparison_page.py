"""The page of a comparison, and its Markdown."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ahd.compare.result import METRICS, Comparison, Setting
from ahd.compare.wording import identical
from ahd.display.text import clean
from ahd.report import comparison_tables as tables
from ahd.report.comparison_tables import Grid
from ahd.report.drawing import Chart, counted
from ahd.report.page import environment
from ahd.report.summary import fenced, figures, plain, table


def comparison_page(found: Comparison, charts: Sequence[Sequence[Chart]]) -> str:
    """HTML of a comparison; ``charts`` by setting."""
    return (
        environment()
        .get_template("comparison.html.jinja")
        .render(
            title=f"Comparison on {_problems(found)}",
            found=found,
            problems=_problems(found),
            tally=_tally(found),
            settings=[_setting(found, *each) for each in zip(found.settings, charts, strict=True)],
        )
    )


def _problems(found: Comparison) -> str:
    return ", ".join(dict.fromkeys(setting.problem for setting in found.settings)) or "nothing"


def _tally(found: Comparison) -> Grid | None:
    return tables.tallies(found) if len(found.settings) > 1 and found.tallies else None


def _setting(found: Comparison, setting: Setting, charts: Sequence[Chart]) -> dict[str, Any]:
    return {
        "name": setting.name,
        "facts": facts(setting),
        "warnings": setting.warnings,
        "verdicts": verdicts(setting),
        "grids": grids(found, setting),
        "charts": charts,
        "runs": [tables.runs(setting, arm) for arm in setting.arms],
    }


def facts(setting: Setting) -> dict[str, str]:
    """How the runs of a setting were made."""
    return {
        "budget": f"{counted(setting.budget, 'proposal')} per run, and the initial population",
        "seeds": ", ".join(map(str, setting.seeds)),
        "model": setting.model,
        "style": setting.style,
        "number format": setting.dtype,
    }


def grids(found: Comparison, setting: Setting) -> list[Grid]:
    """The tables of a setting, in the order of the page."""
    compared = [tables.differences(setting, tables.tests(found) > 1)] if setting.differences else []
    return [tables.objectives(setting), *compared, tables.spends(setting)]


def verdicts(setting: Setting) -> list[str]:
    """What the differences say: arms that are identical, then a sentence for every other difference, those of
    the test instances first."""
    order = sorted(setting.differences, key=lambda each: each.metric != METRICS[1])
    return [*identical(setting), *(tables.verdict(each) for each in order if not each.identical)]


def comparison_summary(found: Comparison, charts: Sequence[Chart], folder: Path | None, beside: Path) -> str:
    """Markdown of a comparison; arguments as for ``ahd.report.summary.run_summary``."""
    arms = ", ".join(plain(arm) for arm in found.arms)
    parts = [f"# Comparison on {plain(_problems(found))}", f"Arms: {arms}. Smaller is better."]
    if tally := _tally(found):
        parts += _written(tally)
    for setting in found.settings:
        told = "; ".join(f"{name}: {plain(value)}" for name, value in facts(setting).items())
        parts += [f"## {plain(setting.name)}", f"{told}."]
        parts += [f"Warning: {plain(warning, 500)}." for warning in setting.warnings]
        parts += ["\n".join(f"- {plain(each, 400)}" for each in verdicts(setting))]
        for grid in grids(found, setting):
            parts += _written(grid, "#")
        for arm in setting.arms:
            parts += _written(tables.runs(setting, arm), "#")
    if folder:
        parts += ["## Figures", *figures(charts, folder, beside)]
    if found.command:
        parts += ["Made by:", fenced(clean(found.command, 4000), "sh")]
    return "\n\n".join(part for part in parts if part) + "\n"


def _written(grid: Grid, deeper: str = "") -> list[str]:
    notes = " ".join(plain(note, 1000) for note in grid.notes)
    return [f"##{deeper} {plain(grid.title)}", table(grid.head, grid.rows), notes]
