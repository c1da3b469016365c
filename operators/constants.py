"""The numbers in a heuristic that can be tuned: found by its syntax, set in its text. Nothing is executed."""

import ast
import copy
import functools
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from operators.parsing import completion_in
from operators.syntax import UNPARSABLE, normalise, parse
from problems.problem import Problem

MOST = 12
"""Numbers beyond which a heuristic is not tuned: it would take too many evaluations."""
DIGITS = 4
"""Significant digits of a number that is set: people and models have to read it."""
LEAST, LARGEST = 1e-6, 1e6
"""Numbers outside are no weights but guards, against a division by zero for instance; and so is zero."""

LONGEST = 10_000
"""Characters beyond which code is not looked at."""
EFFORT = 100_000
"""Nodes of the terms that are compared, times their levels, beyond which code is not tuned: brackets within
brackets take time that grows with the cube of their depth."""

_COUNTING = ("arange", "empty", "eye", "full", "ones", "range", "repeat", "reshape", "roll", "tile", "zeros")
"""Functions whose arguments are counts and shapes."""
_NO_TERMS = (ast.Constant, ast.Dict, ast.JoinedStr, ast.List, ast.ListComp, ast.Set, ast.Tuple)
_SIGN = re.compile(rb"(?:#[^\n]*|[^#+-])*([+-])")
"""From the end of a term to the sign of the next: brackets, space and comments may be between."""


class Place(NamedTuple):
    """Where a number stands, in bytes; ``start == end``: a factor that is not written yet. ``sign`` is where
    the + or - stands that belongs to the number, -1: nowhere. ``base``: the number is that of a power."""

    start: int
    end: int
    sign: int = -1
    base: bool = False


@dataclass(frozen=True)
class Constants:
    """The numbers of a heuristic: where in its ``code`` and which.

    ``structure`` is equal for heuristics that differ in numbers alone, in the order of terms and factors, or
    in how often a sum has a term.
    """

    code: bytes
    places: tuple[Place, ...]
    values: tuple[float, ...]
    structure: str

    def written(self, values: Sequence[float]) -> str:
        """The code with other numbers, rounded to ``DIGITS`` significant digits."""
        edits = []
        for place, value in zip(self.places, values, strict=True):
            rounded = float(f"{value:.{DIGITS}g}")
            text = repr(rounded if place.sign < 0 else abs(rounded))
            if place.sign >= 0:
                edits.append((place.sign, place.sign + 1, "-" if rounded < 0 else "+"))
            if place.start == place.end:
                text = f" {text} *" + " " * (not self.code[place.start : place.start + 1].isspace())
            else:
                text = f"({text})" if place.base and rounded < 0 else text
                before, after = self.code[: place.start][-1:], self.code[place.end :][:1]
                text = " " * _goes_on(before) + text + " " * _goes_on(after)
            edits.append((place.start, place.end, text))
        code = self.code
        for start, end, text in sorted(edits, reverse=True):
            code = code[:start] + text.encode() + code[end:]
        return code.decode()


def _goes_on(neighbour: bytes) -> bool:
    """Whether a word or a number goes on there, as in ``1if x else.5``: another number needs a space."""
    return neighbour.isalnum() or neighbour == b"_" or neighbour >= b"\x80"


def constants_of(code: str, problem: Problem) -> Constants | None:
    """The numbers of a heuristic that can be tuned; None: there are none, too many, or it cannot be read.

    A sum has one for each different term but the first, which is the unit: the number among the factors of
    the term, with the sign before it, or a factor of 1 that is not written yet. So ``near - mean`` is taken
    as ``near - 1.0 * mean``. A product that is no term has one where a number is among its factors. Any other
    number that is no integer counts too, such as an exponent; indices, counts and shapes do not. Of an
    instance of the problem's skeleton only what fills the hole is looked at.
    """
    if len(code) > LONGEST:
        return None
    try:
        finder = _Finder(code, completion_in(code, problem))
        if not 0 < len(finder.found) <= MOST:
            return None
        places, values = zip(*sorted(finder.found.items()), strict=True)
        tree = parse(normalise(code))
        if _effort(tree) > EFFORT:
            return None
        return Constants(finder.code, places, values, _text(tree))
    except UNPARSABLE:
        return None


