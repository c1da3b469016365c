"""From a configuration or a run folder to a finished run: puts the parts together and takes them down."""

import json
import time
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import ExitStack, closing
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from ahd.config import ConfigError, Dtype, RunConfig, Style
from ahd.confirm import corrected, dropped
from ahd.display.replay import kept, replay, stored_start
from ahd.ending import end_of, stored_end
from ahd.environment import environment
from ahd.es.perturbation import perturbation_of, scales
from ahd.events import Display, Finished, Loading, Note, Proposed, Started, Updated
from ahd.figures import figures
from ahd.finalists import chosen
from ahd.gap import relative_gap
from ahd.insights.questions import questions
from ahd.models.load import is_to_be_built, load_model
from ahd.models.runtime import number_format
from ahd.population import Individual
from ahd.schedule import Schedule, plan
from ahd.search import Search
from ahd.stop import Stop
from ahd.store import Proposal, Store
from ahd.stored_problem import stored_problem
from ahd.structured import check_style, grammar_of
from ahd.style import resolve_style
from evaluators.layers import Mode, told
from evaluators.outcome import Outcome
from evaluators.sandbox import Sandbox
from operators.model import Model
from problems.check import reference_of
from problems.problem import Problem
from problems.registry import load as load_problem

RESULTS = Path("results")


def new_folder(config: RunConfig) -> Path:
    """``results/<problem>-<method>-<time>``, with a counter when that second is taken."""
    base = RESULTS / f"{config.problem}-{config.method.value}-{time.strftime('%Y%m%d-%H%M%S')}"
    folder, count = base, 2
    while folder.exists():
        folder, count = base.with_name(f"{base.name}-{count}"), count + 1
    return folder


def start(config: RunConfig, folder: Path | None, display: Display) -> str:
    """Begin a new run and carry it to its end; returns ``done`` or ``interrupted``."""
    problem, target = load_problem(config.problem, config.problem_path or None), folder or new_folder(config)
    sigma, alpha = scales(config)
    config = replace(
        config,
        sigma=sigma,
        alpha=alpha,
        scope=perturbation_of(config).scope,
        dtype=number_format() if config.dtype is Dtype.AUTO else config.dtype,
        problem_path=problem.origin or config.problem_path,
    )
    Store.check_free(target)
    return _carry_out(config, problem, lambda: Store.create(target, config), display)


def resume(folder: Path, display: Display) -> str:
    """Go on with a run up to the same budget; a finished one only shows its end again.

    Raises:
        ConfigError: an older ahd began it, and its weights cannot be checked any more.
    """
    store = Store.open(folder, write=True)
    config = store.config
    ended = stored_end(store)
    if store.meta("status") == "done" and ended is not None:
        end = end_of(store, ended)
        if end is None:
            raise store.damaged("finished in table meta")
        with closing(store), display:
            for _, event in replay(folder):
                told = replace(event, replayed=True) if isinstance(event, Proposed | Updated) else event
                display.show(told)
            display.show(end)
        return "done"
    if not store.resumable:
        store.close()
        raise ConfigError(
            f"{folder} was begun with an older ahd: it can be shown, with `ahd show`, but not resumed; "
            "start a new run"
        )
    return _carry_out(config, stored_problem(folder, config), lambda: store, display)


def _carry_out(config: RunConfig, problem: Problem, open_store: Callable[[], Store], display: Display) -> str:
    """Load what is slow, then open the run and search: a run that cannot start leaves nothing behind."""
    if config.structured:
        grammar_of(config, problem)
    with ExitStack() as stack:
        stop = Stop(aloud=not getattr(display, "draws", False))
        stack.enter_context(stop.listening())
        stack.enter_context(display)
        sandbox = stack.enter_context(
            Sandbox(
                problem,
                workers=config.workers,
                memory_mb=config.memory_mb,
                time_limit=config.timeout or None,
                mode=Mode(config.sandbox),
            )
        )
        try:
            model = stack.enter_context(closing(_load(config, display)))
        except KeyboardInterrupt:
            display.show(
                Note(
                    "stopped while loading the model, before anything was stored: give the same command again"
                )
            )
            return "interrupted"
        style = resolve_style(config.style, model.parameters)
        check_style(config, style)
        store = stack.enter_context(closing(open_store()))
        session = stack.enter_context(store.session())
        stop.gently = True
        try:
            best = _search(config, style, problem, model, sandbox, store, display, stop)
            display.show(Note(f"scoring it on {_test_set(problem)}"))
            finished = _conclude(problem, store, best, "done", lambda: _test(problem, sandbox, store, best))
            session.status = "done"
        except KeyboardInterrupt:
            finished = _conclude(problem, store, None, "interrupted", None)
        store.set_meta(finished=json.dumps(asdict(finished), default=str))
        display.show(finished)
    return finished.status


