"""Prompts for models that write the whole function (same intent as EoH, arXiv 2401.02051)."""

from collections.abc import Sequence

from operators.notes import noted
from operators.parent import Parent
from operators.prompt import Prompt
from problems.problem import Problem

MAX_TOKENS = 768


def render(
    problem: Problem, parents: Sequence[Parent], ask: str, decimals: int, notes: Sequence[str] = ()
) -> Prompt:
    """Task, parents with their objectives, notes, what the operator asks, and the form of the answer."""
    parts = [problem.description.strip()]
    if parents:
        those = "This heuristic is" if len(parents) == 1 else f"These {len(parents)} heuristics are"
        parts.append(f"{those} known, with the objective reached (lower is better).")
    for number, parent in enumerate(parents, start=1):
        idea = f"Idea: {parent.thought}\n" if parent.thought else ""
        parts.append(
            f"Heuristic {number}, objective {parent.objective:.{decimals}f}\n"
            f"{idea}```python\n{parent.code.strip()}\n```"
        )
    if notes:
        parts.append(
            "\n".join(["What earlier attempts have shown:", *(f"- {noted(note)}" for note in notes)])
        )
    parts.append(ask)
    parts.append(
        "Answer in two parts. First describe the idea in one sentence inside braces, like this: "
        "{the idea}. Then complete this Python function in one code block:\n"
        f"```python\n{problem.template.strip()}\n```\n"
        "Keep its name, its arguments and the meaning of its result. Use numpy only. "
        "No other text, no examples, no tests."
    )
    return Prompt("\n\n".join(parts), prefill="", stop=(), max_tokens=MAX_TOKENS)
