"""``problem new`` and ``problem check``."""

from pathlib import Path
from typing import Annotated

import typer

from ahd.cli.app import app
from ahd.cli.options import Json
from ahd.problem_kinds import Kind

problem_app = typer.Typer(help="Write a problem of your own, and check it.")
app.add_typer(problem_app, name="problem")


@problem_app.command()
def new(
    name: Annotated[str, typer.Argument(help="Its name, such as my_problem.")],
    out: Annotated[Path, typer.Option(metavar="DIR", help="Where the two files go.")] = Path(),
    kind: Annotated[
        Kind,
        typer.Option(
            help="step: the heuristic decides step by step; guided: it guides a solver with a seed; apart: "
            "it decides online and must not see what comes."
        ),
    ] = Kind.STEP,
) -> None:
    """Write a problem that works, to be changed into yours, and its test.

    \b
    Examples:
      ahd problem new my_problem
      ahd problem new my_problem --kind guided --out problems_of_mine
    """
    from ahd.problem_new import write_problem

    write_problem(name, out, kind)


@problem_app.command()
def check(
    target: Annotated[str, typer.Argument(metavar="FILE", help="A problem file, or the name of a problem.")],
    as_json: Json = False,
    prompts: Annotated[
        bool,
        typer.Option("--prompts", help="Show what models read, and of the checks what is not ok."),
    ] = False,
) -> None:
    """Check that a problem does what the search relies on.

    Instances, known heuristics, bad candidates, damaged decisions, another process, speed, prompts. Exit code
    1 if a check fails, 2 if the file cannot be used at all.

    \b
    Examples:
      ahd problem check my_problem.py
      ahd problem check my_problem.py --prompts
    """
    from ahd.problem_check.command import run_check

    raise typer.Exit(run_check(target, as_json, prompts))
