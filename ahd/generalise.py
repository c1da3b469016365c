"""``ahd test``: the best heuristics of a run on instances it has not seen, beside the known ones."""

import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ahd import show
from ahd.config import ConfigError
from ahd.display.text import clean, signed_percent
from ahd.gap import no_gap, relative_gap
from ahd.instances import SPLIT, read_instances, time_limit, with_instances
from ahd.scoring import Score, check_limits, fresh_seeds, not_scored, submit
from ahd.stored_problem import stored_problem
from ahd.ticker import Ticker
from evaluators.layers import Mode
from evaluators.outcome import SandboxError
from evaluators.sandbox import MAX_WORKERS, Sandbox
from evaluators.task import BrokenProblemFile
from problems.check import check_instances, reference_of
from problems.problem import Problem, Reference

MAX_SEEDS = 1000


@dataclass(frozen=True)
class Entry:
    """A heuristic to score: ``proposal`` is its number in the run, None for a known one; ``trained`` is its
    objective on the training instances, where the run has it."""

    name: str
    source: str
    proposal: int | None = None
    trained: float | None = None


@dataclass(frozen=True)
class Block:
    """Instances that are scored together: ``title`` for people, the rest for the sandbox. ``limit`` is CPU
    seconds, None for those of the problem; ``file`` is where an instance of a file is from."""

    title: str
    split: str
    size: int
    count: int
    reference: Reference | None
    limit: float | None = None
    file: str = ""


@dataclass(frozen=True)
class Row:
    """How a heuristic did on a block."""

    entry: Entry
    score: Score
    gap: float | None


def entries(run: show.Run, problem: Problem, top: int) -> list[Entry]:
    """The ``top`` best of the run's population, best first, then the problem's known heuristics.

    Raises:
        ConfigError: the run has no valid proposal yet.
    """
    by_id = {row.id: row for row in run.rows}
    members = [member for member in run.members if member.proposal in by_id][:top]
    if not members:
        raise ConfigError(f"{run.folder} has no valid proposal yet: go on with `ahd resume {run.folder}`")
    found = [
        Entry(
            f"best, proposal {member.proposal}" if rank == 1 else f"rank {rank}, proposal {member.proposal}",
            by_id[member.proposal].code,
            member.proposal,
            member.objective,
        )
        for rank, member in enumerate(members, 1)
        if member.proposal is not None
    ]
    known = run.started.known
    return found + [Entry(name, code, None, known.get(name)) for name, code in problem.heuristics.items()]


def blocks(problem: Problem, sizes: Sequence[int]) -> list[Block]:
    """The test sizes, or those of them that are asked for.

    With all of a seeded problem's come the training instances: a search keeps what was lucky under its seed,
    and fresh ones tell by how much.

    Raises:
        ConfigError: there is no such size.
    """
    offered = problem.sizes["test"]
    for size in sizes:
        if size not in offered:
            told = ", ".join(map(str, offered))
            raise ConfigError(f"--size {size}: {problem.name} has test instances of size {told}")
    chosen = [("test", size) for size in sorted(set(sizes or offered))]
    if problem.seeded and not sizes:
        chosen.insert(0, ("train", problem.sizes["train"][0]))
    found = []
    for split, size in chosen:
        count = len(problem.instances(split, size))
        title = f"{count} {split} instances of size {size}"
        found.append(Block(title, split, size, count, reference_of(problem, split, size)))
    return found


