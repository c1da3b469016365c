"""The numbers that tuning sets: which they are, and that setting them changes nothing else."""

import sys

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from operators import constants
from operators.constants import EFFORT, LONGEST, MOST, constants_of
from operators.parsing import completion_in, fill
from problems.tsp import problem

FEATURES = ("near", "home", "rest")
ARRAYS = {name: np.random.default_rng(number).uniform(0.1, 1.0, 8) for number, name in enumerate(FEATURES)}


def tuned(completion: str, *values: float) -> str:
    """The completion with its numbers written, or other ``values``."""
    found = constants_of(fill(problem, completion), problem)
    assert found is not None
    return completion_in(found.written(values or found.values), problem)


def structure(completion: str) -> str:
    found = constants_of(fill(problem, completion), problem)
    assert found is not None
    return found.structure


@pytest.mark.parametrize(
    ("completion", "written"),
    [
        ("near - rest", "near - 1.0 * rest"),
        ("near-rest", "near- 1.0 * rest"),
        ("near - 0.5 * rest + home / 2", "near - 0.5 * rest + 1.0 * home / 2"),
        ("near - rest * 2", "near - rest * 2.0"),
        ("near - -0.3 * rest", "near + 0.3 * rest"),
        ("near - (rest - home)", "near - 1.0 * (rest - 1.0 * home)"),
        (
            "near - (rest if near.max() > 0.3 else home)",
            "near - 1.0 * (rest if near.max() > 0.3 else home)",
        ),
        ("near - home + home * 0.2", "near - 1.0 * home + home * 0.2"),
        ("near ** 2 - rest ** 0.5", "near ** 2 - 1.0 * rest ** 0.5"),
        ("near * 2 * (1 + rest)", "near * 2.0 * (1 + 1.0 * rest)"),
        ("near - 3 ** home", "near - 1.0 * 3.0 ** home"),
        ("near - np.maximum(rest, 0.25)", "near - 1.0 * np.maximum(rest, 0.25)"),
        ("near - rest[: 3 - 1].max(axis=0)", "near - 1.0 * rest[: 3 - 1].max(axis=0)"),
        ("near - rest + 0.7", "near - 1.0 * rest + 0.7"),
    ],
)
def test_where_numbers_are(completion: str, written: str) -> None:
    """Every different term of a sum but the first has one; exponents, thresholds and factors count, counts do
    not. Written with the values they have, they are where they were."""
    assert tuned(completion) == written


@pytest.mark.parametrize(
    "completion",
    ["near", "near / home", "near - rest % 3", "near / (rest + 1e-9)", "near - 0.0 * rest", "near ** -1"]
    + [
        "near[1 + 2]",
        "near * np.zeros(5 * 2)",
        "near - True",
        "near +",
        "near - 0.5 * rest" + " + 0.5 * rest" * (LONGEST // 10),
    ]
    + ["near" + "".join(f" - rest ** {number}" for number in range(2, MOST + 4))],
)
def test_some_have_none(completion: str) -> None:
    """No arithmetic with numbers, guards against zero, more numbers than can be tuned, and broken code."""
    assert constants_of(fill(problem, completion), problem) is None


def test_a_sum_too_deep_to_walk_has_none() -> None:
    """Where Python's recursion ends, so does the search for numbers, without an exception."""
    code = fill(problem, f"near{' - home * 0.5 * rest' * 400}")
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(1000)
    try:
        assert constants_of(code, problem) is None
    finally:
        sys.setrecursionlimit(before)


def test_a_number_takes_its_sign_along() -> None:
    """Values below zero turn the sign before the term; the base of a power gets brackets."""
    assert tuned("near - 0.5 * rest + home", 0.25, -2) == "near + 0.25 * rest - 2.0 * home"
    assert tuned("near * 0.5 - 2 ** home", 1.5, -3) == "near * 0.5 + 1.5 * (-3.0) ** home"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("near - 0.5 * rest", "near + rest"),
        ("near - rest - home", "near + 0.3 * home - rest / 2"),
        ("near - home", "near - home + home * 0.2 - home"),
        ("near - home * rest", "near + 0.1 * rest * home"),
        ("near ** 0.5 - rest", "near ** -1.5 - rest"),
    ],
)
def test_structures_that_are_one(one: str, other: str) -> None:
    """Numbers, signs before terms, the order of terms and factors, and repeated terms do not count."""
    assert structure(one) == structure(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("near - rest", "near - home"),
        ("near - rest", "near - rest - home"),
        ("near - rest", "near - rest ** 2"),
        ("near - rest ** 2", "near - rest ** 3"),
        ("near - rest / home", "near - home / rest"),
    ],
)
def test_structures_that_are_two(one: str, other: str) -> None:
    """Features, terms, whole exponents and what is divided by what do count."""
    assert structure(one) != structure(other)


