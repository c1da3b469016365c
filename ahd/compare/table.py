"""A comparison as tables of 80 columns, and its runs as CSV."""

import csv
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

from rich.console import Console
from rich.table import Table
from rich.text import Text

from ahd.compare.result import METRICS, ArmResult, Comparison, Setting, Summary
from ahd.compare.wording import identical, number, p_value, seeds_needed, short
from ahd.config import ConfigError
from ahd.display.text import clean, count, duration

WIDTH = 80
SHOWN = (0.0, 0.1, 0.25, 0.5, 1.0)
"""Shares of the budget at which the objective so far is shown."""
MOST_WIDE = 7
"""Columns that have room for two spaces between them."""


def print_comparison(found: Comparison) -> None:
    """Print every setting, then wins over settings where there are several."""
    console = Console(highlight=False)
    if not console.is_terminal:
        console.width = WIDTH
    tests = sum(each.metric == METRICS[0] for setting in found.settings for each in setting.differences)
    for setting in found.settings:
        _print_setting(console, setting, found.against, tests > 1)
    if len(found.settings) > 1:
        console.print(_tallies(found))
        console.print()
    told = f"Holm: p corrected for the {tests} tests on train, or on test. " if tests > 1 else ""
    console.print(
        Text(
            "Lower is better: differences below 0 favour the arm. ± 95%: t interval. p: paired t-test, "
            f"two-sided. {told}flip: sign-flip permutation test. d: Cohen's d of the differences. "
            "seeds: for 80% power. -: cannot be computed, --json says why. More: docs/comparing.md.",
            style="grey58",
        )
    )


def _print_setting(console: Console, setting: Setting, against: str, corrected: bool) -> None:
    seeds = f"{len(setting.seeds)} seed{'s' * (len(setting.seeds) != 1)}"
    head = f"{setting.name}: {setting.budget} proposals, {seeds}, {setting.model}, {setting.style} style, "
    console.print(Text(clean(head + setting.dtype), style="bold cyan"))
    told = [f"{name} {number(value, setting.decimals)}" for name, value in setting.known.items()]
    if setting.reference is not None:
        told.append(f"reference {number(setting.reference, setting.decimals)}")
    if told:
        console.print(Text(f"known on train: {clean(', '.join(told))}"))
    for warning in setting.warnings:
        console.print(Text(f"warning: {clean(warning)}", style="yellow"))
    if len(setting.seeds) == 1:
        console.print(
            Text("one seed shows no spread and allows no test: give --seeds 5 or more", style="yellow")
        )
    for sentence in identical(setting):
        console.print(Text(clean(sentence), style="yellow"))
    tables = [
        _objectives(setting),
        _differences(setting, against, corrected),
        _curves(setting),
        _spend(setting),
    ]
    for table in tables:
        console.print(table)
        console.print()


def _table(title: str, *columns: str) -> Table:
    """A table whose first column is text, which gives way where it is narrow, the others numbers, which are
    never cut while it can."""
    table = Table(title=Text(title, style="bold"), title_justify="left", box=None)
    table.padding = (0, 1 if len(columns) > MOST_WIDE else 2, 0, 0)
    for place, name in enumerate(columns):
        justify: Literal["left", "right"] = "right" if place else "left"
        head = Text(name, style="grey58")
        table.add_column(head, justify=justify, no_wrap=place > 0, overflow="ellipsis" if place else "fold")
    return table


def _row(table: Table, *cells: str) -> None:
    table.add_row(*(Text(clean(cell)) for cell in cells))


def _objectives(setting: Setting) -> Table:
    where = clean(setting.test_what) or "test instances"
    table = _table(f"objective; test: {where}", "arm", "train", "sd", "best", "test", "sd", "best", "gap")
    for arm in setting.arms:
        gap = arm.test_gap.mean
        cells = [*_summary(arm.train, setting.decimals), *_summary(arm.test, setting.decimals)]
        _row(table, arm.arm, *cells, "-" if gap is None else f"{100 * gap:.1f}%")
    return table


def _summary(found: Summary, decimals: int) -> list[str]:
    return [number(found.mean, decimals), short(found.sd), number(found.best, decimals)]


