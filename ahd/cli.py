"""The ``ahd`` command. Imports stay inside the commands so that each starts as fast as it can."""

import os
import sqlite3
import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated, NoReturn

import typer

from ahd import __version__
from ahd.config import ConfigError, Dtype, Kind, Method, Reward, RunConfig, Shaping, Style

app = typer.Typer(
    name="ahd",
    help="Design heuristics with a language model that learns while it searches.",
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    add_completion=False,
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)


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
RunFolder = Annotated[
    Path, typer.Argument(metavar="RUN", help="A run folder, e.g. results/tsp-esopt-20260101-120000.")
]

_DEFAULTS = RunConfig(problem="")


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


@app.command()
def run(
    problem: Annotated[str, typer.Argument(help="Name of a problem; `ahd problems` lists them.")],
    budget: Annotated[
        int, typer.Option(help="Operator proposals to spend (1000 and 2000: the paper's schedules).")
    ] = (_DEFAULTS.budget),
    method: Annotated[
        Method,
        typer.Option(
            help="esopt learns; eoh is frozen; noise perturbs only; sample and sample-esopt: i1 only."
        ),
    ] = _DEFAULTS.method,
    seed: Annotated[int, typer.Option(help="Seed of every random choice.")] = _DEFAULTS.seed,
    model: Annotated[
        str,
        typer.Option(
            help="smollm2-135m (the default), a folder, a Hugging Face id, or scripted (for tests)."
        ),
    ] = _DEFAULTS.model,
    style: Annotated[
        Style,
        typer.Option(
            help="skeleton: complete a skeleton; free: write the whole function; auto: by model size."
        ),
    ] = _DEFAULTS.style,
    out: Annotated[
        Path | None, typer.Option(help="Run folder (default: results/<problem>-<method>-<time>).")
    ] = None,
    display: Display = DisplayChoice.AUTO,
    problem_path: ProblemPath = "",
    population: Annotated[int, typer.Option(help="Heuristics that survive a batch.")] = _DEFAULTS.population,
    parents: Annotated[int, typer.Option(help="Parents shown by e1 and e2.")] = _DEFAULTS.parents,
    kind: Annotated[
        Kind,
        typer.Option(
            help="full: noise on every weight in scope, one direction at a time; lowrank: a pair of factors "
            "per matrix, all directions in one batch."
        ),
    ] = _DEFAULTS.kind,
    scope: Annotated[
        str,
        typer.Option(
            help="Weights that directions move: all, linear (matrices inside the layers), norms (gains of "
            "the norms, all directions in one batch), or a regular expression on names of tensors (default: "
            "norms for full, linear for lowrank)."
        ),
    ] = "",
    rank: Annotated[int, typer.Option(help="Columns of the factors of --kind lowrank.")] = _DEFAULTS.rank,
    sigma: Annotated[
        float | None,
        typer.Option(
            help="Perturbation scale at the start; decays by a cosine (default: by kind and scope)."
        ),
    ] = None,
    alpha: Annotated[
        float | None, typer.Option(help="Step size of the updates (default: by kind and scope).")
    ] = None,
    reward: Annotated[
        Reward,
        typer.Option(
            help="paper: parent minus child; new: pays for valid and new, more for better; copies get 0."
        ),
    ] = _DEFAULTS.reward,
    shaping: Annotated[
        Shaping,
        typer.Option(
            help="Rewards to weights: zscores; ranks, centred; valid: z-scores of the valid, others weigh 0."
        ),
    ] = _DEFAULTS.shaping,
    antithetic: Annotated[
        bool,
        typer.Option(
            "--antithetic/--no-antithetic", help="Directions in mirrored pairs, plus and minus one noise."
        ),
    ] = _DEFAULTS.antithetic,
    per_direction: Annotated[
        int, typer.Option(help="Proposals that share a direction.")
    ] = _DEFAULTS.per_direction,
    momentum: Annotated[
        float, typer.Option(help="Share of the last move kept in the next (0: none).")
    ] = _DEFAULTS.momentum,
    validity_floor: Annotated[
        float, typer.Option(help="Share of valid proposals below which updates are taken back (0: never).")
    ] = _DEFAULTS.validity_floor,
    patience: Annotated[
        int, typer.Option(help="Batches in a row below the floor before that happens.")
    ] = _DEFAULTS.patience,
    temperature: Annotated[
        float | None, typer.Option(help="Sampling temperature (default: 0.9 skeleton, 1.0 free).")
    ] = None,
    top_p: Annotated[
        float | None, typer.Option(help="Nucleus sampling (default: 0.95 skeleton, 0.98 free).")
    ] = None,
    max_tokens: Annotated[
        int, typer.Option(help="Most new tokens a reply (0: 768 free, the skeleton's own otherwise).")
    ] = (_DEFAULTS.max_tokens),
    init_share: Annotated[
        float, typer.Option(help="Most proposals of the initial population, as a share of the budget.")
    ] = _DEFAULTS.init_share,
    timeout: Annotated[
        float, typer.Option(help="CPU seconds a candidate may take (0: the problem's own limit).")
    ] = _DEFAULTS.timeout,
    memory_mb: Annotated[int, typer.Option(help="Memory a candidate may take, in MB.")] = _DEFAULTS.memory_mb,
    workers: Annotated[int, typer.Option(help="Processes that evaluate candidates.")] = _DEFAULTS.workers,
    dtype: Annotated[
        Dtype, typer.Option(help="Number format of the engine; auto: the fastest on this machine.")
    ] = _DEFAULTS.dtype,
    tensor_parallel: Annotated[
        int, typer.Option(help="Parts the model is split into, one per GPU; see docs/scaling.md.")
    ] = _DEFAULTS.tensor_parallel,
    replicas: Annotated[
        int, typer.Option(help="Copies of the model that share the directions, through Ray.")
    ] = _DEFAULTS.replicas,
    ray_address: Annotated[
        str, typer.Option(metavar="ADDRESS", help="A running Ray cluster (default: one of this machine's).")
    ] = _DEFAULTS.ray_address,
    server: Annotated[
        str, typer.Option(metavar="URL", help="A running `vllm serve` to use instead; see docs/scaling.md.")
    ] = _DEFAULTS.server,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print one prompt per operator and stop; loads no model.")
    ] = False,
) -> None:
    """Search for a heuristic.

    \b
    Examples:
      ahd run tsp --budget 200
      ahd run knapsack --budget 1000 --method eoh --seed 3 --display plain
      ahd run mine --problem-path mine.py --dry-run
    """
    config = RunConfig(
        problem=problem,
        method=method,
        budget=budget,
        seed=seed,
        model=model,
        style=style,
        population=population,
        parents=parents,
        kind=kind,
        scope=scope,
        rank=rank,
        sigma=sigma,
        alpha=alpha,
        reward=reward,
        shaping=shaping,
        antithetic=antithetic,
        per_direction=per_direction,
        momentum=momentum,
        validity_floor=validity_floor,
        patience=patience,
        temperature=temperature,
        top_p=top_p,
        max_tokens=max_tokens,
        init_share=init_share,
        timeout=timeout,
        memory_mb=memory_mb,
        workers=workers,
        dtype=dtype,
        tensor_parallel=tensor_parallel,
        replicas=replicas,
        ray_address=ray_address,
        server=server,
        problem_path=str(Path(problem_path).absolute()) if problem_path else "",
    )
    if dry_run:
        from ahd.dry_run import print_prompts

        print_prompts(config)
        return
    _check_names(config)
    _prepare_engine(config)
    from ahd import run as runs
    from ahd.display.choose import choose

    _exit(runs.start(config, out, choose(display.value)))


