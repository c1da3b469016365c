"""``ahd compare``: the runs, then what they say."""

import shlex
import sys
from dataclasses import dataclass
from pathlib import Path

from ahd.compare.folder import Folder
from ahd.compare.plan import Plan
from ahd.compare.result import Comparison
from ahd.compare.work import carry_out, check_jobs
from ahd.config import ConfigError
from ahd.display.text import clean
from ahd.models.load import check_model
from ahd.run import RESULTS
from problems.registry import load


@dataclass(frozen=True)
class Output:
    """What is printed and written beside ``comparison.json``."""

    as_json: bool = False
    csv: Path | None = None


def run_compare(plan: Plan, out: Path | None, against: str, at_once: int | None, output: Output) -> None:
    """Carry out a plan, or what is left of it, and print what it found.

    Raises:
        ConfigError: bad input, or runs that failed.
        KeyboardInterrupt: somebody asked for a stop; the same command goes on.
    """
    from ahd.compare.table import check_writable

    check_writable([output.csv])
    check_jobs(at_once)
    labels = [arm.label for arm in plan.arms]
    if against and against not in labels:
        raise ConfigError(f"--against {against}: choose one of --methods {','.join(labels)}")
    for run in plan.runs():
        if run.config.seed == plan.seeds[0]:
            load(run.config.problem, run.config.problem_path or None)
            check_model(run.config)
    folder = Folder.prepare(out or RESULTS / plan.name, plan)
    try:
        carry_out(folder, at_once)
    except KeyboardInterrupt:
        print(f"stopped; go on with: {_again(folder, out)}", file=sys.stderr)
        raise
    _conclude(folder.path, folder, against, output, out is not None)


def analyse_folder(path: Path, against: str, output: Output) -> None:
    """Print what the runs in a folder say: a comparison's, or any run folders below it.

    Raises:
        UnequalSpend: they have not spent the same, or not all of it.
        ConfigError: bad input.
    """
    from ahd.compare.table import check_writable

    check_writable([output.csv])
    folder = Folder.open(path)
    _conclude(path, folder, against, output, True)


def _conclude(path: Path, folder: Folder | None, against: str, output: Output, named: bool) -> None:
    from ahd.compare.analyse import compare
    from ahd.compare.folder import write_result
    from ahd.compare.runs import find, read_all
    from ahd.compare.table import print_comparison, write_csv

    if folder is None:
        found = compare(list(read_all(find(path), path)), against)
    else:
        command = _again(folder, path if named else None)
        planned = list(folder.plan.runs())
        runs = list(read_all([folder.place(run) for run in planned], path, f"go on with `{command}`"))
        found = compare(runs, against, [run.arm for run in planned], command)
    try:
        written = write_result(path, found)
    except OSError as error:
        print(f"{path}: comparison.json cannot be written there ({error.strerror})", file=sys.stderr)
        written = None
    if output.csv:
        write_csv(output.csv, found)
    if output.as_json:
        print(found.to_json(), end="", flush=True)
    else:
        print_comparison(found)
        if written:
            print(f"written: {written}", flush=True)
    if written and (page := _write_page(path, found)) and not output.as_json:
        print(f"page: {page}")


def _write_page(path: Path, found: Comparison) -> Path | None:
    """Write the page beside the result; where that fails, say so on standard error, whatever the reason: the
    comparison itself is whole."""
    from ahd.report.make import write_comparison_page

    try:
        return write_comparison_page(path, found)
    except Exception as error:
        told = clean(str(error) or type(error).__name__)
        again = f"ahd report {shlex.quote(str(path))}"
        print(f"no page: {told}; the comparison is stored, `{again}` makes its page", file=sys.stderr)
        return None


def _again(folder: Folder, out: Path | None) -> str:
    """The command that goes on."""
    words = folder.plan.command
    if out is not None and out != RESULTS / folder.plan.name:
        words += f" --out {shlex.quote(str(out))}"
    return words