class _Finder:
    """Walks the tree of some code and notes the numbers in it.

    Raises:
        SyntaxError, ValueError, RecursionError, OverflowError: see ``UNPARSABLE``.
    """

    def __init__(self, code: str, completion: str) -> None:
        self.code = code.encode()
        if b"\r" in self.code or b"\f" in self.code:
            raise ValueError("lines that Python counts in its own way")
        self.found: dict[Place, float] = {}
        first = self.code.rindex(completion.encode()) if completion else 0
        self._hole = range(first, first + len(completion.encode()) if completion else len(self.code))
        self._effort = 0
        self._lines = [0, *(match.end() for match in re.finditer(b"\n", self.code))]
        self._visit(parse(code))

    def _visit(self, node: ast.AST) -> None:
        match node:
            case ast.Constant() | ast.UnaryOp() if _number(node) is not None:
                if isinstance(_number(node), float):
                    self._note(node)
            case ast.BinOp(op=ast.Add() | ast.Sub()):
                self._sum(node)
            case ast.BinOp(op=ast.Mult() | ast.Div()):
                self._product(node)
            case ast.BinOp(op=ast.Pow()):
                if _number(node.left) is not None:
                    self._note(node.left, base=True)
                else:
                    self._visit(node.left)
                self._visit(node.right)
            case ast.Call():
                self._visit(node.func)
                if getattr(node.func, "attr", getattr(node.func, "id", "")) not in _COUNTING:
                    for each in (*node.args, *node.keywords):
                        self._visit(each)
            case ast.Subscript():
                self._visit(node.value)
            case ast.FunctionDef():
                for statement in node.body:
                    self._visit(statement)
            case ast.AnnAssign():
                self._visit(node.value or ast.Pass())
            case ast.JoinedStr():
                pass
            case _:
                for child in ast.iter_child_nodes(node):
                    self._visit(child)

    def _sum(self, node: ast.BinOp) -> None:
        """A number for each different term but the first; a term that comes again stays as it is."""
        seen: set[str] = set()
        for term, operation in _terms(node):
            self._effort += _effort(term)
            if self._effort > EFFORT:
                raise ValueError("too deep to be tuned")
            text = _text(_with_factor(term))
            if text in seen:
                continue
            sign = self._sign(operation) if operation else None
            self._product(term, sign, wanted=sign is not None)
            seen.add(text)

    def _product(self, node: ast.expr, sign: "_Sign | None" = None, wanted: bool = True) -> None:
        """The first number among the factors, if one is ``wanted``; else, for the term behind a ``sign``, a
        factor to be written."""
        factors = _factors(node)
        numbers = [each for each in factors if _number(each) is not None]
        if wanted and numbers:
            self._note(numbers[0], sign)
        elif sign and _takes_factor(node):
            self.found[Place(sign.at + 1, sign.at + 1, sign.at)] = float(sign.value)
        for each in (*factors, *_divisors(node)):
            if _number(each) is None:
                self._visit(each)

    def _sign(self, operation: ast.BinOp) -> "_Sign | None":
        """The sign before the last term of a sum; None: it is not in the hole."""
        match = _SIGN.match(self.code, self._end(operation.left), self._start(operation.right))
        if match is None or match.start(1) not in self._hole:
            return None
        return _Sign(match.start(1), -1 if isinstance(operation.op, ast.Sub) else 1)

    def _note(self, node: ast.expr, sign: "_Sign | None" = None, base: bool = False) -> None:
        value, start = _number(node), self._start(node)
        if value is not None and LEAST <= abs(value) <= LARGEST and start in self._hole:
            place = Place(start, self._end(node), sign.at if sign else -1, base)
            self.found[place] = float(value * (sign.value if sign else 1))

    def _start(self, node: ast.expr) -> int:
        return self._lines[node.lineno - 1] + node.col_offset

    def _end(self, node: ast.expr) -> int:
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        return self._lines[node.end_lineno - 1] + node.end_col_offset


