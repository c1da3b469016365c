"""``compare``: methods over problems and seeds."""

import functools
import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import typer

from ahd.cli.app import app
from ahd.cli.options import DEFAULTS, Json
from ahd.cli.search import run
from ahd.config import ConfigError, RunConfig

BUDGET = 400
SEEDS = "5"
METHODS = "esopt,eoh,noise"
_OWN = {"problem", "method", "seed", "budget", "search_temperature", "out", "display", "dry_run"}
"""Options of ``ahd run`` that a comparison sets for each of its runs."""


def with_run_options(function: Callable[..., None]) -> Callable[..., None]:
    """``function`` with the options of ``ahd run`` beside its own; it gets them as the last argument,
    ``options``, by name."""
    hints = get_type_hints(function, include_extras=True)
    own = [each for name, each in inspect.signature(function).parameters.items() if name != "options"]
    theirs = [each for name, each in inspect.signature(run).parameters.items() if name not in _OWN]

    @functools.wraps(function)
    def command(**values: Any) -> None:
        options = {each.name: values.pop(each.name) for each in theirs}
        function(**values, options=options)

    del command.__wrapped__
    command.__signature__ = inspect.Signature([*own, *theirs])  # type: ignore[attr-defined]
    command.__annotations__ = {name: hints[name] for name in hints if name != "options"} | {
        each.name: get_type_hints(run, include_extras=True)[each.name] for each in theirs
    }
    return command


@app.command()
@with_run_options
def compare(
    problems: Annotated[
        list[str] | None, typer.Argument(metavar="[PROBLEM]...", help="Names of problems.")
    ] = None,
    methods: Annotated[
        str | None,
        typer.Option(
            help="Methods as in `ahd run`, with commas; eoh@0.7: at that temperature after the "
            "initial population; esopt+reward=paper: with that option of `ahd run` "
            f"(default: {METHODS}).",
        ),
    ] = None,
    seeds: Annotated[
        str | None, typer.Option(help=f"How many, as 5, or which, as 11-15 or 3,7,9 (default: {SEEDS}).")
    ] = None,
    budget: Annotated[
        int | None, typer.Option(help=f"Operator proposals that each run spends (default: {BUDGET}).")
    ] = None,
    against: Annotated[
        str,
        typer.Option(
            metavar="ARM", help="The arm that others are held against (default: eoh, else the first)."
        ),
    ] = "",
    jobs: Annotated[
        int | None,
        typer.Option(
            help="Runs side by side, each on its share of the cores (default: with the default model on "
            "CPU one per core, as memory allows; else 1)."
        ),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="Folder of the comparison (default: in results, named by its plan).")
    ] = None,
    folder: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR", help="Run nothing: compare the finished runs in this folder and below it."
        ),
    ] = None,
    as_json: Json = False,
    csv: Annotated[Path | None, typer.Option(metavar="FILE", help="Write a line per run too.")] = None,
    *,
    options: dict[str, Any],
) -> None:
    """Compare methods over problems and seeds at equal spend.

    Runs are paired by seed. Stopped or killed, the same command goes on; more --seeds add to what is
    there. All other options are those of `ahd run`, for every run.

    \b
    Examples:
      ahd compare tsp knapsack --methods esopt,eoh,noise --seeds 5 --budget 400
      ahd compare tsp --methods eoh,eoh@0.7,eoh@1.2 --seeds 11-20 --jobs 2 --csv runs.csv
      ahd compare tsp --methods esopt,esopt+reward=paper,esopt+antithetic --seeds 10
      ahd compare --folder results/mine --against esopt --json
    """
    from ahd.compare.command import Output, analyse_folder, run_compare
    from ahd.compare.plan import Plan, parse_arms, parse_seeds

    output = Output(as_json, csv)
    if folder is not None:
        unusual = [name for name, value in options.items() if value != getattr(DEFAULTS, name)]
        if problems or out or unusual or any(value is not None for value in (methods, seeds, budget)):
            raise ConfigError("--folder compares what is there: leave out problems and the options of runs")
        analyse_folder(folder, against, output)
        return
    if not problems:
        raise ConfigError("name one problem or more, or a --folder with runs; `ahd problems` lists problems")
    path = options.pop("problem_path")
    base = RunConfig(
        problem="",
        budget=BUDGET if budget is None else budget,
        problem_path=str(Path(path).absolute()) if path else "",
        **options | {"sandbox": options["sandbox"].value},
    )
    plan = Plan(
        problems=tuple(problems),
        arms=parse_arms(METHODS if methods is None else methods),
        seeds=parse_seeds(SEEDS if seeds is None else seeds),
        base=base,
    )
    run_compare(plan, out, against, jobs, output)
