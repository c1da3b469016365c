"""``ahd evaluate --instances``: scores heuristics on instances from files, one by one."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from ahd.display.text import signed_percent
from ahd.gap import relative_gap
from ahd.instances import SPLIT, FileInstance, time_limit, with_instances
from evaluators.layers import Mode
from evaluators.outcome import Outcome, Status
from evaluators.sandbox import Sandbox
from problems.problem import Problem, Reference


@dataclass(frozen=True)
class InstanceResult:
    """How a heuristic did on one instance. ``gap`` is to the best value known, None without either."""

    file: str
    given: FileInstance
    outcome: Outcome

    @property
    def best(self) -> Reference | None:
        return self.given.instance.best

    @property
    def gap(self) -> float | None:
        return relative_gap(self.outcome.objective, self.best.value if self.best else None)

    def to_json(self) -> str:
        """One line of JSON: file, instances (the file they are from), instance, status, objective, best
        known and its source, gap, seconds, path, detail."""
        return json.dumps(
            {
                "file": self.file,
                "instances": self.given.file,
                "instance": self.given.instance.name,
                "status": self.outcome.status.value,
                "objective": self.outcome.objective,
                "best": self.best.value if self.best else None,
                "best_source": self.best.source if self.best else None,
                "gap": self.gap,
                "seconds": round(self.outcome.seconds, 4),
                "path": self.outcome.path,
                "detail": self.outcome.detail,
            }
        )


def evaluate_instances(
    problem: Problem,
    heuristics: Mapping[str, str],
    instances: Sequence[FileInstance],
    *,
    timeout: float | None = None,
    memory_mb: int = 2048,
    mode: Mode = Mode.AUTO,
    workers: int = 1,
) -> Iterator[InstanceResult]:
    """Score each of ``heuristics``, sources by file or name, on each of ``instances``, in order.

    ``timeout`` is CPU seconds per instance (None or 0: the problem's limit, scaled to the instance).

    Raises:
        SandboxError: the problem or the sandbox does not work.
    """
    arrays = [each.instance.array for each in instances]
    with Sandbox(with_instances(problem, arrays), workers=workers, memory_mb=memory_mb, mode=mode) as sandbox:
        futures = [
            sandbox.submit(source, SPLIT, k, timeout or time_limit(problem, array, problem.time_limit))
            for source in heuristics.values()
            for k, array in enumerate(arrays, 1)
        ]
        pairs = [(file, each) for file in heuristics for each in instances]
        for (file, each), future in zip(pairs, futures, strict=True):
            yield InstanceResult(file, each, future.result())


def print_instances(problem: Problem, results: Sequence[InstanceResult]) -> None:
    """Print a table, text from files and candidates escaped, and per heuristic its mean gap."""
    from rich.box import SIMPLE
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    count = len({id(result.given) for result in results})
    title = f"{problem.name}: {count} instance{'s' * (count != 1)} from files"
    table = Table(title=title, title_justify="left", box=SIMPLE)
    for name in ("file", "instance", "status"):
        table.add_column(name, overflow="fold")
    for name in ("objective", "best known", "gap", "seconds"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("detail", overflow="fold")
    for result in results:
        outcome = result.outcome
        table.add_row(
            escape(result.file),
            escape(result.given.instance.name),
            f"[{'green' if outcome.status is Status.OK else 'red'}]{outcome.status.value}[/]",
            _number(outcome.objective, problem.decimals),
            _number(result.best.value if result.best else None, problem.decimals),
            signed_percent(result.gap),
            f"{outcome.seconds:.2f}",
            escape(outcome.detail),
        )
    console = Console()
    if not console.is_terminal:
        console.width = 160
    console.print(table)
    for file in dict.fromkeys(result.file for result in results):
        gaps = [result.gap for result in results if result.file == file and result.gap is not None]
        if len(gaps) > 1:
            mean = f"mean gap {signed_percent(sum(gaps) / len(gaps))} over {len(gaps)} instances"
            console.print(f"{escape(file)}: {mean}", highlight=False)
    beaten = dict.fromkeys(
        escape(result.given.instance.name) for result in results if result.gap is not None and result.gap < 0
    )
    if beaten:
        doubt = "better than the best known value, which may be of another instance"
        console.print(f"[yellow]{', '.join(beaten)}: {doubt}: check the file[/]", highlight=False)
    sources = dict.fromkeys(result.best.source for result in results if result.best)
    if sources:
        console.print(f"best known: {escape('; '.join(sources))}", highlight=False)


def _number(value: float | None, decimals: int) -> str:
    """``value`` with ``decimals``, whole numbers without; nothing for None."""
    if value is None:
        return ""
    return f"{value:.0f}" if float(value).is_integer() else f"{value:.{decimals}f}"
