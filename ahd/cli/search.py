"""``run`` and ``resume``."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ahd.cli.app import app
from ahd.cli.options import DEFAULTS, Display, DisplayChoice, ProblemPath, RunFolder, SandboxMode
from ahd.config import Dtype, Insights, Kind, Method, Reward, RunConfig, Shaping, Style
from evaluators.layers import Mode

if TYPE_CHECKING:
    from problems.problem import Problem


@app.command()
def run(
    problem: Annotated[str, typer.Argument(help="Name of a problem; `ahd problems` lists them.")],
    budget: Annotated[
        int, typer.Option(help="Operator proposals to spend (1000 and 2000: the paper's schedules).")
    ] = (DEFAULTS.budget),
    method: Annotated[
        Method,
        typer.Option(
            help="esopt learns; eoh is frozen; noise perturbs only; sample and sample-esopt: i1 only."
        ),
    ] = DEFAULTS.method,
    seed: Annotated[int, typer.Option(help="Seed of every random choice.")] = DEFAULTS.seed,
    model: Annotated[
        str,
        typer.Option(
            help="smollm2-135m (the default), a folder, a Hugging Face id, or scripted (for tests)."
        ),
    ] = DEFAULTS.model,
    style: Annotated[
        Style,
        typer.Option(
            help="skeleton: complete a skeleton; free: write the whole function; auto: by model size."
        ),
    ] = DEFAULTS.style,
    out: Annotated[
        Path | None, typer.Option(help="Run folder (default: results/<problem>-<method>-<time>).")
    ] = None,
    display: Display = DisplayChoice.AUTO,
    problem_path: ProblemPath = "",
    population: Annotated[int, typer.Option(help="Heuristics that survive a batch.")] = DEFAULTS.population,
    parents: Annotated[int, typer.Option(help="Parents shown by e1 and e2.")] = DEFAULTS.parents,
    kind: Annotated[
        Kind,
        typer.Option(
            help="full: noise on every weight in scope, one direction at a time; lowrank: a pair of factors "
            "per matrix, all directions in one batch."
        ),
    ] = DEFAULTS.kind,
    scope: Annotated[
        str,
        typer.Option(
            help="Weights that directions move: all, linear (matrices inside the layers), norms (gains of "
            "the norms, all directions in one batch), or a regular expression on names of tensors (default: "
            "norms for full, linear for lowrank)."
        ),
    ] = "",
    rank: Annotated[int, typer.Option(help="Columns of the factors of --kind lowrank.")] = DEFAULTS.rank,
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
    ] = DEFAULTS.reward,
    shaping: Annotated[
        Shaping,
        typer.Option(
            help="Rewards to weights: zscores; ranks, centred; valid: z-scores of the valid, others weigh 0."
        ),
    ] = DEFAULTS.shaping,
    antithetic: Annotated[
        bool,
        typer.Option(
            "--antithetic/--no-antithetic", help="Directions in mirrored pairs, plus and minus one noise."
        ),
    ] = DEFAULTS.antithetic,
    per_direction: Annotated[
        int, typer.Option(help="Proposals that share a direction.")
    ] = DEFAULTS.per_direction,
    momentum: Annotated[
        float, typer.Option(help="Share of the last move kept in the next (0: none).")
    ] = DEFAULTS.momentum,
    validity_floor: Annotated[
        float, typer.Option(help="Share of valid proposals below which updates are taken back (0: never).")
    ] = DEFAULTS.validity_floor,
    patience: Annotated[
        int, typer.Option(help="Batches in a row below the floor before that happens.")
    ] = DEFAULTS.patience,
    temperature: Annotated[
        float | None, typer.Option(help="Sampling temperature (default: 0.9 skeleton, 1.0 free).")
    ] = None,
    search_temperature: Annotated[
        float | None,
        typer.Option(help="Another temperature after the initial population (default: --temperature)."),
    ] = None,
    top_p: Annotated[
        float | None, typer.Option(help="Nucleus sampling (default: 0.95 skeleton, 0.98 free).")
    ] = None,
    max_tokens: Annotated[
        int, typer.Option(help="Most new tokens a reply (0: 768 free, 48 skeleton, 128 --structured).")
    ] = (DEFAULTS.max_tokens),
    structured: Annotated[
        bool,
        typer.Option(
            "--structured/--no-structured",
            help="Let the model write only what fills the skeleton: an expression of its names.",
        ),
    ] = DEFAULTS.structured,
    feedback: Annotated[
        bool,
        typer.Option("--feedback/--no-feedback", help="Tell in prompts why a recent attempt failed."),
    ] = DEFAULTS.feedback,
    insights: Annotated[
        Insights,
        typer.Option(
            help="Lines in prompts on all proposals so far: rules: what the better ones have and how most "
            "fail, counted; model: the model's own, asked for every second generation (larger models)."
        ),
    ] = DEFAULTS.insights,
    init_share: Annotated[
        float, typer.Option(help="Most proposals of the initial population, as a share of the budget.")
    ] = DEFAULTS.init_share,
    tune: Annotated[
        float,
        typer.Option(
            metavar="SHARE",
            help="Share of the budget that goes to the best heuristics with other constants, found by CMA-ES "
            "without the model; try 0.3.",
        ),
    ] = DEFAULTS.tune,
    probe: Annotated[
        int,
        typer.Option(
            metavar="N",
            help="Look at candidates on N training instances first, at most a quarter of them: one that "
            "decides there as an earlier one is not evaluated on the others; try 4 (0: off).",
        ),
    ] = DEFAULTS.probe,
    finalists: Annotated[
        int,
        typer.Option(
            metavar="N",
            help="At the end, the result is the one of the N best that does best on instances drawn afresh: "
            "of the population, and of other proposals where N is larger; try 10, or 50 (1: the best on the "
            "training instances).",
        ),
    ] = DEFAULTS.finalists,
    timeout: Annotated[
        float, typer.Option(help="CPU seconds a candidate may take (0: the problem's own limit).")
    ] = DEFAULTS.timeout,
    memory_mb: Annotated[int, typer.Option(help="Memory a candidate may take, in MB.")] = DEFAULTS.memory_mb,
    sandbox: SandboxMode = Mode.AUTO,
    workers: Annotated[int, typer.Option(help="Processes that evaluate candidates.")] = DEFAULTS.workers,
    trust_remote_code: Annotated[
        bool, typer.Option("--trust-remote-code", help="Run Python code that comes with the model.")
    ] = DEFAULTS.trust_remote_code,
    dtype: Annotated[
        Dtype, typer.Option(help="Number format of the engine; auto: the fastest on this machine.")
    ] = DEFAULTS.dtype,
    tensor_parallel: Annotated[
        int, typer.Option(help="Parts the model is split into, one per GPU; see docs/scaling.md.")
    ] = DEFAULTS.tensor_parallel,
    replicas: Annotated[
        int, typer.Option(help="Copies of the model that share the directions, through Ray.")
    ] = DEFAULTS.replicas,
    ray_address: Annotated[
        str, typer.Option(metavar="ADDRESS", help="A running Ray cluster (default: one of this machine's).")
    ] = DEFAULTS.ray_address,
    server: Annotated[
        str, typer.Option(metavar="URL", help="A running `vllm serve` to use instead; see docs/scaling.md.")
    ] = DEFAULTS.server,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print one prompt per operator and stop; loads no model.")
    ] = False,
) -> None:
    """Search for a heuristic.

    \b
    Examples:
      ahd run tsp --budget 200
      ahd run knapsack --budget 1000 --method eoh --seed 3 --display plain
      ahd run tsp --budget 200 --tune 0.3
      ahd run tsp --budget 200 --structured
      ahd run tsp --budget 400 --feedback --insights rules
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
        search_temperature=search_temperature,
        top_p=top_p,
        max_tokens=max_tokens,
        structured=structured,
        feedback=feedback,
        insights=insights,
        init_share=init_share,
        tune=tune,
        probe=probe,
        finalists=finalists,
        timeout=timeout,
        memory_mb=memory_mb,
        sandbox=sandbox.value,
        workers=workers,
        trust_remote_code=trust_remote_code,
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
    config, done = store.config, store.status == "done" and store.meta("finished") is not None
    store.close()
    if not done:
        from ahd.stored_problem import stored_problem

        _check_names(config, stored_problem(folder, config))
        _prepare_engine(config)
    from ahd import run as runs
    from ahd.display.choose import choose

    _exit(runs.resume(folder, choose(display.value)))


def _check_names(config: RunConfig, problem: "Problem | None" = None) -> None:
    """Find the problem, unless it is given, and the model before anything slow starts."""
    from ahd.models.load import check_model
    from problems.check import check_instances
    from problems.registry import load

    check_instances(problem or load(config.problem, config.problem_path or None))
    check_model(config)


def _prepare_engine(config: RunConfig) -> None:
    """Re-execute once with the engine's environment, unless there is no engine in this process."""
    from ahd.models.load import has_engine_here

    if has_engine_here(config):
        from ahd.models.runtime import reexec_with_preload

        reexec_with_preload()


def _exit(status: str) -> None:
    raise typer.Exit(0 if status == "done" else 130)
