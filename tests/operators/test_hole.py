"""What the hole of a skeleton sees is read from the skeleton as Python would see it."""

import pytest

from operators.hole import Hole, hole_of
from problems.problem import Skeleton
from problems.registry import load, packaged

SUFFIX = "\n    return score\n"


def hole(prefix: str, suffix: str = SUFFIX) -> Hole:
    return hole_of(Skeleton(prefix, suffix, ""))


def test_names_are_those_that_have_a_value() -> None:
    """Arguments, variables and constants; not what is assigned by the statement itself or after it, nor what
    other functions, comprehensions and lambdas call their own."""
    found = hole(
        "LIMIT = 3\ndef other(x):\n    y = x\n    return y\n"
        "def f(a, *, b=1):\n    c = [d for d in a]\n    e = lambda g: g\n"
        "    for h in c:\n        i, j = h\n    score =",
        "\n    k = 1\n    return score\n",
    )
    assert found.names == ("LIMIT", "a", "b", "c", "e", "h", "i", "j")
    assert found.functions == (("other", 1),)


def test_a_variable_that_is_assigned_again_is_there() -> None:
    """``score = score + HOLE`` may name the score from before."""
    assert hole("def f(a):\n    score = a\n    score = score +").names == ("a", "score")


def test_a_hole_inside_of_other_statements() -> None:
    """The hole may stand in an argument, in a loop or in a nested function."""
    prefix = "def f(a):\n    def g(b):\n        if b:\n            score = min(b,"
    assert hole(prefix, ")\n            return score\n    return g(a)\n").names == ("a", "b")


def test_tables_and_their_indices_are_no_values() -> None:
    """What the skeleton only takes parts of, or only takes parts with, is offered in that form alone."""
    found = load("tsp").skeleton
    assert hole_of(found) == Hole(
        names=("home", "near", "rest"),
        tables=(("distance_matrix", 2),),
        indices=("current_node", "destination_node", "unvisited_nodes"),
        functions=(),
        modules=(("numpy", "np"),),
    )
    assert hole("def f(a, b):\n    c = a[b] + a.sum()\n    score =").names == ("a", "c")


def test_modules_by_the_names_they_have() -> None:
    """NumPy and math, where they are imported as modules."""
    found = hole("import math, os\nimport numpy as xp\nfrom numpy import sqrt\ndef f(a):\n    score =")
    assert found.modules == (("math", "math"), ("numpy", "xp"))


@pytest.mark.parametrize("name", packaged())
def test_names_of_packaged_skeletons_are_there_when_it_runs(name: str) -> None:
    """Every name that is offered is one that Python finds in the hole: local, argument or global."""
    skeleton = load(name).skeleton
    code = compile(f"{skeleton.prefix} 0{skeleton.suffix}", "skeleton", "exec")
    function = next(each for each in code.co_consts if hasattr(each, "co_varnames"))
    found = hole_of(skeleton)
    offered = {*found.names, *found.indices, *(table for table, _ in found.tables)}
    assert offered <= set(function.co_varnames)
    assert offered


def test_what_is_no_python_is_told() -> None:
    with pytest.raises(SyntaxError):
        hole("def f(a):\n    score = = ")
