"""Training instances can be drawn afresh, as the published ones were drawn."""

import hashlib

import numpy as np
import pytest

from problems import registry

WITH_OTHERS = [name for name in registry.packaged() if name != "admissible-set"]


@pytest.mark.parametrize("name", WITH_OTHERS)
def test_fresh_instances_are_others_of_the_same_kind(name: str) -> None:
    """The same shape and dtype, other numbers of about the same mean, read-only; a seed gives them again."""
    problem = registry.load(name)
    assert problem.redraw is not None
    size = problem.sizes["train"][0]
    published = problem.instances("train", size)
    fresh, again, other = (problem.redraw(seed, "train", size) for seed in (7, 7, 8))
    assert (fresh.shape, fresh.dtype) == (published.shape, published.dtype)
    assert fresh.mean() == pytest.approx(published.mean(), rel=0.1)
    assert not fresh.flags.writeable
    np.testing.assert_array_equal(fresh, again)
    assert len({array.tobytes() for array in (published, fresh, other)}) == 3
    assert (fresh != published).any(axis=tuple(range(1, fresh.ndim))).all(), "every single instance"


@pytest.mark.parametrize("name", WITH_OTHERS)
def test_drawing_afresh_leaves_the_published_instances_alone(name: str) -> None:
    """Their bytes before and after, and sizes that are not offered are refused."""
    problem = registry.load(name)
    assert problem.redraw is not None
    before = _hash(problem.instances("test", problem.sizes["test"][0]))
    problem.redraw(3, "test", problem.sizes["test"][0])
    assert _hash(problem.instances("test", problem.sizes["test"][0])) == before
    with pytest.raises(ValueError, match=name):
        problem.redraw(3, "train", 7)


def test_what_has_no_other_instances_says_so() -> None:
    """There is one admissible set problem of a dimension and weight."""
    assert registry.load("admissible-set").redraw is None


def _hash(array: np.ndarray) -> str:
    return hashlib.sha256(array.tobytes()).hexdigest()
