"""What a reply may be that fills the hole of a skeleton, as a grammar for the engine's structured decoding.

The form is that of llguidance, a dialect of Lark. Everything is one regular expression: the depth of brackets
is bounded, and so is the length of the reply in characters. Near its end only what closes the brackets is
left, so a reply that may have as many tokens as characters is never cut in the middle.
"""

import json
from collections.abc import Iterable
from functools import cache

from operators.hole import Hole, hole_of
from operators.syntax import UNPARSABLE, parse
from problems.problem import Skeleton

LONGEST = 128
"""Characters, and so most tokens, of a reply unless the run says otherwise."""
DEPTH = 4
"""Brackets inside of brackets."""

_REDUCING = "max mean median min std sum var"
_ARRAYS = {
    1: "abs arctan argsort ceil cos cumsum exp expm1 floor log log10 log1p log2 ones_like reciprocal round "
    f"sign sin sqrt square tanh zeros_like {_REDUCING}",
    2: "arctan2 fmod hypot maximum minimum power",
    3: "clip where",
}
_NUMBERS = {
    1: "atan ceil cos exp expm1 fabs floor log log10 log1p log2 sin sqrt tanh",
    2: "atan2 fmod hypot pow",
}
_OF_ARRAYS = {1: "abs max min sum"}
_OF_NUMBERS = {1: "abs", 2: "max min"}
"""Python's own functions: of an array, and of numbers where there is no NumPy."""
_METHODS = "max mean min std sum"


class NoGrammar(ValueError):
    """The skeleton cannot be described. The message is one line with the mend."""


@cache
def reply_grammar(skeleton: Skeleton, stop: tuple[str, ...], longest: int = LONGEST) -> str:
    """The replies that go on after the skeleton's lead, and how they end.

    A reply completes one expression of the names that the hole sees: numbers, arithmetic, functions of the
    modules that it imports, one comparison in a pair of brackets. Then it may end, or go on with one of the
    strings ``stop``, where generation is stopped. No random numbers, no attributes but a few methods of
    arrays, no subscripts but those of the skeleton's own kind.

    Args:
        longest: characters of a reply with its stop string, at least 2.

    Raises:
        NoGrammar: the skeleton is no Python with a number in its hole, or the lead ends in an open bracket.
    """
    try:
        hole = hole_of(skeleton)
    except UNPARSABLE as error:
        raise NoGrammar(f"`skeleton` with a number in its hole is no Python ({error})") from None
    rest = _rest(skeleton)
    lines = [
        "%llguidance {}",  # for this library alone: others read the language in other ways
        "start: REPLY",
        f"REPLY: (REST STOP?) & /(?s:.{{0,{longest}}})/",
        f"REST: {rest}",
        f"STOP: ({_any(stop)}) /(?s:.*)/",
        r"OPERATOR: / ?(\*\*|\/\/|[-+*\/%]) ?/",
        r"COMPARISON: / ?([<>]=?|==|!=) ?/",
        r"COMMA: /, ?/",
        r"NUMBER: /(0|[1-9][0-9]{0,5})(\.[0-9]{1,6})?(e-?[1-9][0-9]?)?/",
        *_atoms(hole),
    ]
    calls = dict(_calls(hole))
    lines += [f'CALL{count}: ({_any(names)}) "("' for count, names in calls.items()]
    for depth in range(DEPTH + 1):
        inner = f"EXPRESSION{depth - 1}"
        brackets = [f'"(" {inner} ")"']
        brackets += [f'CALL{count} {" COMMA ".join([inner] * count)} ")"' for count in calls]
        lines += [
            f'OPERAND{depth}: "-"? ({" | ".join(["ATOM", *brackets] if depth else ["ATOM"])})',
            f"SUM{depth}: OPERAND{depth} (OPERATOR OPERAND{depth})*",
            f"EXPRESSION{depth}: SUM{depth} (COMPARISON SUM{depth})?",
        ]
    return "\n".join(lines)


def _rest(skeleton: Skeleton) -> str:
    """What follows the lead: more of its expression where it is a whole one, else one of its own."""
    if _fills(skeleton, skeleton.lead):
        return f"(OPERATOR OPERAND{DEPTH})* (COMPARISON SUM{DEPTH})?"
    if _fills(skeleton, f"{skeleton.lead} 0"):
        space = '" "' if skeleton.lead[-1:].isalpha() else '" "?'
        return f"{space} EXPRESSION{DEPTH}"
    raise NoGrammar(
        f"`skeleton.lead` is {skeleton.lead!r}, which an expression cannot follow: "
        "give one without open brackets, or none"
    )


def _fills(skeleton: Skeleton, completion: str) -> bool:
    try:
        parse(f"{skeleton.prefix} {completion}{skeleton.suffix}")
    except UNPARSABLE:
        return False
    return True


def _atoms(hole: Hole) -> list[str]:
    """Definitions of ``ATOM``: what has no brackets of an expression's own."""
    # Other names may take more tokens than they have characters.
    names = [json.dumps(name) for name in hole.names if name.isascii()]
    tables = [
        f'{json.dumps(name)} "[" {" COMMA ".join(["INDEX"] * count)} "]"' for name, count in hole.tables
    ]
    lines = [f"INDEX: {_any(hole.indices)}"] if tables else []
    if not names and not tables:
        return ["ATOM: NUMBER"]
    lines.append(f"VALUE: {' | '.join([*names, *tables])}")
    if "numpy" not in dict(hole.modules):
        return [*lines, "ATOM: NUMBER | VALUE"]
    return [*lines, f'METHOD: "." ({_any(_METHODS.split())}) "()"', "ATOM: NUMBER | VALUE METHOD?"]


def _calls(hole: Hole) -> Iterable[tuple[int, list[str]]]:
    """Functions by the number of their arguments."""
    modules = dict(hole.modules)
    tables = [(_OF_ARRAYS if "numpy" in modules else _OF_NUMBERS, "")]
    tables += [
        (table, f"{modules[module]}.")
        for module, table in (("numpy", _ARRAYS), ("math", _NUMBERS))
        if module in modules
    ]
    for count in sorted({needed for _, needed in hole.functions} | {1, 2, 3}):
        names = [prefix + name for table, prefix in tables for name in table.get(count, "").split()]
        names += [name for name, needed in hole.functions if needed == count]
        if names:
            yield count, names


def _any(texts: Iterable[str]) -> str:
    return " | ".join(map(json.dumps, texts))