NUMBERS = st.floats(0.001, 999).map(lambda value: float(f"{value:.4g}"))
EXPRESSIONS = st.recursive(
    st.sampled_from(FEATURES) | NUMBERS.map(repr) | st.integers(1, 9).map(str),
    lambda part: st.one_of(
        st.tuples(part, st.sampled_from("+-*/"), part).map(" ".join),
        part.map("({})".format),
        part.map("-({})".format),
        part.map("np.abs({}) ** 0.5".format),
        part.map("np.maximum({}, 0.2)".format),
    ),
    max_leaves=12,
)


@settings(deadline=None)
@example("-(-(1.0))", [1.0] * MOST)
@given(EXPRESSIONS, st.lists(NUMBERS | NUMBERS.map(lambda value: -value), min_size=MOST, max_size=MOST))
def test_setting_numbers_changes_nothing_else(expression: str, values: list[float]) -> None:
    """Written with its own values, code computes what it did. Written with others, it has these, and the same
    structure."""
    completion = f"near - {expression}"
    constants = constants_of(fill(problem, completion), problem)
    if constants is None:
        return
    with np.errstate(all="ignore"):
        before, after = (eval(text, {"np": np} | ARRAYS) for text in (completion, tuned(completion)))
    assert np.allclose(before, after, rtol=1e-3, equal_nan=True) or not np.isfinite(before).all()
    wanted = tuple(values[: len(constants.values)])
    again = constants_of(constants.written(wanted), problem)
    assert again is not None
    assert again.structure == constants.structure
    assert again.values == wanted


@settings(deadline=None)
@given(st.text(max_size=60), st.text(max_size=60))
def test_any_text_is_read(before: str, after: str) -> None:
    """Hostile text has numbers or none, and never raises."""
    for completion in (before, f"near - {before} 0.5 {after}"):
        constants = constants_of(fill(problem, completion), problem)
        assert constants is None or constants.written(constants.values)


def test_a_whole_function() -> None:
    """In free style, numbers are set where they stand: comments, docstrings, indices and loops stay."""
    code = '''\
import numpy as np

SCALE = 0.4


def select_next_node(current_node, destination_node, unvisited_nodes, distance_matrix):
    """Weigh 3 things, in Köln by 0.5."""
    near = distance_matrix[current_node, unvisited_nodes]  # 2 * x
    total = 0.0
    for k in range(len(near) - 1):
        total += SCALE * near[k + 1]
    score = (near
             # 0.3 less
             - total / len(near))
    return unvisited_nodes[np.argmin(score)]
'''
    constants = constants_of(code, problem)
    assert constants is not None
    assert constants.values == (0.4, -1.0)
    expected = code.replace("0.4", "0.75").replace("- total", "+ 2.0 * total")
    assert constants.written([0.75, 2.0]) == expected


@pytest.mark.parametrize(
    ("completion", "values", "written"),
    [
        ("near if home.sum()else.5 * rest", (), "near if home.sum()else 0.5 * rest"),
        ("near * (home.any()and.5)", (), "near * (home.any()and 0.5)"),
        ("near if home.any()else-0.5 * rest", (0.7,), "near if home.any()else 0.7 * rest"),
        ("near * (home.any()or-0.25)", (3.0,), "near * (home.any()or 3.0)"),
    ],
)
def test_words_that_touch_numbers_stay_words(
    completion: str, values: tuple[float, ...], written: str
) -> None:
    """A space is put between where there would be none."""
    assert tuned(completion, *values) == written


@pytest.mark.parametrize("depth", [5, 60, 400])
@pytest.mark.parametrize("parts", [("near / (near - ", "home", ")"), ("near - (", "home", ")")])
def test_brackets_within_brackets_take_little_effort(
    depth: int, parts: tuple[str, str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """However deep, the nodes of the terms that are compared stay under a bound."""
    compared = []
    text = constants._text
    monkeypatch.setattr(
        constants, "_text", lambda node: (compared.append(constants._effort(node)), text(node))[1]
    )
    first, middle, last = parts
    found = constants_of(fill(problem, first * depth + middle + last * depth), problem)
    assert (found is None) == (depth > 12)
    assert sum(compared) <= 4 * EFFORT
