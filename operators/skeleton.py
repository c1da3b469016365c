"""Prompts for small models: they fill the hole in the problem's skeleton.

A model of some hundred million parameters copies what stands right before the hole far better than it
follows a message (measured with SmolLM2-135M, see ``docs/prompts.md``). So the parents and what the
operator asks stand as comments in the reply's prefill, just above the open assignment, and the
message only names the task.
"""

import ast
from collections.abc import Sequence

from operators.notes import noted
from operators.parent import Parent
from operators.parsing import completion_in
from operators.prompt import Prompt
from operators.syntax import UNPARSABLE, parse
from problems.problem import Problem

MAX_TOKENS = 48
_MARK = "  (objective"
STOP = ("\n", "```", _MARK, "  #")
"""A completion is one line; models like to imitate the mark behind a parent, or to comment."""
_MOST_SHOWN = 240


def render(
    problem: Problem, parents: Sequence[Parent], ask: str, decimals: int, notes: Sequence[str] = ()
) -> Prompt:
    """The problem's hint as message; a prefill that ends in the skeleton's open assignment, with one
    comment line per parent (worst first, so that the best is nearest to the hole), one per note, and the
    ask above it.

    Parents whose completion is unknown are shown by the statements of their function.
    """
    head, gap, hole = problem.skeleton.prefix.rpartition("\n")
    indent = hole[: len(hole) - len(hole.lstrip())]
    lines = [
        f"{hole.strip()} {shown(problem, parent)}{_MARK} {parent.objective:.{decimals}f})"
        for parent in sorted(parents, key=lambda each: -each.objective)
    ]
    lines += [*map(noted, notes), ask]
    comments = "".join(f"{indent}# {line}\n" for line in lines)
    lead = f" {problem.skeleton.lead}" if problem.skeleton.lead else ""
    prefill = f"```python\n{head}{gap}{comments}{hole}{lead}"
    return Prompt(problem.skeleton.hint.strip(), prefill, STOP, MAX_TOKENS, lead)


def shown(problem: Problem, parent: Parent) -> str:
    """What of a parent is shown, on one line: its completion, or where there is none its statements."""
    text = parent.completion or completion_in(parent.code, problem) or _statements(parent.code)
    return "; ".join(line.strip() for line in text.splitlines() if line.strip())[:_MOST_SHOWN]


def _statements(code: str) -> str:
    """The body of the last function without its docstring; all of ``code`` when unreadable."""
    try:
        functions = [node for node in parse(code).body if isinstance(node, ast.FunctionDef)]
        body = functions[-1].body
        if ast.get_docstring(functions[-1], clean=False) is not None:
            body = body[1:]
        return "\n".join(ast.unparse(statement) for statement in body)
    except (IndexError, *UNPARSABLE):
        return code
