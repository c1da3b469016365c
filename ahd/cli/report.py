"""``report``: one page of a run or a comparison."""

from pathlib import Path
from typing import Annotated

import typer

from ahd.cli.app import app
from ahd.cli.options import Json, run_folder


@app.command()
def report(
    folder: Annotated[
        Path,
        typer.Argument(
            metavar="FOLDER", help="A run folder, or one with a comparison.json.", callback=run_folder
        ),
    ],
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The page (default: FOLDER/report.html).")
    ] = None,
    figures: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Also write every figure there, as SVG and PNG.")
    ] = None,
    markdown: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Also write a summary for a paper, in Markdown.")
    ] = None,
    show: Annotated[bool, typer.Option("--open/--no-open", help="Open the page in a browser.")] = False,
    as_json: Json = False,
) -> None:
    """Write a run or a comparison as one HTML page.

    It needs no network and runs no script. A run may still be going on, or have stopped.

    \b
    Examples:
      ahd report results/tsp-esopt-20260101-120000
      ahd report results/tsp-esopt-20260101-120000 --figures figures --markdown summary.md
      ahd report results/compare-tsp-knapsack-1a2b3c4d --open
    """
    from ahd.report.make import make

    make(folder, out, figures, markdown, show=show, as_json=as_json)
