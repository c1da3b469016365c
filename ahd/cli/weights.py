"""``weights rebuild`` and ``weights export``."""

from pathlib import Path
from typing import Annotated

import typer

from ahd.cli.app import app
from ahd.cli.options import Json, RunFolder

weights_app = typer.Typer(help="Rebuild or export the weights of a run.")
app.add_typer(weights_app, name="weights")
Number = Annotated[
    int | None,
    typer.Option("--update", help="Weights after this update; 0: the base model's (default: the last)."),
]
BaseModel = Annotated[
    str, typer.Option("--model", help="The base model, where it is not where it was when the run began.")
]


@weights_app.command()
def rebuild(folder: RunFolder, update: Number = None, as_json: Json = False, model: BaseModel = "") -> None:
    """Rebuild the weights of a run from its log.

    Loads no engine, and checks the hash after each update. Exit code 1 if one differs.

    \b
    Example:
      ahd weights rebuild results/tsp-esopt-20260101-120000
    """
    from ahd.weights import rebuild as rebuild_weights

    raise typer.Exit(rebuild_weights(folder, update, as_json, model))


@weights_app.command()
def export(
    folder: RunFolder,
    out: Annotated[Path, typer.Option(metavar="DIR", help="A new or empty folder.")],
    update: Number = None,
    model: BaseModel = "",
) -> None:
    """Write the rebuilt weights as a Hugging Face folder.

    \b
    Example:
      ahd weights export results/tsp-esopt-20260101-120000 --out tuned
    """
    from ahd.weights import export as export_weights

    raise typer.Exit(export_weights(folder, out, update, model))
