"""``ahd evaluate``: scores heuristics from files, without a language model."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from ahd.config import ConfigError
from ahd.display.text import signed_percent
from ahd.gap import no_gap, relative_gap
from ahd.scoring import check_limits, fresh_seeds, not_scored, submit
from evaluators.layers import Mode
from evaluators.outcome import Outcome, SandboxError, Status
from evaluators.sandbox import Sandbox
from evaluators.task import BrokenProblemFile
from problems import registry
from problems.check import check_instances, reference_of
from problems.problem import Problem

MAX_SEEDS = 10_000


@dataclass(frozen=True)
class FileResult:
    """How one file did. ``gap`` is (objective - reference) / |reference|, None without either; ``error`` is
    the standard error of an objective that is the mean over ``seeds``, None for a single one."""

    file: str
    outcome: Outcome
    gap: float | None
    error: float | None = None
    seeds: int = 1

    def to_json(self) -> str:
        """One line of JSON: file, status, objective, its error and seeds, gap, seconds, path, detail."""
        return json.dumps(
            {
                "file": self.file,
                "status": self.outcome.status.value,
                "objective": self.outcome.objective,
                "error": self.error,
                "seeds": self.seeds,
                "gap": self.gap,
                "seconds": round(self.outcome.seconds, 4),
                "path": self.outcome.path,
                "detail": self.outcome.detail,
            }
        )


def evaluate_files(
    problem: Problem,
    files: Sequence[str | Path],
    split: str = "train",
    size: int | None = None,
    *,
    timeout: float | None = None,
    memory_mb: int = 2048,
    mode: Mode = Mode.AUTO,
    workers: int = 1,
    seeds: int = 1,
    known: bool = False,
) -> Iterator[FileResult]:
    """Score the files in order, yielding each as soon as it is done; first, if ``known``, the problem's known
    heuristics under their names.

    ``timeout`` is CPU seconds per file (None or 0: the problem's limit, scaled to the split). ``seeds`` above
    1: the mean over so many fresh seeds of the solver, for problems that have one; else the search's own.

    Raises:
        ConfigError: bad split, size, timeout, memory or number of seeds, a file that cannot be read, or a
            problem that cannot be loaded or does not work.
    """
    if split not in problem.sizes:
        raise ConfigError(f"--split {split}: {problem.name} has {', '.join(problem.sizes)}")
    size = problem.sizes[split][0] if size is None else size
    if size not in problem.sizes[split]:
        offered = ", ".join(map(str, problem.sizes[split]))
        raise ConfigError(f"--size {size}: {problem.name} has {split} instances of size {offered}")
    check_limits(timeout, memory_mb)
    _check_seeds(problem, seeds)
    named = {**(problem.heuristics if known else {}), **{str(file): _read(Path(file)) for file in files}}
    used = fresh_seeds(seeds) if seeds > 1 else (0,)
    try:
        reference = reference_of(problem, split, size)
        with Sandbox(problem, workers=workers, memory_mb=memory_mb, mode=mode) as sandbox:
            pending = [
                submit(sandbox, source, split, size, timeout or None, used) for source in named.values()
            ]
            for file, each in zip(named, pending, strict=True):
                score = each.result()
                gap = relative_gap(score.outcome.objective, reference.value if reference else None)
                yield FileResult(file, score.outcome, gap, score.error, len(score.seeds))
    except BrokenProblemFile as error:
        raise ConfigError(str(error)) from error
    except SandboxError as error:
        raise not_scored(problem, error) from error


def _check_seeds(problem: Problem, seeds: int) -> None:
    if not 1 <= seeds <= MAX_SEEDS:
        raise ConfigError(f"--seeds {seeds}: needs a number from 1 to {MAX_SEEDS}")
    if seeds > 1 and not problem.seeded:
        raise ConfigError(f"--seeds {seeds}: {problem.name} has no seed, each evaluation gives the same")


def _read(file: Path) -> str:
    """The file's text without a byte order mark; what is no UTF-8 becomes surrogates, which are rejected."""
    try:
        if file.exists() and not file.is_file():
            raise ConfigError(f"{file}: no regular file; give a Python file with the heuristic")
        return file.read_bytes().decode("utf-8-sig", "surrogateescape")
    except OSError as error:
        raise ConfigError(
            f"{file}: {(error.strerror or 'cannot be read').lower()}; give a Python file with the heuristic"
        ) from error


def load_problem(name: str, path: str = "") -> Problem:
    """The problem for a command line that scores with it.

    Raises:
        ConfigError: no such problem, or a broken problem file.
    """
    try:
        problem = registry.load(name, path or None)
        check_instances(problem)
        return problem
    except (registry.UnknownProblem, BrokenProblemFile) as error:
        raise ConfigError(str(error)) from error


def run_evaluate(
    problem_name: str,
    files: Sequence[str],
    split: str | None = None,
    size: int | None = None,
    as_json: bool = False,
    problem_path: str = "",
    timeout: float = 0.0,
    memory_mb: int = 2048,
    mode: Mode = Mode.AUTO,
    instances: Sequence[str] = (),
    seeds: int = 1,
    known: bool = False,
) -> int:
    """Print a table, or one JSON line per file. The exit code: 0 when every file is ok, else 1.

    ``instances`` names files to score on instead of a split: a row per heuristic and instance. Beside them,
    ``files`` without the ending .py are instances too. ``known``: the problem's known heuristics as well.

    Raises:
        ConfigError: bad input (exit code 2 on the command line).
    """
    if not (files or known):
        raise ConfigError("no files: give at least one Python file with the heuristic, or --known")
    problem = load_problem(problem_name, problem_path)
    if instances:
        if split is not None or size is not None:
            raise ConfigError("--instances: the files are the instances; leave out --split and --size")
        if seeds != 1:
            raise ConfigError("--seeds: instances from files are solved with one seed; leave it out")
        instances = [*instances, *(file for file in files if Path(file).suffix != ".py")]
        files = [file for file in files if Path(file).suffix == ".py"]
        return _run_on_files(problem, files, instances, as_json, timeout, memory_mb, mode, known)
    split = "train" if split is None else split
    results = evaluate_files(
        problem,
        files,
        split,
        size,
        timeout=timeout,
        memory_mb=memory_mb,
        mode=mode,
        seeds=seeds,
        known=known,
    )
    failed = False
    if as_json:
        for result in results:
            failed |= not result.outcome.ok
            print(result.to_json(), flush=True)
        return int(failed)
    shown = list(results)
    print_table(problem, shown, split, problem.sizes[split][0] if size is None else size)
    return int(any(not result.outcome.ok for result in shown))


def _run_on_files(
    problem: Problem,
    files: Sequence[str],
    instances: Sequence[str],
    as_json: bool,
    timeout: float,
    memory_mb: int,
    mode: Mode,
    known: bool,
) -> int:
    """``run_evaluate`` for instances from files."""
    from ahd.evaluate_instances import evaluate_instances, print_instances
    from ahd.instances import read_instances

    check_limits(timeout, memory_mb)
    if not (files or known):
        raise ConfigError("no heuristics: give at least one Python file, ending in .py, or --known")
    named = {**(problem.heuristics if known else {}), **{str(file): _read(Path(file)) for file in files}}
    found = read_instances(problem, instances)
    results = evaluate_instances(problem, named, found, timeout=timeout, memory_mb=memory_mb, mode=mode)
    shown = []
    try:
        for result in results:
            shown.append(result)
            if as_json:
                print(result.to_json(), flush=True)
    except SandboxError as error:
        raise not_scored(problem, error) from error
    if not as_json:
        print_instances(problem, shown)
    return int(any(not result.outcome.ok for result in shown))


def print_table(problem: Problem, results: Sequence[FileResult], split: str, size: int) -> None:
    """Print results with rich, text from candidates escaped."""
    from rich.box import SIMPLE
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    count = len(problem.instances(split, size))
    title = f"{problem.name}: {count} {split} instance{'s' * (count != 1)} of size {size}"
    table = Table(title=title, title_justify="left", box=SIMPLE)
    for name in ("file", "status"):
        table.add_column(name, overflow="fold")
    averaged = any(result.error is not None for result in results)
    for name in ("objective", *(["std. error"] if averaged else []), "gap", "seconds"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("detail", overflow="fold")
    for result in results:
        outcome = result.outcome
        error = "" if result.error is None else f"{result.error:.{problem.decimals}f}"
        table.add_row(
            escape(result.file),
            f"[{'green' if outcome.status is Status.OK else 'red'}]{outcome.status.value}[/]",
            "" if outcome.objective is None else f"{outcome.objective:.{problem.decimals}f}",
            *([error] if averaged else []),
            signed_percent(result.gap),
            f"{outcome.seconds:.2f}",
            escape(outcome.detail),
        )
    console = Console()
    if not console.is_terminal:
        console.width = 160
    console.print(table)
    if averaged:
        seeds = max(result.seeds for result in results)
        console.print(f"objectives: means over {seeds} fresh seeds of the solver", highlight=False)
    reference = problem.reference(split, size)
    if reference is not None and reference.value != 0:
        value = f"{reference.value:.{problem.decimals}f}"
        console.print(f"gap to {value} ({escape(reference.source)})", highlight=False)
    elif why := no_gap(problem, split, size, reference):
        console.print(escape(why), highlight=False)