def score(
    problem: Problem,
    chosen: Sequence[Entry],
    where: Sequence[Block],
    seeds: int = 5,
    *,
    workers: int = 1,
    timeout: float = 0.0,
    memory_mb: int = 2048,
    mode: Mode = Mode.AUTO,
) -> Iterator[tuple[Block, list[Row]]]:
    """Score every entry on every block, yielding a block as soon as it is done.

    Raises:
        ConfigError: the problem or the sandbox does not work.
    """
    used = fresh_seeds(seeds) if problem.seeded else (0,)
    work = [math.prod(problem.instances(block.split, block.size).shape[:2]) for block in where]
    try:
        with (
            Sandbox(problem, workers=workers, memory_mb=memory_mb, mode=mode) as sandbox,
            Ticker(f"testing on {problem.name}", len(chosen) * len(where), len(chosen) * sum(work)) as ticker,
        ):
            for block, each in zip(where, work, strict=True):
                pending = [
                    submit(sandbox, entry.source, block.split, block.size, timeout or block.limit, used)
                    for entry in chosen
                ]
                rows = []
                for entry, waiting in zip(chosen, pending, strict=True):
                    result = waiting.result()
                    reference = block.reference.value if block.reference else None
                    rows.append(Row(entry, result, relative_gap(result.outcome.objective, reference)))
                    ticker.step(f"{block.title}, {entry.name}", each)
                yield block, rows
    except SandboxError as error:
        raise not_scored(problem, error) from error


def run_test(
    folder: Path,
    top: int = 1,
    files: Sequence[str] = (),
    sizes: Sequence[int] = (),
    seeds: int = 5,
    as_json: bool = False,
    workers: int = 1,
    timeout: float = 0.0,
    memory_mb: int = 2048,
    mode: Mode = Mode.AUTO,
) -> int:
    """Print a table, or JSON lines, per size; exit code 1 when a heuristic of the run fails on one.

    Raises:
        ConfigError: bad input, or a folder that is no run.
    """
    _check(top, seeds, workers, timeout, memory_mb)
    if files and sizes:
        raise ConfigError("--size chooses among test sizes: leave it out with --instances")
    run = show.read(folder)
    config = run.started.config
    try:
        problem = stored_problem(folder, config)
        check_instances(problem)
        chosen = entries(run, problem, top)
        if files:
            problem, where = _from_files(problem, files)
        else:
            where = blocks(problem, sizes)
    except BrokenProblemFile as error:
        raise ConfigError(str(error)) from error
    done = []
    for block, rows in score(
        problem, chosen, where, seeds, workers=workers, timeout=timeout, memory_mb=memory_mb, mode=mode
    ):
        done.append((block, rows))
        if as_json:
            for row in rows:
                print(json.dumps(facts(block, row)), flush=True)
        elif not files:
            print_block(problem, block, rows)
    if files and not as_json:
        print_files(problem, done)
    theirs = [row for _, rows in done for row in rows if row.entry.proposal is not None]
    return int(any(not row.score.outcome.ok for row in theirs))


def _check(top: int, seeds: int, workers: int, timeout: float, memory_mb: int) -> None:
    if top < 1:
        raise ConfigError(f"--top {top}: needs a number from 1")
    if not 1 <= seeds <= MAX_SEEDS:
        raise ConfigError(f"--seeds {seeds}: needs a number from 1 to {MAX_SEEDS}")
    if not 1 <= workers <= MAX_WORKERS:
        raise ConfigError(f"--workers {workers}: needs a number from 1 to {MAX_WORKERS}")
    check_limits(timeout, memory_mb)


def facts(block: Block, row: Row) -> dict[str, Any]:
    """A row as plain values. ``seconds`` are wall seconds per instance and seed."""
    outcome = row.score.outcome
    return {
        "instances": block.title,
        "file": block.file or None,
        "size": None if block.file else block.size,
        "count": block.count,
        "heuristic": row.entry.name,
        "proposal": row.entry.proposal,
        "status": outcome.status.value,
        "objective": outcome.objective,
        "standard_error": row.score.error,
        "seeds": list(row.score.seeds),
        "gap": row.gap,
        "reference": block.reference.value if block.reference else None,
        "reference_source": block.reference.source if block.reference else None,
        "trained": row.entry.trained,
        "seconds": _seconds(block, row),
        "detail": outcome.detail,
    }


def _seconds(block: Block, row: Row) -> float:
    return row.score.outcome.seconds / max(1, block.count * len(row.score.seeds))


