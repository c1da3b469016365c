"""The command ``ahd`` itself, to which the other modules add theirs."""

from typing import Annotated

import typer

from ahd import __version__

app = typer.Typer(
    name="ahd",
    help="Design heuristics with a language model that learns while it searches.",
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    add_completion=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(value: bool) -> None:
    if value:
        typer.echo(f"ahd {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Design heuristics with a language model that learns while it searches.

    Start with `ahd run tsp --budget 200`; `ahd doctor` checks the machine.
    """
