"""The canonical form tells programs apart and sees through their looks."""

import ast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from operators import syntax
from operators.syntax import normalise

PLAIN = "def f(a, b):\n    c = a + b\n    d = c * 0.5\n    return d\n"


@pytest.mark.parametrize(
    "same",
    [
        "def f(a,b):\n  c=(a+b)\n  d=c*.5 # half\n  return d",
        'def f(a, b):\n    """Add."""\n    c = a + b\n\n    d = c * 5e-1\n    return d',
        "def f(a, b):\n    total = a + b\n    half = total * 0.5\n    return half",
        "def f(a: int, b: float) -> float:\n    d = a + b\n    c = d * 0.5\n    return c",
    ],
)
def test_looks_do_not_count(same: str) -> None:
    """Formatting, comments, docstrings, annotations and names of locals do not change the form."""
    assert normalise(same) == normalise(PLAIN)


@pytest.mark.parametrize(
    "other",
    [
        PLAIN.replace("0.5", "0.6"),
        PLAIN.replace("a + b", "b + a"),
        PLAIN.replace("return d", "return c"),
        PLAIN.replace("f(a, b)", "g(a, b)"),
        PLAIN.replace("    c = a + b", "    a = a + b\n    c = a"),
        PLAIN.replace("    c = a + b", "    global c\n    c = a + b"),
    ],
)
def test_other_programs_stay_apart(other: str) -> None:
    """Constants, order, results, names of functions and scopes do change it."""
    assert normalise(other) != normalise(PLAIN)


def test_swapped_roles_stay_apart() -> None:
    """Renaming is one to one: two locals never fall together."""
    one = "def f(a):\n    x = a\n    y = 1\n    return x - y"
    two = "def f(a):\n    x = a\n    y = 1\n    return y - x"
    assert normalise(one) != normalise(two)


@given(text=st.text(max_size=200))
@settings(deadline=None)
def test_any_text_has_a_form(text: str) -> None:
    """Nothing raises, and the form of the form is the form."""
    form = normalise(text)
    assert normalise(form) == form


NAMES = st.sampled_from(["a", "b", "c", "np", "x1"])
EXPRESSIONS = st.recursive(
    NAMES | st.floats(0, 9).map(str),
    lambda inner: st.tuples(inner, st.sampled_from(["+", "-", "*", "/", "<"]), inner).map(
        lambda parts: f"({parts[0]} {parts[1]} {parts[2]})"
    ),
    max_leaves=12,
)


@given(lines=st.lists(st.tuples(NAMES, EXPRESSIONS), min_size=1, max_size=6))
@settings(max_examples=100, deadline=None)
def test_the_form_is_python_and_stable(lines: list[tuple[str, str]]) -> None:
    """The form of readable code is readable, unchanged by a second pass and by reformatting."""
    code = (
        "def f(a):\n"
        + "".join(f"    {name} = {expression}\n" for name, expression in lines)
        + "    return a\n"
    )
    form = normalise(code)
    ast.parse(form)
    assert normalise(form) == form
    assert normalise(code.replace("    ", "\t")) == form


@pytest.mark.parametrize(
    "text", ["(" * 50_000, "1" + "+1" * 90_000, "-" * 90_000 + "1", "a" * 300_000, "\x00", "x=" + "9" * 9999]
)
def test_hostile_text_is_survived(text: str) -> None:
    """Deep nesting, huge texts, huge numbers and null bytes fall back to the text."""
    assert normalise(f"  {text}\n") == text


@pytest.mark.parametrize("kind", [MemoryError, SystemError])
def test_a_machine_without_memory_is_told_from_a_bad_text(
    kind: type[Exception], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the parser raises for both counts as the text's fault only where there is memory."""

    def giving_up(*_: object) -> None:
        raise kind("error return without exception set")

    monkeypatch.setattr(ast, "parse", giving_up)
    assert normalise(" x \n") == "x"
    monkeypatch.setattr(syntax, "_ROOM", 1 << 60)
    with pytest.raises(MemoryError):
        normalise("x")
