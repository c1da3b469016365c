"""The question that makes a model write insights itself, like the reflections of ReEvo (arXiv 2402.01145)."""

import re
from collections.abc import Sequence

from operators.notes import noted
from operators.parent import Parent
from operators.prompt import Prompt, Style
from operators.skeleton import shown
from problems.problem import Problem

MOST_LINES = 2
"""Lines kept of a reply."""
MAX_TOKENS = 128
_MOST_CODE = 1000
"""Characters of a heuristic that are shown."""
_BULLET = re.compile(r"^(?:[-*•]|\d+[.)])\s+")


def reflection(
    problem: Problem,
    better: Sequence[Parent],
    worse: Sequence[Parent],
    failures: Sequence[str],
    known: Sequence[str],
    style: Style,
) -> Prompt:
    """Asks what the better heuristics do that the worse do not. ``failures`` are reasons; ``known`` are the
    insights so far, which the new ones replace. In skeleton style heuristics are shown by what fills the
    hole."""
    parts = [problem.description.strip()]
    for name, heuristics in (("better", better), ("worse", worse)):
        if heuristics:
            told = [_told(problem, each, style) for each in heuristics]
            parts.append("\n".join([f"These heuristics are {name} (lower objectives are better):", *told]))
    for name, lines in (("These attempts failed:", failures), ("Insights so far:", known)):
        if lines:
            parts.append("\n".join([name, *(f"- {noted(line)}" for line in lines)]))
    parts.append(
        f"Write the {MOST_LINES} insights that help most to write a better heuristic: what the better ones "
        "do that the worse do not, and what to avoid. One short line each, at most 100 characters. No code, "
        "no other text."
    )
    return Prompt("\n\n".join(parts), prefill="", stop=("```",), max_tokens=MAX_TOKENS)


def insights_in(reply: str) -> tuple[str, ...]:
    """The insights in a reply: its first lines, without bullets."""
    lines = (noted(_BULLET.sub("", line.strip())) for line in reply[:4000].splitlines())
    return tuple(line for line in lines if line)[:MOST_LINES]


def _told(problem: Problem, heuristic: Parent, style: Style) -> str:
    objective = f"objective {heuristic.objective:.{problem.decimals}f}"
    if style == "skeleton":
        return f"- {objective}: {shown(problem, heuristic)}"
    return f"{objective}\n```python\n{heuristic.code.strip()[:_MOST_CODE]}\n```"
