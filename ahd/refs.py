"""``ahd refs``: optima or strong solutions of a problem's instances, by kept-up solvers."""

import json
import multiprocessing
import os
import signal
import sys
import time
from collections.abc import Sequence
from concurrent.futures import BrokenExecutor, ProcessPoolExecutor, as_completed
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from ahd.config import ConfigError
from ahd.display.text import complain, signed_percent
from ahd.gap import relative_gap
from ahd.ticker import Ticker
from evaluators.confine import die_with_parent
from evaluators.references.solved import CLOSE, NoSolution, Solved, SolverMissing
from problems import references
from problems.problem import Problem
from problems.references import Line, Record
from problems.registry import load
from problems.solvers import SOLVERS, Solver

SECONDS = 2.0
MAX_WORKERS = 64


@dataclass(frozen=True)
class Answer:
    """What one solver has for every instance."""

    solver: str
    version: str
    value: float
    proven: int
    bound: float | None
    seconds: float
    """Mean seconds used per instance."""


def run_refs(
    name: str,
    split: str = "train",
    size: int | None = None,
    seconds: float = SECONDS,
    as_json: bool = False,
    force: bool = False,
    check: bool = False,
    workers: int = 1,
    write: Path | None = None,
) -> int:
    """Compute what is missing, print it; exit code 1 when solvers or shipped values contradict each other.

    ``check`` runs every solver of the problem, not only the first. ``write`` puts the result into a file such
    as ``problems/references.json``.

    Raises:
        ConfigError: bad input, a solver that is not installed or fails, a cache that cannot be written.
        KeyboardInterrupt: after saying what is kept.
    """
    problem = load(name)
    solvers = _solvers(name, check)
    if split not in problem.sizes:
        raise ConfigError(f"--split {split}: {name} has {', '.join(problem.sizes)}")
    size = problem.sizes[split][0] if size is None else size
    if size not in problem.sizes[split]:
        offered = ", ".join(map(str, problem.sizes[split]))
        raise ConfigError(f"--size {size}: {name} has {split} instances of size {offered}")
    if not 0 < seconds <= 86400:
        raise ConfigError(f"--seconds {seconds:g}: needs a number above 0 and at most 86400")
    if not 1 <= workers <= MAX_WORKERS:
        raise ConfigError(f"--workers {workers}: needs a number from 1 to {MAX_WORKERS}")
    if write is not None:
        _check_table(write)
    instances = problem.instances(split, size)
    file = references.cache_file(name, split, size)
    try:
        if force:
            file.unlink(missing_ok=True)
        for number, solver in enumerate(solvers):
            what = f"{name} {split} {size}, {solver.name}"
            compute(name, number, instances, file, seconds, workers, what)
    except OSError as error:
        raise ConfigError(
            f"cannot write {file} ({error.strerror}): set AHD_CACHE to a folder you can write to"
        ) from error
    lines = list(references.read_lines(file, references.digest(instances)))
    record = references.summarise(lines, len(instances), problem.decimals)
    if record is None:
        raise ConfigError(f"{file} lost lines while it was written: run the same command again, or --force")
    shipped = references.shipped().get((name, split, size))
    faults = contradictions(lines, record, shipped)
    answers = _answers(solvers, lines, len(instances), problem)
    if write is not None and not faults:
        try:
            references.write_shipped(name, split, size, record, write)
        except OSError as error:
            raise ConfigError(
                f"--write {write}: {error.strerror}; give a file that can be written"
            ) from error
    if as_json:
        facts = {
            "problem": name,
            "split": split,
            "size": size,
            **asdict(record),
            "status": record.status,
            "solvers": [asdict(answer) for answer in answers],
            "shipped": asdict(shipped) if shipped else None,
            "contradictions": faults,
            "file": str(file),
        }
        print(json.dumps(facts, allow_nan=False))
    else:
        _print(problem, split, size, record, answers, shipped, file)
    for fault in faults:
        complain(fault)
    return int(bool(faults))


def _check_table(file: Path) -> None:
    """Refuse, before anything is solved, what ``write_shipped`` would."""
    try:
        references.read_table(file)
    except references.BadTable as error:
        raise ConfigError(f"--write {error}") from None
    except OSError as error:
        raise ConfigError(f"--write {file}: {error.strerror}; give a file that can be written") from error


def _solvers(name: str, check: bool) -> Sequence[Solver]:
    if name not in SOLVERS:
        kept = ", ".join(sorted(SOLVERS))
        raise ConfigError(f"no solver is kept for {name}: there is one for {kept}")
    chosen = SOLVERS[name] if check else SOLVERS[name][:1]
    try:
        for solver in chosen:
            _ = solver.version
    except SolverMissing as error:
        raise ConfigError(str(error)) from None
    return chosen