@app.command()
def resume(folder: RunFolder, display: Display = DisplayChoice.AUTO) -> None:
    """Go on with a stopped or killed run.

    It ends at the same budget, with the weights rebuilt and checked.

    \b
    Example:
      ahd resume results/tsp-esopt-20260101-120000
    """
    from ahd.store import Store

    store = Store.open(folder)
    config = store.config
    store.close()
    _check_names(config)
    _prepare_engine(config)
    from ahd import run as runs
    from ahd.display.choose import choose

    _exit(runs.resume(folder, choose(display.value)))


@app.command()
def show(folder: RunFolder, as_json: Json = False) -> None:
    """Summarise a run.

    Spend, best heuristic, population, outcomes and updates.

    \b
    Example:
      ahd show results/tsp-esopt-20260101-120000 --json
    """
    from ahd.show import show as show_run

    show_run(folder, as_json)


@app.command()
def best(folder: RunFolder, as_json: Json = False) -> None:
    """Print the best heuristic of a run.

    \b
    Example:
      ahd best results/tsp-esopt-20260101-120000 > my_heuristic.py
    """
    from ahd.show import best as show_best

    show_best(folder, as_json)


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
    memory_mb: Annotated[int, typer.Option(help="Memory a candidate may take, in MB.")] = _DEFAULTS.memory_mb,
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
        instances=instances or (),
        seeds=seeds,
        known=known,
    )
    raise typer.Exit(code)


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
    memory_mb: Annotated[int, typer.Option(help="Memory a candidate may take, in MB.")] = _DEFAULTS.memory_mb,
) -> None:
    """Score the best heuristics of a run on instances it has not seen.

    On every test size, beside the known heuristics of the problem. Needs no model, changes nothing.

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
def problems(as_json: Json = False, problem_path: ProblemPath = "") -> None:
    """List the problems, their instances, references and known heuristics.

    \b
    Examples:
      ahd problems
      ahd problems --problem-path mine.py --json
    """
    from ahd.problem_list import print_problems

    print_problems(as_json, problem_path or None)


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


def _check_names(config: RunConfig) -> None:
    """Find the problem and the model before anything slow starts."""
    from ahd.models.load import check_model
    from problems.registry import load

    load(config.problem, config.problem_path or None)
    check_model(config)


def _prepare_engine(config: RunConfig) -> None:
    """Re-execute once with the engine's environment, unless there is no engine in this process."""
    from ahd.models.load import has_engine_here

    if has_engine_here(config):
        from ahd.models.runtime import reexec_with_preload

        reexec_with_preload()


