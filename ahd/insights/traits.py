"""What a heuristic is made of, as far as two of them can be compared: terms with their signs, ratios, powers,
calls, statements. The code is read, never executed."""

import ast
from collections.abc import Iterator, Mapping
from copy import deepcopy
from functools import lru_cache
from itertools import islice

from operators.syntax import UNPARSABLE, parse

HOLE = "{}"
"""Stands for a number in a trait."""
LONGEST = 40
"""Characters of a trait."""
_LARGEST = 24
"""Nodes of an expression that is told."""
_MOST_NODES = 4000
_PLAIN: tuple[type[ast.AST], ...] = (
    ast.BinOp,
    ast.UnaryOp,
    ast.Call,
    ast.Attribute,
    ast.Subscript,
    ast.Name,
    ast.Constant,
)
_PLAIN += (ast.Slice, ast.Tuple, ast.keyword, ast.operator, ast.unaryop, ast.expr_context)
_KINDS: Mapping[type[ast.AST], str] = {
    ast.For: "a for loop",
    ast.While: "a while loop",
    ast.If: "an if",
    ast.IfExp: "an if",
}

Traits = Mapping[str, tuple[float, ...]]
"""The traits of a heuristic, each with the numbers that stand in its holes."""


@lru_cache(maxsize=4096)
def traits(code: str) -> Traits:
    """The traits of a heuristic, empty when it cannot be read.

    ``score = near - 0.5 * home ** 2`` has the terms ``+ near`` and ``- {} * home ** {}`` (0.5, 2), the power
    ``home ** {}`` (2). Of a trait that occurs more than once the first counts.
    """
    try:
        found: dict[str, tuple[float, ...]] = {}
        for node in islice(ast.walk(parse(code)), _MOST_NODES):
            for text, numbers in _of(node):
                if len(text) <= LONGEST and text.count(HOLE) == len(numbers):
                    found.setdefault(text, numbers)
        return found
    except UNPARSABLE:
        return {}


def _of(node: ast.AST) -> Iterator[tuple[str, tuple[float, ...]]]:
    """The traits that begin at a node."""
    if isinstance(node, ast.Assign | ast.Return) and node.value is not None:
        yield from _terms(node.value, True)
    elif isinstance(node, ast.AugAssign) and isinstance(node.op, ast.Add | ast.Sub):
        yield from _terms(node.value, isinstance(node.op, ast.Add))
    elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
        if _number(node.right) is None and _is_plain(node.right):
            text, numbers = _shape(node.right)
            yield f"/ {text}", numbers
    elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow):
        if _is_plain(node):
            yield _shape(node)
    elif isinstance(node, ast.Call):
        if _is_plain(node.func):
            yield f"{ast.unparse(node.func)}()", ()
    elif type(node) in _KINDS:
        yield _KINDS[type(node)], ()


def _terms(node: ast.expr, plus: bool) -> Iterator[tuple[str, tuple[float, ...]]]:
    """The terms of a sum, with their signs; sums in brackets term by term too."""
    while _is_sum(node):
        assert isinstance(node, ast.BinOp)
        yield from _term(node.right, plus == isinstance(node.op, ast.Add))
        node = node.left
    yield from _term(node, plus)


def _term(node: ast.expr, plus: bool) -> Iterator[tuple[str, tuple[float, ...]]]:
    """A term as ``sign number * rest``: numbers that multiply or divide it are drawn to its front."""
    if not _is_plain(node):
        return
    factor, rest = _factored(node)
    if rest is None:
        return
    plus, factor = plus == (factor >= 0), abs(factor)
    if factor == 1 and _is_sum(rest):
        yield from _terms(rest, plus)
    else:
        text, numbers = _shape(rest)
        yield f"{'+' if plus else '-'} {HOLE} * {text}", (factor, *numbers)


def _factored(node: ast.expr) -> tuple[float, ast.expr | None]:
    """The number before an expression, and the expression without it (None: it is a number)."""
    value = _number(node)
    if value is not None:
        return value, None
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub | ast.UAdd):
        factor, rest = _factored(node.operand)
        return (-factor if isinstance(node.op, ast.USub) else factor), rest
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult | ast.Div):
        (factor, left), right = _factored(node.left), _number(node.right)
        if right:
            return (factor * right if isinstance(node.op, ast.Mult) else factor / right), left
        if left is not None:
            return factor, ast.BinOp(left, node.op, node.right)
        if isinstance(node.op, ast.Mult):
            more, rest = _factored(node.right)
            return factor * more, rest
    return 1.0, node


def _number(node: ast.expr) -> float | None:
    value = node.value if isinstance(node, ast.Constant) else None
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def _is_sum(node: ast.expr) -> bool:
    return isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Sub)


def _is_plain(node: ast.expr) -> bool:
    """Whether an expression is small, and made of names, numbers, arithmetic, calls and indices only."""
    nodes = list(islice(ast.walk(node), _LARGEST + 1))
    return len(nodes) <= _LARGEST and all(isinstance(each, _PLAIN) for each in nodes)


class _Holes(ast.NodeTransformer):
    """Takes the numbers out of a plain expression, in the order they are written."""

    def __init__(self) -> None:
        self.numbers: list[float] = []

    def visit_Constant(self, node: ast.Constant) -> ast.expr:
        value = _number(node)
        if value is None:
            return node
        self.numbers.append(value)
        return ast.Name(HOLE)


def _shape(node: ast.expr) -> tuple[str, tuple[float, ...]]:
    """An expression with holes for its numbers, in brackets if it is a sum, and these numbers."""
    holes = _Holes()
    text = ast.unparse(holes.visit(deepcopy(node)))
    return f"({text})" if _is_sum(node) else text, tuple(holes.numbers)
