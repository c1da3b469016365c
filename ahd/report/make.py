"""``ahd report``: the page of a folder, and what is written beside it."""

import json
import webbrowser
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from ahd.compare.folder import RESULT as COMPARISON
from ahd.compare.folder import read_result
from ahd.compare.result import Comparison
from ahd.config import ConfigError
from ahd.display.text import clean
from ahd.nearby import nearby
from ahd.report.drawing import Chart
from ahd.report.files import checked_name, replaced
from ahd.report.svg import export
from ahd.store import FILE as RUN
from ahd.ticker import Ticker

PAGE = "report.html"


@dataclass(frozen=True)
class Report:
    """What a folder's report consists of. ``markdown`` takes the folder of the exported figures, if any, and
    the file the text is for."""

    page: str
    charts: list[Chart]
    markdown: Callable[[Path | None, Path], str]


def make(
    folder: Path,
    out: Path | None = None,
    figures: Path | None = None,
    markdown: Path | None = None,
    *,
    show: bool = False,
    as_json: bool = False,
) -> None:
    """Write the report of a run or a comparison and print where it is; ``show``: open it in a browser.

    Raises:
        ConfigError: the folder holds neither, cannot be read, or a file cannot be written.
    """
    page = checked_name(out or folder / PAGE, (".html", ".htm"), "--out")
    if markdown is not None:
        checked_name(markdown, (".md", ".markdown"), "--markdown")
    if figures is not None and figures.exists() and not figures.is_dir():
        raise ConfigError(f"--figures {figures}: is a file; name a folder")
    kind = _kind(folder)
    steps = 1 + (figures is not None) + (markdown is not None)
    with Ticker("report", steps) as ticker:
        report = kind(folder)
        replaced(page, report.page.encode("utf-8", "replace"), "--out")
        ticker.step("page")
        written: list[Path] = []
        if figures is not None:
            written = export(report.charts, figures)
            ticker.step("figures")
        if markdown is not None:
            replaced(markdown, report.markdown(figures, markdown).encode("utf-8", "replace"), "--markdown")
            ticker.step("summary")
    if as_json:
        facts = {"page": str(page), "figures": [str(path) for path in written]}
        print(json.dumps(facts | {"markdown": str(markdown) if markdown else None}, indent=2))
    else:
        more = f"; {len(written)} figures in {figures}" if figures else ""
        more += f"; summary: {markdown}" if markdown else ""
        print(clean(f"report: {page}{more}", 2000))
    if show:
        webbrowser.open(page.absolute().as_uri())


def _kind(folder: Path) -> Callable[[Path], Report]:
    if (folder / RUN).is_file():
        return _run
    if (folder / COMPARISON).is_file():
        return _comparison
    raise ConfigError(
        f"{folder} is neither a run folder nor a comparison: it has no {RUN} and no {COMPARISON}; "
        f"{nearby(RUN)}"
    )


def _run(folder: Path) -> Report:
    from ahd.report.charts import run_charts
    from ahd.report.page import run_page
    from ahd.report.read import read
    from ahd.report.summary import run_summary

    data = read(folder)
    charts = run_charts(data)
    return Report(
        run_page(data, charts), charts, lambda figures, beside: run_summary(data, charts, figures, beside)
    )


def _comparison(folder: Path) -> Report:
    return comparison_report(read_result(folder))


def comparison_report(found: Comparison) -> Report:
    """The report of a comparison."""
    from ahd.report.comparison_charts import comparison_charts
    from ahd.report.comparison_page import comparison_page, comparison_summary

    charts = comparison_charts(found)
    every = [chart for each in charts for chart in each]
    return Report(
        comparison_page(found, charts),
        every,
        lambda figures, beside: comparison_summary(found, every, figures, beside),
    )


def write_comparison_page(folder: Path, found: Comparison) -> Path:
    """Write the page of a comparison into its folder; the page's path.

    Raises:
        ConfigError: it cannot be written.
    """
    page = folder / PAGE
    replaced(page, comparison_report(found).page.encode("utf-8", "replace"), "--out")
    return page
