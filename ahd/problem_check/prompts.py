"""What the model will read, and whether what it writes can be read."""

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from ahd.population import Individual
from ahd.problem_check.finding import Finding, failed, ok, warning
from evaluators.frames import one_line
from operators.parsing import completion_in, fill, normalise, parse_reply
from operators.prompt import Prompt, Style
from operators.registry import OPERATORS
from operators.syntax import UNPARSABLE
from problems.problem import Problem

STYLES: tuple[Style, ...] = ("skeleton", "free")
LONG = 4000
"""Characters from which a skeleton prompt is told to be long: it is read for every proposal."""
PARENTS = 2
"""As `ahd run` has it."""


@dataclass(frozen=True)
class Shown:
    """One prompt as an operator makes it, known heuristics being the parents."""

    operator: str
    style: Style
    prompt: Prompt

    @property
    def length(self) -> int:
        """Characters of the message and of the start of the reply."""
        return len(self.prompt.text) + len(self.prompt.prefill)

    def as_dict(self) -> dict[str, object]:
        return {
            "operator": self.operator,
            "style": self.style,
            "characters": self.length,
            "text": self.prompt.text,
            "prefill": self.prompt.prefill,
        }


def prompts(problem: Problem, known: Mapping[str, float]) -> list[Shown]:
    """The prompt of each operator in both styles; ``known`` has the objectives of known heuristics by
    name."""
    members = sorted(
        (
            Individual(objective, code, completion_in(code, problem), "", None, name)
            for name, objective in known.items()
            for code in [problem.heuristics[name]]
        ),
        key=lambda each: each.objective,
    )
    shown = []
    for style in STYLES:
        parents = members
        if style == "skeleton":
            parents = [each for each in members if each.completion] or members
        for name, operator in OPERATORS.items():
            wanted = PARENTS if operator.parents is None else operator.parents
            if len(parents[:wanted]) == wanted or (operator.parents is None and parents):
                shown.append(Shown(name, style, operator.prompt(problem, parents[:wanted], style)))
    return shown


def check_prompts(problem: Problem, known: Mapping[str, float]) -> tuple[list[Finding], list[Shown]]:
    """Check template and skeleton, and render everything."""
    findings = [*_template(problem), *_skeleton(problem)]
    try:
        shown = prompts(problem, known)
    except Exception as error:
        mend = "see that description, template, skeleton and heuristics are plain texts"
        return [*findings, failed("prompts", f"fail with {one_line(error)}", mend)], []
    for style in STYLES:
        lengths = [each.length for each in shown if each.style == style]
        if not lengths:
            continue
        told = f"{len(lengths)} of {min(lengths)} to {max(lengths)} characters"
        if style == "skeleton" and max(lengths) > LONG:
            mend = "shorten the prefix and the hint: small models read them for every proposal"
            findings.append(warning(f"prompts, {style}", told, mend))
        else:
            findings.append(ok(f"prompts, {style}", told))
    return findings, shown


def _template(problem: Problem) -> Iterator[Finding]:
    try:
        tree = ast.parse(problem.template)
    except UNPARSABLE as error:
        yield failed("template", one_line(error), "give imports, the signature and a docstring that parse")
        return
    named = [
        node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == problem.function
    ]
    arguments = tuple(each.arg for each in named[-1].args.args) if named else ()
    if arguments != problem.arguments:
        wanted = f"def {problem.function}({', '.join(problem.arguments)})"
        yield failed("template", f"does not define {wanted}", "let template, function and arguments agree")
    elif ast.get_docstring(named[-1]) is None:
        mend = "say in a docstring what the arguments hold, with shapes, and what is returned"
        yield warning("template", "has no docstring", mend)
    else:
        yield ok("template", f"defines {problem.function}({', '.join(arguments)})")


def _skeleton(problem: Problem) -> Iterator[Finding]:
    prefix, suffix = problem.skeleton.prefix, problem.skeleton.suffix
    if not (prefix.endswith("=") and suffix.startswith("\n")):
        mend = (
            "let the prefix end in an open assignment such as `    score =`, the suffix start with a new line"
        )
        yield failed("skeleton", "has no hole", mend)
        return
    try:
        ast.parse(fill(problem, "0"))
    except UNPARSABLE as error:
        yield failed("skeleton", f"filled with 0: {one_line(error)}", "let prefix + ' 0' + suffix be Python")
        return
    filled = {name: completion_in(code, problem) for name, code in problem.heuristics.items()}
    usable = {name: completion for name, completion in filled.items() if completion}
    if not usable:
        mend = "write at least one known heuristic as prefix + ' ' + completion + suffix"
        yield warning("skeleton", "no known heuristic fills it: small models see none as a completion", mend)
        return
    for name, completion in usable.items():
        again = parse_reply(completion, problem, "skeleton").code
        if normalise(again) != normalise(problem.heuristics[name]):
            yield failed(
                "skeleton", f"{name} is read back as something else", "keep completions to expressions"
            )
            return
    yield ok("skeleton", f"{len(usable)} of {len(filled)} known heuristics fill it and are read back")