def _search(
    config: RunConfig,
    style: Style,
    problem: Problem,
    model: Model,
    sandbox: Sandbox,
    store: Store,
    display: Display,
    stop: Stop,
) -> Individual:
    schedule = plan(config.method, config.budget, config.tune)
    store.set_meta(
        model_name=model.name,
        parameters=str(model.parameters),
        style=style.value,
        dtype=getattr(model, "dtype", config.dtype),
        problem=problem.name,
        schedule=schedule.description,
        sandbox=told(sandbox.layers),
        environment=json.dumps(environment()),
    )
    _announce(config, problem, style, schedule, model, sandbox, store, display)
    return Search(config, style, problem, schedule, model, sandbox, store, display, stop).run()


def _load(config: RunConfig, display: Display) -> Model:
    began = time.monotonic()
    building = not config.server and is_to_be_built(config.model)
    if config.server:
        what = f"attaching to {config.server}"
    else:
        what = f"building {config.model}, once" if building else f"loading {config.model}"
        what += " (minutes on a slow machine)" if config.model != "scripted" else ""
    display.show(Loading(what))
    model = load_model(config, lambda line: display.show(Note(line)))
    done = "building and loading" if building else "loading"
    display.show(Loading(f"{done} {model.name}", time.monotonic() - began))
    return model


def _announce(
    config: RunConfig,
    problem: Problem,
    style: Style,
    schedule: Schedule,
    model: Model,
    sandbox: Sandbox,
    store: Store,
    display: Display,
) -> None:
    futures = {name: sandbox.submit(code) for name, code in problem.heuristics.items()}
    outcomes = {name: future.result() for name, future in futures.items()}
    known = {name: outcome.objective for name, outcome in outcomes.items() if outcome.objective is not None}
    reference = reference_of(problem, "train", problem.sizes["train"][0])
    started = Started(
        config=config,
        folder=store.folder,
        model=model.name,
        parameters=model.parameters,
        style=style.value,
        schedule=schedule.description,
        updates_planned=schedule.updates if config.method.learns else 0,
        reference=reference.value if reference else None,
        reference_source=reference.source if reference else "",
        decimals=problem.decimals,
        known=known,
        spent=sum(row.phase == "search" for row in store.proposals()),
        sandbox=told(sandbox.layers),
    )
    store.set_meta(started_event=json.dumps(asdict(started), default=str))
    display.show(started)


def _test(
    problem: Problem, sandbox: Sandbox, store: Store, best: Individual
) -> tuple[Outcome, dict[str, float]]:
    """What became of the best on the test instances, and what the best known heuristic scores there."""

    def submit(code: str) -> Future[Outcome]:
        return sandbox.submit(code, "test", _test_size(problem))

    tested = submit(best.code)
    rival = stored_start(store).best_known
    if rival is None:
        return tested.result(), {}
    name, _ = rival
    objective = submit(problem.heuristics[name]).result().objective
    return tested.result(), {} if objective is None else {name: objective}


def _test_size(problem: Problem) -> int:
    """The test size that matches training where there is one."""
    trained = problem.sizes["train"][0]
    return trained if trained in problem.sizes["test"] else problem.sizes["test"][0]


def _conclude(
    problem: Problem,
    store: Store,
    best: Individual | None,
    status: str,
    test: Callable[[], tuple[Outcome, dict[str, float]]] | None,
) -> Finished:
    outcome, known = test() if test else (None, {})
    objective = best.objective if best else _best_stored(store)
    reference = reference_of(problem, "test", _test_size(problem))
    return Finished(
        status=status,
        folder=store.folder,
        best=objective,
        gap=_gap(problem, objective),
        test=outcome.objective if outcome else None,
        test_gap=relative_gap(outcome.objective if outcome else None, reference.value if reference else None),
        test_what=_test_set(problem),
        test_detail=f"{outcome.status.value}: {outcome.detail}" if outcome and not outcome.ok else "",
        summary=_summary(store),
        test_known=known,
        test_reference=reference.value if reference else None,
        test_reference_source=reference.source if reference else "",
    )


def _best_stored(store: Store) -> float | None:
    """The objective of the first of the population so far."""
    if store.meta("started_event") is None:
        return None
    members = kept(stored_start(store), store.proposals(), dropped(store), chosen(store))
    return members[0].objective if members else None


def _rows(store: Store) -> list[Proposal]:
    return corrected(store.proposals(), dropped(store))


def _gap(problem: Problem, objective: float | None) -> float | None:
    reference = reference_of(problem, "train", problem.sizes["train"][0])
    return relative_gap(objective, reference.value if reference else None)


def _summary(store: Store) -> dict[str, Any]:
    spent = figures(_rows(store), store.updates(), store.wall_seconds(), questions(store))
    return spent | {"weights_hash": store.weights_hash()}


def _test_set(problem: Problem) -> str:
    size = _test_size(problem)
    count = len(problem.instances("test", size))
    return f"{count} instance{'s' * (count != 1)} of size {size}"
