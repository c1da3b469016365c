"""Options that several commands share."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from ahd.config import RunConfig
from evaluators.layers import Mode


class DisplayChoice(StrEnum):
    """Back ends of the display."""

    AUTO = "auto"
    RICH = "rich"
    PLAIN = "plain"
    JSON = "json"


ProblemPath = Annotated[
    str,
    typer.Option("--problem-path", metavar="FILE", help="A problem module of your own, as one Python file."),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON for scripts.")]
Display = Annotated[
    DisplayChoice,
    typer.Option(
        "--display", help="auto: dashboard in a terminal, plain lines elsewhere; json: one event a line."
    ),
]
SandboxMode = Annotated[
    Mode,
    typer.Option(
        "--sandbox",
        help="Kernel layers that confine candidates (`ahd doctor` lists them): all there are; strict: refuse "
        "to start without one; off: none, limits only.",
    ),
]


def run_folder(given: Path | None) -> Path | None:
    """The run folder: of its run file, the folder that file is in."""
    from ahd.store import FILE

    return given.parent if given and given.name == FILE and given.is_file() else given


RunFolder = Annotated[
    Path,
    typer.Argument(
        metavar="RUN", help="A run folder, e.g. results/tsp-esopt-20260101-120000.", callback=run_folder
    ),
]

DEFAULTS = RunConfig(problem="")
