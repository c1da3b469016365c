"""``ahd problems``: what can be solved."""

import json

from ahd.display.text import clean
from evaluators.task import BrokenProblemFile
from problems.check import reference_of
from problems.problem import Problem
from problems.registry import load, load_file, names
from problems.solvers import SOLVERS

SPLITS = ("train", "val", "test")


def print_problem(name: str, as_json: bool, problem_path: str | None) -> None:
    """Print what there is to know for writing a heuristic: the listing, the function, the simplest heuristic.

    Raises:
        UnknownProblem, BrokenProblemFile: see ``problems.registry.load``.
    """
    problem = load(name, problem_path)
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


def print_problems(as_json: bool, problem_path: str | None) -> None:
    """Print a few lines (or one JSON line) per problem."""
    problems = [load(name) for name in names()]
    if problem_path:
        problems.append(load_file(problem_path))
    for number, problem in enumerate(problems):
        record = _record(problem)
        print(json.dumps(record) if as_json else "\n" * bool(number) + _told(problem, record))


def _record(problem: Problem) -> dict[str, object]:
    """Everything listed, as plain values."""
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
        "origin": problem.origin or "package",
    }


def _split(problem: Problem, split: str) -> list[dict[str, object]]:
    """Size, number of instances, and what their gap is measured against, for each size of a split."""
    found: list[dict[str, object]] = []
    for size in problem.sizes[split]:
        try:
            count = len(problem.instances(split, size))
        except (Exception, SystemExit) as error:
            where = problem.origin or problem.name
            raise BrokenProblemFile(
                f"{where}: `instances({split!r}, {size})` fails: {clean(repr(error))}"
            ) from error
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
    for split in SPLITS:
        add(split, ", ".join(f"{each['instances']} of size {each['size']}" for each in splits[split]))
        for each in splits[split]:
            if each["reference"] is not None:
                told = f"{split} {each['size']} {each['reference']:.{problem.decimals}f}"
                sources.setdefault(each["reference_source"], []).append(told)
    for source, values in sources.items():
        add("gap to", f"{'; '.join(values)}: {clean(source)}")
    if not sources:
        add("gap to", "nothing known")
    add("heuristics", "; ".join(map(clean, problem.heuristics)))
    if problem.seeded:
        add("objective", "that of a solver with a seed, which the heuristic guides")
    if problem.origin:
        add("file", clean(problem.origin))
    return "\n".join(lines)
