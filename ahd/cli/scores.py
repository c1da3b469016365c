"""``evaluate``, ``refs`` and ``problems``: heuristics and instances without a run."""

from pathlib import Path
from typing import Annotated

import typer

from ahd.cli.app import app
from ahd.cli.options import DEFAULTS, Json, ProblemPath, SandboxMode
from evaluators.layers import Mode


@app.command()
def evaluate(
    problem: Annotated[str, typer.Argument(help="Name of a problem.")],
    files: Annotated[
        list[str] | None, typer.Argument(metavar="FILE.py", help="Heuristics, one a file.")
    ] = None,
    known: Annotated[bool, typer.Option("--known", help="Score the problem's known heuristics too.")] = False,
    split: Annotated[
        str | None, typer.Option(help="train, val or test (default: train).", show_default=False)
    ] = None,
    size: Annotated[int | None, typer.Option(help="Instance size (default: the split's first).")] = None,
    instances: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FILE",
            help="Instances from files (TSPLIB, CVRPLIB, OR-Library) instead of a split: files, folders or "
            "quoted patterns.",
        ),
    ] = None,
    seeds: Annotated[
        int, typer.Option(help="Fresh seeds of the solver to average over, for problems that have one.")
    ] = 1,
    as_json: Json = False,
    problem_path: ProblemPath = "",
    timeout: Annotated[
        float, typer.Option(help="CPU seconds a candidate may take (0: the problem's own limit).")
    ] = 0.0,
    memory_mb: Annotated[int, typer.Option(help="Memory a candidate may take, in MB.")] = DEFAULTS.memory_mb,
    sandbox: SandboxMode = Mode.AUTO,
) -> None:
    """Score heuristic files in the sandbox.

    Needs no model. Exit code 1 if a file fails.

    \b
    Examples:
      ahd evaluate tsp best.py
      ahd evaluate knapsack a.py b.py --split test --size 200 --json
      ahd evaluate tsp best.py --instances eil51.tsp kroA100.tsp
      ahd evaluate tsp-aco --known --seeds 10
    """
    from ahd.evaluate import run_evaluate

    code = run_evaluate(
        problem,
        files or [],
        split=split,
        size=size,
        as_json=as_json,
        problem_path=problem_path,
        timeout=timeout,
        memory_mb=memory_mb,
        mode=sandbox,
        instances=instances or (),
        seeds=seeds,
        known=known,
    )
    raise typer.Exit(code)


@app.command()
def refs(
    problem: Annotated[str, typer.Argument(help="Name of a problem; `ahd problems` lists them.")],
    split: Annotated[str, typer.Option(help="train, val or test.")] = "train",
    size: Annotated[int | None, typer.Option(help="Instance size (default: the split's first).")] = None,
    seconds: Annotated[float, typer.Option(help="Most seconds a solver takes for an instance.")] = 2.0,
    check: Annotated[
        bool, typer.Option("--check", help="Run every solver there is for the problem, and compare.")
    ] = False,
    force: Annotated[bool, typer.Option("--force", help="Forget what was computed before.")] = False,
    workers: Annotated[int, typer.Option(help="Instances solved at a time.")] = 1,
    as_json: Json = False,
    write: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Put the result into this file too: problems/references.json is what ships."
        ),
    ] = None,
) -> None:
    """Compute optima, or strong solutions, to measure gaps against.

    Ctrl-C keeps what is done; the same command goes on. Exit code 1 if solvers contradict each other.

    \b
    Examples:
      ahd refs knapsack --split val --size 200
      ahd refs tsp --seconds 1 --check
    """
    from ahd.refs import run_refs

    code = run_refs(
        problem,
        split,
        size,
        seconds=seconds,
        as_json=as_json,
        force=force,
        check=check,
        workers=workers,
        write=write,
    )
    raise typer.Exit(code)


@app.command()
def problems(
    name: Annotated[str, typer.Argument(metavar="[NAME]", help="One problem, with its function.")] = "",
    as_json: Json = False,
    problem_path: ProblemPath = "",
) -> None:
    """List the problems, or show the function of one: of NAME, or of the file.

    \b
    Examples:
      ahd problems
      ahd problems job-shop
      ahd problems --problem-path mine.py --json
    """
    from ahd.problem_list import print_problem, print_problems

    if name or problem_path:
        print_problem(name, as_json, problem_path or None)
    else:
        raise typer.Exit(print_problems(as_json))