def _effort(node: ast.AST) -> int:
    """Nodes below and with ``node``, times their levels."""
    nodes, levels, layer = 0, 0, [node]
    while layer:
        nodes, levels = nodes + len(layer), levels + 1
        layer = [child for each in layer for child in ast.iter_child_nodes(each)]
    return nodes * levels


class _Sign(NamedTuple):
    """A + or - in the code, ``value`` +1 or -1."""

    at: int
    value: int


def _number(node: ast.AST) -> int | float | None:
    """The value of a number, which may have minus signs before it; None: ``node`` is none."""
    match node:
        case ast.Constant(value=int() | float() as value) if not isinstance(value, bool):
            return value
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            inner = _number(operand)
            return None if inner is None else -inner
    return None


def _terms(node: ast.expr) -> list[tuple[ast.expr, ast.BinOp | None]]:
    """The terms of a sum, each with the operation that adds or subtracts it."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Sub):
        return [*_terms(node.left), (node.right, node)]
    return [(node, None)]


def _factors(node: ast.expr) -> list[ast.expr]:
    """The factors of a product, without the signs of any but numbers."""
    match node:
        case ast.UnaryOp(op=ast.USub()) if _number(node) is None:
            return _factors(node.operand)
        case ast.BinOp(op=ast.Mult()):
            return [*_factors(node.left), *_factors(node.right)]
        case ast.BinOp(op=ast.Div()):
            return _factors(node.left)
    return [node]


def _divisors(node: ast.expr) -> list[ast.expr]:
    """What the factors of a product are divided by."""
    match node:
        case ast.UnaryOp(op=ast.USub()):
            return _divisors(node.operand)
        case ast.BinOp(op=ast.Mult()):
            return [*_divisors(node.left), *_divisors(node.right)]
        case ast.BinOp(op=ast.Div()):
            return [*_divisors(node.left), node.right]
    return []


def _takes_factor(term: ast.expr) -> bool:
    """Whether a factor written before a term multiplies all of it, and makes sense."""
    if isinstance(term, _NO_TERMS):
        return False
    while isinstance(term, ast.BinOp):
        if isinstance(term.op, ast.Mod | ast.FloorDiv | ast.MatMult):
            return False
        term = term.left
    return True


# --- structure --------------------------------------------------------------------------------------


def _text(node: ast.AST) -> str:
    """One text for all that differs in numbers alone, or in the order of terms and factors."""
    return ast.unparse(_Sorter().visit(copy.deepcopy(node)))


class _Sorter(ast.NodeTransformer):
    """Sums become their different terms in order, each with the factor 1, and products their factors in
    order, the numbers among them as one; numbers elsewhere become 1."""

    def visit_Constant(self, node: ast.Constant) -> ast.expr:
        return _ONE if isinstance(node.value, float) else node

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.expr:
        if isinstance(_number(node), float):
            return _ONE
        self.generic_visit(node)
        return node

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        if isinstance(node.op, ast.Add | ast.Sub):
            terms = [self.visit(_with_factor(term)) for term, _ in _terms(node)]
            different = {ast.unparse(term): term for term in terms}
            return _joined(ast.Add(), [different[text] for text in sorted(different)])
        if isinstance(node.op, ast.Mult | ast.Div):
            factors = [self.visit(each) for each in _factors(node) if _number(each) is None]
            divisors = [self.visit(each) for each in _divisors(node) if _number(each) is None]
            numbers = [_ONE] * any(_number(each) is not None for each in _factors(node))
            product = _joined(ast.Mult(), [*numbers, *sorted(factors, key=ast.unparse)])
            return _joined(ast.Div(), [product, *sorted(divisors, key=ast.unparse)])
        if isinstance(node.op, ast.Pow) and _number(node.left) is not None:
            node.left = _ONE
        self.generic_visit(node)
        return node


_ONE = ast.Constant(1.0)


def _with_factor(term: ast.expr) -> ast.expr:
    return ast.BinOp(_ONE, ast.Mult(), term)


def _joined(op: ast.operator, parts: Sequence[ast.expr]) -> ast.expr:
    return functools.reduce(lambda left, right: ast.BinOp(left, op, right), parts)
