"""``ahd problems``: what can be solved."""

import json

from problems.problem import Problem
from problems.registry import load, load_file, names


def print_problems(as_json: bool, problem_path: str | None) -> None:
    """Print a few lines (or one JSON line) per problem."""
    problems = [load(name) for name in names()]
    if problem_path:
        problems.append(load_file(problem_path))
    if as_json:
        for problem in problems:
            print(json.dumps(_record(problem)))
        return
    for problem in problems:
        reference = problem.reference("train", problem.sizes["train"][0])
        known = f"{reference.value:.{problem.decimals}f} ({reference.source})" if reference else "unknown"
        print(f"{problem.name}: {problem.title}")
        for split in ("train", "val", "test"):
            print(f"  {split + ' sizes':12} {', '.join(map(str, problem.sizes[split]))}")
        print(f"  {'reference':12} {known}, on the training instances")
        print(f"  {'heuristics':12} {'; '.join(problem.heuristics)}")
        if problem.origin:
            print(f"  {'file':12} {problem.origin}")


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
