"""``show``, ``best`` and ``test``: what a run has found."""

from typing import Annotated

import typer

from ahd.cli.app import app
from ahd.cli.options import DEFAULTS, Json, RunFolder, SandboxMode
from evaluators.layers import Mode


@app.command()
def show(
    folder: RunFolder,
    as_json: Json = False,
    outcomes: Annotated[
        bool, typer.Option("--outcomes", help="Only what became of the proposals, with every reason.")
    ] = False,
) -> None:
    """Summarise a run.

    Spend, best heuristic, population, outcomes and updates.

    \b
    Examples:
      ahd show results/tsp-esopt-20260101-120000 --json
      ahd show results/tsp-esopt-20260101-120000 --outcomes
    """
    from ahd import show as shown

    (shown.outcomes if outcomes else shown.show)(folder, as_json)


@app.command()
def best(folder: RunFolder, as_json: Json = False) -> None:
    """Print the best heuristic of a run.

    \b
    Example:
      ahd best results/tsp-esopt-20260101-120000 > my_heuristic.py
    """
    from ahd.show import best as show_best

    show_best(folder, as_json)


@app.command("test")
def generalise(
    folder: RunFolder,
    top: Annotated[int, typer.Option(help="How many of the population, from the best.")] = 1,
    instances: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FILE",
            help="Files in a public format instead of the test sizes: a file, a folder, a pattern.",
        ),
    ] = None,
    size: Annotated[
        list[int] | None, typer.Option(help="Only these test sizes; may be given more than once.")
    ] = None,
    seeds: Annotated[
        int, typer.Option(help="Fresh seeds of the solver, for problems that have one with a seed.")
    ] = 5,
    as_json: Json = False,
    workers: Annotated[int, typer.Option(help="Processes that evaluate heuristics.")] = 1,
    timeout: Annotated[
        float, typer.Option(help="CPU seconds a candidate may take (0: the problem's own limit).")
    ] = 0.0,
    memory_mb: Annotated[int, typer.Option(help="Memory a candidate may take, in MB.")] = DEFAULTS.memory_mb,
    sandbox: SandboxMode = Mode.AUTO,
) -> None:
    """Score the best heuristics of a run on instances it has not seen.

    On every test size, beside the known heuristics of the problem: minutes where sizes are large, less with
    --size. Needs no model, changes nothing.

    \b
    Examples:
      ahd test results/tsp-esopt-20260101-120000
      ahd test results/tsp-esopt-20260101-120000 --top 3 --size 50 --json
    """
    from ahd.generalise import run_test

    code = run_test(
        folder,
        top,
        instances or [],
        sizes=size or [],
        seeds=seeds,
        as_json=as_json,
        workers=workers,
        timeout=timeout,
        memory_mb=memory_mb,
        mode=sandbox,
    )
    raise typer.Exit(code)
