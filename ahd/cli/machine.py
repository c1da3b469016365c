"""``doctor``."""

import typer

from ahd.cli.app import app
from ahd.cli.options import Json


@app.command()
def doctor(as_json: Json = False) -> None:
    """Check the machine.

    Engine, model, processor, preload, sandbox: each finding with its mend.

    \b
    Example:
      ahd doctor
    """
    from ahd.doctor import doctor as run_doctor

    raise typer.Exit(run_doctor(as_json))
