"""Checks the skeleton of a problem that comes from outside the package: what its lead may name."""

import ast
import builtins
import contextlib
import difflib
import io
import keyword
import tokenize
from collections.abc import Iterator

from evaluators.frames import clean
from problems.problem import Skeleton


class BrokenSkeleton(ValueError):
    """A skeleton cannot be filled. The message is one line with the mend."""


def check_skeleton(skeleton: Skeleton) -> None:
    """Make sure that the skeleton is Python once its hole is filled, and that its lead uses only names that
    are there: of its prefix, or Python's own.

    Raises:
        BrokenSkeleton: it is not, or does not.
    """
    filled = f"{skeleton.prefix} 0{skeleton.suffix}"
    try:
        tree = ast.parse(filled)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        line = f", line {error.lineno}" if isinstance(error, SyntaxError) else ""
        what = error.msg if isinstance(error, SyntaxError) else str(error)
        raise BrokenSkeleton(
            f"`skeleton` with 0 in its hole is no Python ({what}{line}): "
            "let the prefix end where an expression can stand, as in `score =`"
        ) from None
    if any(isinstance(node, ast.ImportFrom) and node.names[0].name == "*" for node in ast.walk(tree)):
        return
    lines = skeleton.prefix.splitlines() or [""]
    hole = len(lines), len(lines[-1].encode())
    bound = sorted(set(_bound(tree, hole)))
    for name in _used(skeleton.lead):
        if name not in bound and not hasattr(builtins, name):
            near = difflib.get_close_matches(name, bound, n=1)
            mend = f"did you mean `{near[0]}`?" if near else "define it there, or give another lead"
            raise BrokenSkeleton(
                f"`skeleton.lead` is {clean(repr(skeleton.lead))}, but its prefix defines no `{name}`: {mend}"
            )


def _bound(tree: ast.Module, hole: tuple[int, int]) -> Iterator[str]:
    """Names that are defined before the hole."""
    for node in ast.walk(tree):
        if (getattr(node, "lineno", 0), getattr(node, "col_offset", 0)) >= hole:
            continue
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, ast.arg):
            yield node.arg
        elif isinstance(node, ast.alias):
            yield node.asname or node.name.split(".")[0]
        elif isinstance(name := getattr(node, "name", None), str):
            yield name  # of a function, a class, an exception or a pattern


def _used(lead: str) -> list[str]:
    """Names that a lead takes from elsewhere. It is the start of an expression, and need not be a whole one:
    then one that may define names of its own is passed over."""
    try:
        nodes = list(ast.walk(ast.parse(lead.strip(), mode="eval")))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return _used_in_part(lead.strip())
    own = {node.arg for node in nodes if isinstance(node, ast.arg)}
    names = [node for node in nodes if isinstance(node, ast.Name)]
    own |= {node.id for node in names if isinstance(node.ctx, ast.Store)}
    return [node.id for node in names if node.id not in own]


def _used_in_part(lead: str) -> list[str]:
    words: list[tokenize.TokenInfo] = []
    with contextlib.suppress(tokenize.TokenError, SyntaxError):  # an open bracket: all there is was read
        words.extend(tokenize.generate_tokens(io.StringIO(lead).readline))
    texts = [token.string for token in words]
    strange = any(token.type == tokenize.ERRORTOKEN for token in words)  # an open quote, say
    if strange or not {"for", "lambda", ":="}.isdisjoint(texts):
        return []
    return [
        token.string
        for before, token, after in zip(["", *texts], words, [*texts[1:], ""], strict=False)
        if token.type == tokenize.NAME
        and not keyword.iskeyword(token.string)
        and before != "."
        and after != "="
    ]
