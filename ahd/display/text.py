"""Turning figures and untrusted text into short printable strings."""

import ast
import sys
import unicodedata
from functools import lru_cache

_SPACED = {"Zl", "Zp", "Zs"}
_DROPPED = {"Cc", "Cf", "Cs", "Co", "Cn", "Mn", "Me"}


def complain(message: object) -> None:
    """One line on standard error, without what a terminal would obey."""
    print(f"ahd: {clean(str(message), 2000)}", file=sys.stderr)


def clean(text: str, limit: int = 500) -> str:
    """One line of ``text`` without control, bidirectional, combining or unassigned characters.

    Runs of white space (line ends too) become one space; longer text ends in an ellipsis.
    """
    text = " ".join(text[: 8 * limit].split())
    if not text.isascii() or not text.isprintable():
        kinds = ((char, unicodedata.category(char)) for char in text)
        text = "".join(" " if kind in _SPACED else char for char, kind in kinds if kind not in _DROPPED)
    return text if len(text) <= limit else text[: limit - 1] + "…"


def clean_block(text: str) -> str:
    """``text`` line by line without control characters; line ends stay, tabs become four spaces."""
    text = text.replace("\t", "    ")
    return "\n".join("".join(filter(str.isprintable, line)) for line in text.split("\n"))


@lru_cache(maxsize=512)
def snippet(code: str, limit: int = 200) -> str:
    """The telling part of a heuristic: its last statement before the return, of an assignment the value.

    Skeleton completions fill exactly that place. Text without a function (a completion) comes whole.
    """
    try:
        body = next(node.body for node in reversed(ast.parse(code).body) if isinstance(node, ast.FunctionDef))
    except (SyntaxError, ValueError, RecursionError, MemoryError, StopIteration):
        return clean(code, limit)
    told: ast.AST = body[-1]
    for node in reversed(body):
        if not isinstance(node, ast.Return | ast.Expr):
            told = node
            break
    if isinstance(told, ast.Assign | ast.AnnAssign | ast.Return):
        told = told.value or told
    return clean(ast.get_source_segment(code, told) or code, limit)


def duration(seconds: float) -> str:
    """``0:07``, ``12:34``, ``2:03:04``."""
    whole = max(0, int(seconds))
    hours, minutes, rest = whole // 3600, whole // 60 % 60, whole % 60
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def percent(share: float, decimals: int = 1) -> str:
    """``share`` in percent; one too small for the decimals with one digit that is not 0."""
    if 0 < share < 0.5 * 10 ** -(decimals + 2):
        return f"{100 * share:.1g}%"
    return f"{100 * share:.{decimals}f}%"


def signed_percent(share: float | None, decimals: int = 2) -> str:
    return "" if share is None else f"{100 * share:+.{decimals}f}%"


def count(number: float) -> str:
    """``950``, ``134.5M``, ``8.0B``."""
    for scale, unit in ((1e9, "B"), (1e6, "M"), (1e3, "k")):
        if abs(number) >= scale:
            return f"{number / scale:.1f}{unit}"
    return f"{number:.0f}"


def rate(number: float | None) -> str:
    """A rate with about three digits, ``-`` when unknown."""
    if number is None:
        return "-"
    return f"{number:,.0f}" if number >= 100 else f"{number:.1f}" if number >= 1 else f"{number:.2f}"
