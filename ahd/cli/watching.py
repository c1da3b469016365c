"""``watch``: looking at a run from outside."""

from pathlib import Path
from typing import Annotated

import typer

from ahd.cli.app import app
from ahd.cli.options import Display, DisplayChoice, run_folder


@app.command()
def watch(
    folder: Annotated[
        Path | None,
        typer.Argument(
            metavar="[RUN]",
            help="A run folder (default: the one in results/ written last).",
            callback=run_folder,
        ),
    ] = None,
    display: Display = DisplayChoice.AUTO,
    once: Annotated[bool, typer.Option("--once", help="Show how it stands and end.")] = False,
    wait: Annotated[
        float, typer.Option(min=0.0, help="Seconds to wait for a run folder that is not there yet.")
    ] = 10.0,
) -> None:
    """Attach the dashboard to a run that goes on or is over.

    It only reads: the run takes no notice, and any number may watch. Ends with the run. Exit code 1 if that
    ended before its budget was spent.

    \b
    Examples:
      ahd watch
      ahd watch results/tsp-esopt-20260101-120000 --display plain
      ahd watch results/tsp-esopt-20260101-120000 --once
    """
    from ahd.watch import watch as watch_run

    raise typer.Exit(watch_run(folder, display.value, once=once, wait=wait))
