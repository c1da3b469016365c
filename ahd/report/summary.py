"""A run in Markdown, for a paper or an issue: setting, results, operators, learning, the heuristic."""

import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from urllib.parse import quote

from ahd.announce import directions
from ahd.display.text import clean, clean_block, count, duration, percent, signed_percent
from ahd.report.drawing import Chart
from ahd.report.page import COUNTED, known, rival, test_reference
from ahd.report.read import RunReport
from ahd.show import share

_SIGNS = re.compile(r"([\\`*_{}\[\]<>|#~$&!])")


def plain(text: object, limit: int = 200) -> str:
    """``text`` on one line that Markdown and HTML take as it is."""
    return _SIGNS.sub(r"\\\1", clean(str(text), limit))


def table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A Markdown table; the first column is text, the others numbers."""
    lines = [head, ["---", *["---:"] * (len(head) - 1)], *([plain(cell) for cell in row] for row in rows)]
    return "\n".join(f"| {' | '.join(map(str, line))} |" for line in lines)


def fenced(code: str, language: str = "") -> str:
    """``code`` in a fence that nothing inside can close."""
    text = clean_block(code).strip("\n")
    runs = [len(run) for run in re.findall("`+", text)]
    fence = "`" * max(3, *(length + 1 for length in runs), 3)
    return f"{fence}{language}\n{text}\n{fence}"


def figures(charts: Sequence[Chart], folder: Path | None, beside: Path) -> list[str]:
    """The exported figures with their captions, linked from the file ``beside``; none without a folder."""
    if folder is None:
        return []
    try:
        place = folder.absolute().relative_to(beside.absolute().parent).as_posix()
    except ValueError:
        place = folder.absolute().as_posix()
    return [
        f"![{chart.title}]({quote(place)}/{chart.name}.svg)\n\n*{chart.title}.* {plain(chart.caption, 1000)}"
        for chart in charts
    ]


def run_summary(report: RunReport, charts: Sequence[Chart], folder: Path | None, beside: Path) -> str:
    """Markdown of a run. ``folder``: where its figures were exported, if they were; ``beside``: the file
    this text is for."""
    run, facts, number = report.run, report.facts, report.run.number
    config, started = run.started.config, run.started
    best, test = facts["best"], facts["test"] or {}
    measured = test.get("test") is not None
    own = [
        f"ahd {config.method}, seed {config.seed}",
        number(best["objective"]),
        signed_percent(best["gap"]) or "-",
        f"{number(test['test'])} ({signed_percent(test['test_gap']) or '-'})" if measured else "not measured",
    ]
    end = "" if run.status == "done" else f" The run is {plain(run.status)}: the figures are those so far."
    parts = [
        f"# {plain(config.problem)}: {config.method}, seed {config.seed}",
        f"The model {plain(started.model)} ({count(started.parameters)} weights) made {facts['spent']} of "
        f"{facts['budget']} proposals, and {facts['init_spent']} for the initial population, in "
        f"{duration(run.wall_seconds)}; {percent(facts['validity'])} were valid, {facts['duplicates']} "
        f"duplicates. Schedule: {plain(facts['schedule'])}. Directions: {plain(directions(config))}.{end}",
        "## Results",
        table(["heuristic", "training", "gap", "test (gap)"], [own, *known(report)]),
        _reference(report),
        "## Operators",
        table(
            ["operator", "proposals", "valid", "share", "duplicates", "over parents", "new best"],
            [
                [
                    name,
                    each["proposals"],
                    each["valid"],
                    percent(each["validity"]),
                    each["duplicates"],
                    share(each["over_parents"]),
                    each["better"],
                ]
                for name, each in facts["operators"].items()
            ],
        ),
        COUNTED,
        "## Outcomes",
        table(["outcome", "count"], [[each["outcome"], each["count"]] for each in facts["outcomes"]]),
        "## Learning",
        next(
            (plain(chart.caption, 1000) for chart in charts if chart.name == "learning"),
            "No updates were made.",
        ),
        "## Best heuristic",
        fenced(report.code, "python") if report.code else "None is stored.",
        *(["## Figures", *figures(charts, folder, beside)] if folder else []),
        "## Environment",
        table(["", ""], report.environment.items()).replace("---:", "---"),
        "Run it again:",
        fenced(clean(config.command, 4000), "sh"),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _reference(report: RunReport) -> str:
    started, test = report.run.started, report.facts["test"] or {}
    text = "Smaller is better."
    if started.reference is not None:
        text += f" Gaps on the training instances are to {report.run.number(started.reference)}"
        text += f" ({plain(started.reference_source)})." if started.reference_source else "."
    if test.get("test_what"):
        text += f" Test: {plain(test['test_what'])}."
    if told := test_reference(report):
        text += f" Gaps on the test instances are to {plain(told)}."
    if compared := rival(report):
        text += f" {plain(compared)}"
    return text
