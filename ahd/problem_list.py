"""``ahd problems``: what can be solved."""

import json
import sys

from ahd.display.text import clean, complain
from ahd.gap import has_solver
from evaluators.task import BrokenProblemFile
from problems.check import check_instances, reference_of
from problems.installed import entries
from problems.problem import Problem
from problems.registry import dropped, load, load_file, packaged, source, thieves
from problems.solvers import SOLVERS

SPLITS = ("train", "val", "test")


def print_problem(name: str, as_json: bool, problem_path: str | None) -> None:
    """Print what there is to know for writing a heuristic: the listing, the function, the simplest heuristic.
    ``name`` may be empty where a file is given: it is that of its problem.

    Raises:
        UnknownProblem, BrokenProblemFile: see ``problems.registry.load`` and ``problems.check``.
    """
    problem = load_file(problem_path) if problem_path and not name else load(name, problem_path)
    record = _record(problem)
    simplest, source = problem.simplest
    if as_json:
        more = {
            "description": problem.description,
            "template": problem.template,
            "sources": problem.heuristics,
        }
        print(json.dumps({**record, **more}))
        return
    parts = [_told(problem, record), problem.description.strip(), "The function:", problem.template.strip()]
    print("\n\n".join([*parts, f"The simplest known heuristic, {simplest}:", source.strip()]))


def print_problems(as_json: bool) -> int:
    """Print a few lines (or one JSON line) per problem of the package, of installed packages and of the
    folder ``AHD_PROBLEMS``, by name; then, on standard error, what is wrong with others. The exit code: 2 if
    anything is.

    Raises:
        BrokenProblemFile: ``AHD_PROBLEMS`` names no folder.
    """
    extra = dropped()
    faults: list[BrokenProblemFile | str] = [*extra.broken.values(), *thieves()]
    found = {name: load(name) for name in packaged()} | extra.problems
    for name in entries().keys() - found.keys():
        try:
            found[name] = load(name)
        except BrokenProblemFile as error:
            faults.append(error)
    first = True
    for _, problem in sorted(found.items()):
        try:
            record = _record(problem)
        except BrokenProblemFile as error:
            faults.append(error)
            continue
        print(json.dumps(record) if as_json else "\n" * (not first) + _told(problem, record))
        first = False
    sys.stdout.flush()
    for fault in faults:
        complain(fault)
    return 2 if faults else 0


def _record(problem: Problem) -> dict[str, object]:
    """Everything listed, as plain values.

    Raises:
        BrokenProblemFile: the problem is from a file, and something in it does not work.
    """
    check_instances(problem)
    reference = reference_of(problem, "train", problem.sizes["train"][0])
    return {
        "name": problem.name,
        "title": problem.title,
        "function": problem.function,
        "arguments": list(problem.arguments),
        "sizes": {split: list(problem.sizes[split]) for split in SPLITS},
        "splits": {split: _split(problem, split) for split in SPLITS},
        "reference": reference.value if reference else None,
        "reference_source": reference.source if reference else None,
        "seeded": problem.seeded,
        "reads_files": problem.read is not None,
        "solvers": [] if problem.origin else [solver.name for solver in SOLVERS.get(problem.name, ())],
        "heuristics": list(problem.heuristics),
        "origin": source(problem),
    }


def _split(problem: Problem, split: str) -> list[dict[str, object]]:
    """Size, number of instances, and what their gap is measured against, for each size of a split."""
    found: list[dict[str, object]] = []
    for size in problem.sizes[split]:
        count = len(problem.instances(split, size))
        reference = reference_of(problem, split, size)
        found.append(
            {
                "size": size,
                "instances": count,
                "reference": reference.value if reference else None,
                "reference_source": reference.source if reference else None,
            }
        )
    return found


def _told(problem: Problem, record: dict[str, object]) -> str:
    lines = [f"{problem.name}: {clean(problem.title)}"]

    def add(what: str, text: str) -> None:
        lines.append(f"  {what:12} {text}")

    splits = record["splits"]
    assert isinstance(splits, dict)
    sources: dict[str, list[str]] = {}
    zero: dict[str, list[str]] = {}
    without: list[tuple[str, int]] = []
    for split in SPLITS:
        add(split, ", ".join(f"{each['instances']} of size {each['size']}" for each in splits[split]))
        for each in splits[split]:
            if each["reference"] is None:
                without.append((split, each["size"]))
            elif each["reference"] == 0:
                zero.setdefault(each["reference_source"], []).append(f"{split} {each['size']}")
            else:
                told = f"{split} {each['size']} {each['reference']:.{problem.decimals}f}"
                sources.setdefault(each["reference_source"], []).append(told)
    for origin, values in sources.items():
        add("gap to", f"{'; '.join(values)}: {clean(origin)}")
    for origin, values in zero.items():
        add("no gap", f"{'; '.join(values)}: the reference is 0: {clean(origin)}")
    if without and has_solver(problem):
        split, size = without[0]
        told = "; ".join(f"{split} {size}" for split, size in without)
        command = f"ahd refs {problem.name} --split {split} --size {size}"
        add("no gap", f"{told}: no reference: `{command}` computes one")
    elif not sources and not zero:
        add("gap to", "nothing known")
    add("heuristics", "; ".join(map(clean, problem.heuristics)))
    if problem.seeded:
        add("objective", "that of a solver with a seed, which the heuristic guides")
    if problem.origin:
        add("file", clean(problem.origin))
    elif record["origin"] != "package":
        add("from", clean(str(record["origin"])))
    return "\n".join(lines)
