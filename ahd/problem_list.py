"""``ahd problems``: what can be solved."""

import json

from rich.console import Console
from rich.table import Table

from problems.problem import Problem
from problems.registry import load, names


def print_problems(as_json: bool, problem_path: str | None) -> None:
    """Print one row (or one JSON line) per problem."""
    problems = [load(name, problem_path) for name in names(problem_path)]
    if as_json:
        for problem in problems:
            print(json.dumps(_record(problem)))
        return
    table = Table(title="Problems", title_justify="left")
    for heading in ("name", "task", "train", "validation", "test", "training reference", "known heuristics"):
        table.add_column(heading, overflow="fold")
    for problem in problems:
        reference = problem.reference("train", problem.sizes["train"][0])
        table.add_row(
            problem.name,
            problem.title,
            *(", ".join(map(str, problem.sizes[split])) for split in ("train", "val", "test")),
            f"{reference.value:.{problem.decimals}f} ({reference.source})" if reference else "unknown",
            ", ".join(problem.heuristics),
        )
    Console(soft_wrap=False).print(table)


def _record(problem: Problem) -> dict[str, object]:
    reference = problem.reference("train", problem.sizes["train"][0])
    return {
        "name": problem.name,
        "title": problem.title,
        "function": problem.function,
        "sizes": {split: list(sizes) for split, sizes in problem.sizes.items()},
        "reference": reference.value if reference else None,
        "reference_source": reference.source if reference else None,
        "heuristics": list(problem.heuristics),
        "origin": problem.origin or "package",
    }