def compute(
    name: str,
    number: int,
    instances: np.ndarray,
    file: Path,
    seconds: float,
    workers: int = 1,
    what: str = "",
) -> None:
    """Solve the instances that ``file`` has no line for by solver ``number`` of problem ``name``, adding a
    line for each as it is done. A line counts when it is proven, or was given as many ``seconds``.

    Raises:
        ConfigError: the solver fails.
        OSError: the file cannot be written.
    """
    solver, key = SOLVERS[name][number], references.digest(instances)
    done = {
        line.index
        for line in references.read_lines(file, key)
        if line.solver == solver.name and (line.solved.proven or line.seconds >= seconds)
    }
    missing = [index for index in range(len(instances)) if index not in done]
    if not missing:
        return
    # spawned, not forked: solvers have threads of their own
    pool = ProcessPoolExecutor(workers, multiprocessing.get_context("spawn"), _begin, (os.getpid(),))
    before = set(multiprocessing.active_children())
    finished = 0
    with Ticker(what or name, len(missing)) as ticker:
        try:
            futures = {pool.submit(_solve, name, number, instances[k], seconds): k for k in missing}
            for future in as_completed(futures):
                index = futures[future]
                try:
                    solved, took = future.result()
                except (NoSolution, AssertionError) as error:
                    raise ConfigError(f"{name}, instance {index}: {error}") from None
                line = Line(
                    index,
                    solved.value,
                    solved.bound,
                    solver.name,
                    solver.version,
                    seconds,
                    round(took, 3),
                    time.strftime("%Y-%m-%d"),
                    key,
                )
                references.append_line(file, line)
                finished += 1
                ticker.step()
            pool.shutdown()
        except BrokenExecutor:
            raise ConfigError(
                f"{solver.name} died, perhaps for lack of memory: try fewer --workers"
            ) from None
        except KeyboardInterrupt:
            kept = len(done) + finished
            print(
                f"\nahd: stopped: {kept} of {len(instances)} instances are kept; the same command goes on",
                file=sys.stderr,
            )
            raise
        finally:
            pool.shutdown(wait=False, cancel_futures=True)
            for child in set(multiprocessing.active_children()) - before:
                child.terminate()


def _begin(parent: int) -> None:
    """In a process that solves: it leaves interrupts to ``parent``, and goes with it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    die_with_parent()
    if os.getppid() != parent:
        os._exit(1)


def _solve(name: str, number: int, instance: np.ndarray, seconds: float) -> tuple[Solved, float]:
    start = time.perf_counter()
    solved = SOLVERS[name][number].solve(instance, seconds)
    return solved, time.perf_counter() - start


def contradictions(lines: Sequence[Line], record: Record, shipped: Record | None) -> list[str]:
    """Solutions that are better than what another solver, or the shipped record, says is possible."""
    found = []
    best = references.best_lines(lines)
    for line in lines:
        top = best[line.index]
        if line.bound is not None and top.value < line.bound - CLOSE * max(1.0, abs(line.bound)):
            found.append(
                f"instance {line.index}: {top.solver} found {top.value:.8g}, "
                f"but {line.solver} says that nothing is below {line.bound:.8g}"
            )
    if shipped is not None and shipped.digest and shipped.digest != record.digest:
        found.append("the shipped value is of other instances: the recipe has changed")
    elif shipped is not None and shipped.status == "optimum":
        slack = CLOSE * max(1.0, abs(shipped.value)) + 1e-5
        if record.value < shipped.value - slack:
            found.append(f"{record.value:.8g} is below {shipped.value:.8g}, which ships as the optimum")
    return found


def _answers(solvers: Sequence[Solver], lines: Sequence[Line], count: int, problem: Problem) -> list[Answer]:
    found = []
    for solver in solvers:
        own = [line for line in lines if line.solver == solver.name]
        record = references.summarise(own, count, problem.decimals)
        if record is not None:
            took = float(np.mean([line.took for line in references.best_lines(own).values()]))
            found.append(
                Answer(solver.name, record.version, record.value, record.proven, record.bound, round(took, 3))
            )
    return found


def _print(
    problem: Problem,
    split: str,
    size: int,
    record: Record,
    answers: Sequence[Answer],
    shipped: Record | None,
    file: Path,
) -> None:
    from rich.box import SIMPLE
    from rich.console import Console
    from rich.table import Table

    title = f"{problem.name}: mean over {record.count} {split} instances of size {size}"
    table = Table(title=title, title_justify="left", box=SIMPLE)
    table.add_column("solver")
    for column in ("value", "against the best", "bound", "proven", "seconds each"):
        table.add_column(column, justify="right", no_wrap=True)

    def number(value: float | None) -> str:
        return "" if value is None else f"{value:.{problem.decimals}f}"

    for answer in answers:
        table.add_row(
            f"{answer.solver} {answer.version}".strip(),
            number(answer.value),
            signed_percent(relative_gap(answer.value, record.value), 4),
            number(answer.bound),
            f"{answer.proven} of {record.count}",
            f"{answer.seconds:.2f}",
        )
    if len(answers) > 1:
        table.add_row(
            "best of each",
            number(record.value),
            "",
            number(record.bound),
            f"{record.proven} of {record.count}",
            "",
        )
    if shipped is not None:
        table.add_row(
            "shipped",
            number(shipped.value),
            signed_percent(relative_gap(shipped.value, record.value), 4),
            number(shipped.bound),
            f"{shipped.proven} of {shipped.count}",
            "",
        )
    console = Console(highlight=False)
    if not console.is_terminal:
        console.width = 140
    console.print(table)
    print(f"{record.reference.source}; kept in {file}")