def _differences(setting: Setting, against: str, corrected: bool) -> Table:
    names = ["arm", "on", "mean", "± 95%", "%", "p", "Holm", "flip", "d", "seeds", "w/t/l"]
    table = _table(
        f"minus {against}, paired by seed", *(name for name in names if corrected or name != "Holm")
    )
    for each in setting.differences:
        half = None if each.low is None or each.high is None else (each.high - each.low) / 2
        _row(
            table,
            each.arm,
            each.metric,
            short(each.mean, True),
            short(half),
            "-" if each.relative is None else f"{100 * each.relative:+.2f}",
            p_value(each.p),
            *([p_value(each.p_holm)] if corrected else []),
            p_value(each.p_sign_flip),
            number(each.effect, 2),
            seeds_needed(each),
            f"{each.wins}/{each.ties}/{each.losses}",
        )
    return table


def _curves(setting: Setting) -> Table:
    """Means at some shares of the budget, and the working time it took."""
    last = len(setting.arms[0].by_proposals.x) - 1
    points = sorted({round(share * last) for share in SHOWN})
    heads = [f"{setting.arms[0].by_proposals.x[point]:.0f}" for point in points]
    table = _table("mean best train objective after proposals", "arm", *heads)
    for arm in setting.arms:
        _row(table, arm.arm, *(number(arm.by_proposals.mean[point], setting.decimals) for point in points))
    return table


def _spend(setting: Setting) -> Table:
    names = ("arm", "proposals", "+ init", "tokens", "evaluated", "updates", "model", "ES", "eval.")
    table = _table("spent by all runs; working time of model, ES and evaluation", *names)
    for arm in setting.arms:
        spend = arm.spend
        _row(
            table,
            arm.arm,
            str(spend.proposals),
            str(spend.init_proposals),
            count(spend.prompt_tokens + spend.completion_tokens),
            str(spend.evaluations),
            str(spend.updates),
            *(duration(value) for value in (spend.seconds.model, spend.seconds.es, spend.seconds.evaluation)),
        )
    return table


def _tallies(found: Comparison) -> Table:
    table = _table(
        f"over {len(found.settings)} settings, against {found.against}",
        *("arm", "on", "wins", "ties", "losses", "wins, p < 5%", "losses, p < 5%"),
    )
    for each in found.tallies:
        numbers = (each.wins, each.ties, each.losses, each.significant_wins, each.significant_losses)
        _row(table, each.arm, each.metric, *map(str, numbers))
    return table


def write_csv(file: Path, found: Comparison) -> None:
    """Write a line per run.

    Raises:
        ConfigError: the file cannot be written.
    """
    rows = [
        _flat(setting, arm, place)
        for setting in found.settings
        for arm in setting.arms
        for place in range(len(arm.runs))
    ]
    try:
        with file.open("w", newline="", encoding="utf-8") as out:
            writer = csv.DictWriter(out, list(rows[0]))
            writer.writeheader()
            writer.writerows(rows)
    except OSError as error:
        raise ConfigError(f"--csv {file}: cannot be written ({error.strerror}); name another file") from None


def _flat(setting: Setting, arm: ArmResult, place: int) -> dict[str, Any]:
    run = arm.runs[place]
    spend, seconds = run.spend, run.spend.seconds
    return {
        "setting": setting.name,
        "problem": setting.problem,
        "model": setting.model,
        "budget": setting.budget,
        "arm": arm.arm,
        "method": arm.method,
        "temperature": arm.temperature,
        "seed": run.seed,
        "train": run.train,
        "test": run.test,
        "train_gap": run.train_gap,
        "test_gap": run.test_gap,
        "proposals": spend.proposals,
        "init_proposals": spend.init_proposals,
        "valid": spend.valid,
        "prompt_tokens": spend.prompt_tokens,
        "completion_tokens": spend.completion_tokens,
        "evaluations": spend.evaluations,
        "updates": spend.updates,
        "model_seconds": seconds.model,
        "es_seconds": seconds.es,
        "evaluation_seconds": seconds.evaluation,
        "wall_seconds": spend.wall_seconds,
        "folder": run.folder,
    }


def check_writable(files: Sequence[Path | None]) -> None:
    """Refuse files to write to before hours are spent.

    Raises:
        ConfigError: the folder of one is not there.
    """
    for file in files:
        if file is not None and (file.is_dir() or not file.absolute().parent.is_dir()):
            raise ConfigError(f"--csv {file}: cannot be written; name a file in a folder that is there")