def print_block(problem: Problem, block: Block, rows: Sequence[Row]) -> None:
    """Print a table of one block, text from candidates escaped."""
    from rich.box import SIMPLE
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    seeds = max(len(row.score.seeds) for row in rows)
    over = f", mean of {seeds} fresh seeds" if seeds > 1 else ""
    table = Table(title=Text(f"{problem.name}: {clean(block.title)}{over}"), title_justify="left", box=SIMPLE)
    table.add_column("heuristic", overflow="fold")
    for name in ("objective", *(["error"] if seeds > 1 else []), "gap", "on training", "ms an instance"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("", overflow="fold")

    def number(value: float | None) -> Text:
        return Text("" if value is None else f"{value:.{problem.decimals}f}")

    for row in rows:
        outcome = row.score.outcome
        table.add_row(
            Text(clean(row.entry.name), style="" if row.entry.proposal is None else "bold"),
            number(outcome.objective),
            *([number(row.score.error)] if seeds > 1 else []),
            Text(signed_percent(row.gap)),
            number(row.entry.trained),
            Text(f"{1000 * _seconds(block, row):.2f}"),
            Text("" if outcome.ok else f"{outcome.status.value}: {clean(outcome.detail)}", style="red"),
        )
    console = Console(highlight=False)
    if not console.is_terminal:
        console.width = 140
    console.print(table)
    if block.reference is not None and block.reference.value != 0:
        value = f"{block.reference.value:.{problem.decimals}f}"
        console.print(Text(f"gap to {value}: {clean(block.reference.source)}"))
    elif why := no_gap(problem, block.split, block.size, block.reference):
        console.print(Text(why))


def print_files(problem: Problem, done: Sequence[tuple[Block, list[Row]]]) -> None:
    """Print a row per instance from files with a column per heuristic: its gap to the best value known, or
    its objective where none is."""
    from rich.box import SIMPLE
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    chosen = [row.entry for row in done[0][1]]
    plural = "s" * (len(done) != 1)
    title = f"{problem.name}: {len(done)} instance{plural} from files; % is the gap to the best known"
    table = Table(title=Text(title), title_justify="left", box=SIMPLE)
    table.add_column("instance", overflow="fold")
    table.add_column("best known", justify="right", no_wrap=True)
    for entry in chosen:
        table.add_column(Text(clean(entry.name)), justify="right", overflow="fold")

    def number(value: float | None) -> str:
        return "" if value is None else f"{value:.{0 if value.is_integer() else problem.decimals}f}"

    for block, rows in done:
        cells = []
        for row in rows:
            outcome = row.score.outcome
            told = number(outcome.objective) if row.gap is None else signed_percent(row.gap)
            cells.append(Text(told) if outcome.ok else Text(outcome.status.value, style="red"))
        table.add_row(
            Text(clean(block.title)), number(block.reference.value if block.reference else None), *cells
        )
    gaps = [[rows[k].gap for _, rows in done] for k in range(len(chosen))]
    if len(done) > 1 and all(gap is not None for column in gaps for gap in column):
        means = [sum(gap for gap in column if gap is not None) / len(column) for column in gaps]
        table.add_row("mean", "", *(Text(signed_percent(mean)) for mean in means))
    console = Console(highlight=False)
    if not console.is_terminal:
        console.width = 160
    console.print(table)
    for row in (row for _, rows in done for row in rows if not row.score.outcome.ok):
        outcome = row.score.outcome
        console.print(Text(f"{clean(row.entry.name)}: {outcome.status.value}: {clean(outcome.detail)}"))


def _from_files(problem: Problem, files: Sequence[str]) -> tuple[Problem, list[Block]]:
    """The problem with the instances of the files as one more split, and a block for each."""
    given = read_instances(problem, files)
    where = [
        Block(
            each.instance.name,
            SPLIT,
            number,
            len(each.instance.array),
            each.instance.best,
            time_limit(problem, each.instance.array, problem.time_limit),
            each.file,
        )
        for number, each in enumerate(given, 1)
    ]
    return with_instances(problem, [each.instance.array for each in given]), where
