"""From a reply to a candidate's code. Nothing here executes or imports what it reads."""

import ast
import io
import re
import tokenize
from dataclasses import dataclass

from operators.prompt import Style
from operators.syntax import UNPARSABLE, normalise, parse
from problems.problem import Problem

__all__ = ["Parsed", "completion_in", "fill", "normalise", "parse_reply"]

_MOST_TEXT = 100_000
_MOST_READ = 400_000
_MOST_COMPLETION = 8_000
_MOST_LINES = 64
_MOST_LINE = 400
_MOST_THOUGHT = 400
_TOKEN = re.compile(r"\w+(?:\.\w+)*|\S")
_FENCE = re.compile(r"```[\w+-]*[ \t]*\n?(.*?)(?:```|\Z)", re.DOTALL)
_BRACES = re.compile(r"\{([^{}]+)\}")


@dataclass(frozen=True)
class Parsed:
    """The candidate in a reply: ``completion`` is empty in free style, ``thought`` in skeleton style."""

    code: str
    completion: str = ""
    thought: str = ""


def parse_reply(text: str, problem: Problem, style: Style) -> Parsed:
    """Find the candidate in ``text``, the reply without its prefill.

    Never raises: a reply without usable code gives code that the sandbox will type as a failure.
    """
    if style == "skeleton":
        return _parse_completion(text, problem)
    return _parse_free(text[:_MOST_TEXT], problem)


def completion_in(code: str, problem: Problem) -> str:
    """What fills the hole when ``code`` is an instance of the problem's skeleton, else ''."""
    prefix, suffix = problem.skeleton.prefix, problem.skeleton.suffix
    code, suffix = code.rstrip(), suffix.rstrip()
    fits = code.startswith(prefix) and code.endswith(suffix) and len(code) > len(prefix) + len(suffix)
    return code[len(prefix) : len(code) - len(suffix)].strip() if fits else ""


def fill(problem: Problem, completion: str) -> str:
    """The code of the problem's skeleton with its hole filled."""
    return f"{problem.skeleton.prefix} {completion}{problem.skeleton.suffix}"


# --- skeleton style ---------------------------------------------------------------------------------


def _parse_completion(text: str, problem: Problem) -> Parsed:
    """The longest run of leading lines that fills the hole, without comments and returns."""
    text = text[:_MOST_COMPLETION].split("```", 1)[0].strip()
    lines = _before_return(text.split("\n"), problem)[:_MOST_LINES]
    for count in range(len(lines), 0, -1):
        completion = "\n".join(lines[:count]).strip()
        if completion and _fills(completion, problem):
            completion = _without_comments(completion, problem)
            return Parsed(fill(problem, completion), completion)
    completion = _longest_start(lines[0], problem) or text
    return Parsed(fill(problem, completion), completion)


def _longest_start(line: str, problem: Problem) -> str:
    """The longest start of a line, in whole tokens, that fills the hole: a small model runs on into
    prose or is cut off in the middle of a bracket. Empty when there is none."""
    ends = [match.end() for match in _TOKEN.finditer(line[:_MOST_LINE])]
    for end in reversed(ends):
        start = line[:end].rstrip()
        if start and _fills(start, problem):
            return _without_comments(start, problem)
    return ""


def _before_return(lines: list[str], problem: Problem) -> list[str]:
    """Cut where the function would return at the hole's own level: the suffix does that."""
    hole = problem.skeleton.prefix.rsplit("\n", 1)[-1]
    depth = len(hole) - len(hole.lstrip())
    for number, line in enumerate(lines[1:], start=1):
        body = line.lstrip()
        if len(line) - len(body) <= depth and re.match(r"return\b", body):
            return lines[:number]
    return lines


def _fills(completion: str, problem: Problem) -> bool:
    """Whether the code parses and ``completion`` stays inside the function."""
    try:
        return len(parse(fill(problem, completion)).body) == len(parse(fill(problem, "0")).body)
    except UNPARSABLE:
        return False


def _without_comments(completion: str, problem: Problem) -> str:
    """Drop comments and the lines they leave empty; ``completion`` is known to fill the hole."""
    code = fill(problem, completion)
    first = problem.skeleton.prefix.count("\n") + 1
    last = first + completion.count("\n")
    lines = code.split("\n")
    try:
        for token in tokenize.generate_tokens(io.StringIO(code).readline):
            row, column = token.start
            if token.type == tokenize.COMMENT and first <= row <= last:
                lines[row - 1] = lines[row - 1][:column].rstrip()
    except (tokenize.TokenError, IndentationError, *UNPARSABLE):
        return completion
    lines[first - 1] = lines[first - 1][len(problem.skeleton.prefix.rsplit("\n", 1)[-1]) :]
    bare = "\n".join(line for line in lines[first - 1 : last] if line.strip()).strip()
    return bare if bare and _fills(bare, problem) else completion


# --- free style -------------------------------------------------------------------------------------


def _parse_free(text: str, problem: Problem) -> Parsed:
    blocks = list(_FENCE.finditer(text))
    if blocks:
        block = _best_block(blocks, problem.function)
        code, start = block.group(1), block.start()
    else:
        found = re.search(r"^[ \t]*(?:import|from|def)\s", text, re.MULTILINE)
        start = found.start() if found else len(text)
        code = _longest_parsing(text[start:]) if found else text
    return Parsed(code.strip() + "\n", thought=_thought(text[:start]))


def _best_block(blocks: list[re.Match[str]], function: str) -> re.Match[str]:
    """The first block that parses and defines the function, else the longest that mentions it."""
    for block in blocks[:_MOST_LINES]:
        if _defines(block.group(1).strip(), function):
            return block
    return max(blocks, key=lambda block: (f"def {function}" in block.group(1), len(block.group(1))))


def _defines(code: str, function: str) -> bool:
    try:
        tree = parse(code)
    except UNPARSABLE:
        return False
    return any(isinstance(node, ast.FunctionDef) and node.name == function for node in tree.body)


def _longest_parsing(text: str) -> str:
    """Cut the prose after unfenced code: drop lines from the end until the rest parses, or enough was read:
    hostile text can be wrong in its last line, however many are dropped."""
    lines = text.split("\n")
    count = len(lines)
    read = 0
    while count > 0 and read < _MOST_READ:
        part = "\n".join(lines[:count])
        read += len(part)
        try:
            parse(part)
            return part
        except SyntaxError as error:
            count = min(count, error.lineno or count) - 1
        except UNPARSABLE:
            break
    return text


def _thought(text: str) -> str:
    found = _BRACES.search(text)
    return " ".join(found.group(1).split())[:_MOST_THOUGHT] if found else ""