def _exit(status: str) -> None:
    raise typer.Exit(0 if status == "done" else 130)


def main() -> None:
    """Run the command; every expected error is one line on standard error and exit code 2."""
    if sys.stdout is None:  # closed by the caller: keep its descriptor from becoming another file's
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115
    try:
        code = _run_command()
    except KeyboardInterrupt:
        sys.exit(130)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        sys.exit(141)
    sys.exit(code if isinstance(code, int) else 0)


def _run_command() -> object:
    from evaluators.judge import SandboxError
    from evaluators.task import BrokenProblemFile
    from operators.model import ModelError
    from problems.registry import UnknownProblem

    try:
        return app(standalone_mode=False)
    except (ConfigError, UnknownProblem, BrokenProblemFile, SandboxError) as error:
        _fail(str(error))
    except ModelError as error:
        _fail(f"{error}: what was done is stored; go on with `ahd resume`")
    except typer.TyperException as error:
        _fail(f"{error.format_message().rstrip('.')}; see `ahd --help` or `ahd COMMAND --help`")
    except typer.Abort:
        raise KeyboardInterrupt from None
    except sqlite3.Error as error:
        _fail(f"the run file cannot be read or written ({error}): check the disk, then `ahd resume` the run")
    except BrokenPipeError:
        raise
    except OSError as error:
        _fail(f"{error.filename or 'input or output'}: {error.strerror or error}")


def _fail(message: str) -> NoReturn:
    print(f"ahd: {' '.join(message.split())}", file=sys.stderr)
    sys.exit(2)
