"""Renders the examples in ``docs/prompts.md``; run it to bring them up to date."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from operators.parent import Parent
from operators.registry import OPERATORS
from problems.problem import Problem
from problems.tsp import problem

PAGE = Path(__file__).parents[2] / "docs" / "prompts.md"
MARK = "<!-- examples: written by tests/operators/prompt_examples.py -->\n"


def objective(problem: Problem, code: str) -> float:
    """Training objective of a known heuristic of ours, run right here."""
    names: dict[str, Any] = {}
    exec(compile(code, "heuristic", "exec"), names)
    heuristic: Callable[..., Any] = names[problem.function]
    instances = problem.instances("train", problem.sizes["train"][0])
    return problem.objective(instances, problem.run(heuristic, instances))


def render_examples() -> str:
    """Every operator in both styles, known heuristics that complete the skeleton as parents."""
    known = [
        Parent(objective(problem, problem.heuristics[name]), problem.heuristics[name])
        for name in ("nearest minus home", "nearest minus rest")
    ]
    parts = []
    for name, operator in OPERATORS.items():
        parents = known[: 2 if operator.parents is None else operator.parents]
        prompt = operator.prompt(problem, parents, "skeleton")
        parts.append(
            f"### {name}, skeleton\n\nMessage:\n\n~~~text\n{prompt.text}\n~~~\n\n"
            f"The reply is made to start with:\n\n~~~text\n{prompt.prefill}\n~~~\n"
        )
    for name in ("i1", "m2"):
        operator = OPERATORS[name]
        prompt = operator.prompt(problem, known[: operator.parents], "free")
        parts.append(f"### {name}, free\n\nMessage:\n\n~~~text\n{prompt.text}\n~~~\n")
    return "\n".join(parts)


if __name__ == "__main__":
    head, _, _ = PAGE.read_text().partition(MARK)
    PAGE.write_text(f"{head}{MARK}\n{render_examples()}")
