"""``ahd evaluate``: scores heuristics from files, without a language model."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from ahd.config import ConfigError
from ahd.gap import relative_gap
from evaluators.judge import SandboxError
from evaluators.outcome import Outcome, Status
from evaluators.sandbox import MEMORY_MB, Sandbox
from evaluators.task import MAX_SECONDS, BrokenProblemFile
from problems import registry
from problems.check import reference_of
from problems.problem import Problem


@dataclass(frozen=True)
class FileResult:
    """How one file did. ``gap`` is (objective - reference) / |reference|, None without either."""

    file: str
    outcome: Outcome
    gap: float | None

    def to_json(self) -> str:
        """One line of JSON: file, status, objective, gap, seconds, detail."""
        return json.dumps(
            {
                "file": self.file,
                "status": self.outcome.status.value,
                "objective": self.outcome.objective,
                "gap": self.gap,
                "seconds": round(self.outcome.seconds, 4),
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
    workers: int = 1,
) -> Iterator[FileResult]:
    """Score the files in order, yielding each as soon as it is known.

    ``timeout`` is CPU seconds per file (None or 0: the problem's limit, scaled to the split).

    Raises:
        ConfigError: bad split, size, timeout or memory, a file that cannot be read, or a problem that
            cannot be loaded or does not work.
    """
    if split not in problem.sizes:
        raise ConfigError(f"--split {split}: {problem.name} has {', '.join(problem.sizes)}")
    size = problem.sizes[split][0] if size is None else size
    if size not in problem.sizes[split]:
        offered = ", ".join(map(str, problem.sizes[split]))
        raise ConfigError(f"--size {size}: {problem.name} has {split} instances of size {offered}")
    if timeout is not None and not 0 <= timeout <= MAX_SECONDS:
        raise ConfigError(
            f"--timeout {timeout:g}: needs seconds from 0 (the problem's own) to {MAX_SECONDS:g}"
        )
    least, most = MEMORY_MB
    if not least <= memory_mb <= most:
        raise ConfigError(f"--memory-mb {memory_mb}: needs a value from {least} to {most}")
    sources = [_read(Path(file)) for file in files]
    try:
        reference = reference_of(problem, split, size)
        with Sandbox(problem, workers=workers, memory_mb=memory_mb) as sandbox:
            futures = [sandbox.submit(source, split, size, timeout or None) for source in sources]
            for file, future in zip(files, futures, strict=True):
                outcome = future.result()
                yield FileResult(
                    str(file),
                    outcome,
                    relative_gap(outcome.objective, reference.value if reference else None),
                )
    except BrokenProblemFile as error:
        raise ConfigError(str(error)) from error
    except SandboxError as error:
        raise ConfigError(f"{error}; `ahd doctor` says more") from error


def _read(file: Path) -> str:
    """The file's text without a byte order mark; what is no UTF-8 becomes surrogates, which are rejected."""
    try:
        return file.read_bytes().decode("utf-8-sig", "surrogateescape")
    except OSError as error:
        raise ConfigError(f"{file}: {error.strerror}; give a Python file with the heuristic") from error


def load_problem(name: str, path: str = "") -> Problem:
    """The problem for a command line.

    Raises:
        ConfigError: no such problem, or a broken problem file.
    """
    try:
        return registry.load(name, path or None)
    except (registry.UnknownProblem, BrokenProblemFile) as error:
        raise ConfigError(str(error)) from error


def run_evaluate(
    problem_name: str,
    files: Sequence[str],
    split: str = "train",
    size: int | None = None,
    as_json: bool = False,
    problem_path: str = "",
    timeout: float = 0.0,
    memory_mb: int = 2048,
) -> int:
    """Print a table, or one JSON line per file. The exit code: 0 when every file is ok, else 1.

    Raises:
        ConfigError: bad input (exit code 2 on the command line).
    """
    if not files:
        raise ConfigError("no files: give at least one Python file with the heuristic")
    problem = load_problem(problem_name, problem_path)
    results = evaluate_files(problem, files, split, size, timeout=timeout, memory_mb=memory_mb)
    failed = False
    if as_json:
        for result in results:
            failed |= not result.outcome.ok
            print(result.to_json(), flush=True)
        return int(failed)
    shown = list(results)
    print_table(problem, shown, split, problem.sizes[split][0] if size is None else size)
    return int(any(not result.outcome.ok for result in shown))


def print_table(problem: Problem, results: Sequence[FileResult], split: str, size: int) -> None:
    """Print results with rich, text from candidates escaped."""
    from rich.box import SIMPLE
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    count = len(problem.instances(split, size))
    title = f"{problem.name}: {count} {split} instances of size {size}"
    table = Table(title=title, title_justify="left", box=SIMPLE)
    for name in ("file", "status"):
        table.add_column(name, overflow="fold")
    for name in ("objective", "gap", "seconds"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("detail", overflow="fold")
    for result in results:
        outcome = result.outcome
        table.add_row(
            escape(result.file),
            f"[{'green' if outcome.status is Status.OK else 'red'}]{outcome.status.value}[/]",
            "" if outcome.objective is None else f"{outcome.objective:.{problem.decimals}f}",
            "" if result.gap is None else f"{100 * result.gap:.2f}%",
            f"{outcome.seconds:.2f}",
            escape(outcome.detail),
        )
    console = Console()
    if not console.is_terminal:
        console.width = 160
    console.print(table)
    reference = problem.reference(split, size)
    if reference is not None:
        value = f"{reference.value:.{problem.decimals}f}"
        console.print(f"gap to {value} ({escape(reference.source)})", highlight=False)
