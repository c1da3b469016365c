"""Traits tell what a heuristic is made of, and nothing that is written makes them fail."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ahd.insights.traits import HOLE, LONGEST, traits


def of(completion: str) -> dict[str, tuple[float, ...]]:
    return dict(traits(f"def f(near, home):\n    score = {completion}\n    return score\n"))


@pytest.mark.parametrize(
    ("completion", "trait", "numbers"),
    [
        ("near - 0.5 * home", "- {} * home", (0.5,)),
        ("near - home * 0.5", "- {} * home", (0.5,)),
        ("near - home / 2", "- {} * home", (0.5,)),
        ("near + (home - rest)", "- {} * rest", (1.0,)),
        ("near - (home - rest)", "+ {} * rest", (1.0,)),
        ("-(2 * near) + home", "- {} * near", (2.0,)),
        ("near - 0.5 * (home - 2 * rest)", "- {} * (home - {} * rest)", (0.5, 2.0)),
        ("near - home ** 2", "home ** {}", (2.0,)),
        ("0.5 * near / (home + 1)", "+ {} * near / (home + {})", (0.5, 1.0)),
        ("near / (home + 1)", "/ (home + {})", (1.0,)),
        ("np.sqrt(near)", "np.sqrt()", ()),
        ("near if home > 1 else 0", "an if", ()),
    ],
)
def test_traits_are_those_of_the_formula(completion: str, trait: str, numbers: tuple[float, ...]) -> None:
    """Signs go through brackets, numbers that multiply a term come to its front, others stay in place."""
    assert of(completion)[trait] == pytest.approx(numbers)


def test_a_step_that_subtracts_is_a_term() -> None:
    """``score -= home`` is ``- home``, as it would be in one formula."""
    assert traits("def f(a):\n    a -= 3 * b\n    return a")["- {} * b"] == (3.0,)


HOSTILE = [
    "",
    "def f(:",
    "\0",
    "x = " + "-" * 3000 + "1",
    "x = " + "a - " * 3000 + "a",
    "x = " + "2 * " * 3000 + "a",
    "x = a" + " ** 2" * 3000,
    "x = a" + ".b" * 3000 + "()",
    "x = " + "9" * 5000 + " * a",
    "x = 1e999 * a - a / 1e-320",
    "x = {} - {} ** {'{}': 1}",
    "x = '{}' - a ** '{}'",
    "x = a / '" + "b" * 90_000 + "'",
    "_ = _ - 2 * _ ** _",
]


@pytest.mark.parametrize("code", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_code_has_short_traits_or_none(code: str) -> None:
    """Whatever is written: an answer, of bounded length, with as many numbers as holes."""
    for trait, numbers in traits(code).items():
        assert len(trait) <= LONGEST
        assert trait.count(HOLE) == len(numbers)


@given(st.text(st.sampled_from("ab.+-*/() 012={}'\n,[]"), max_size=40))
def test_any_formula_has_an_answer(text: str) -> None:
    """No text of formulas makes the reading fail."""
    assert all(trait.count(HOLE) == len(numbers) for trait, numbers in of(text).items())
