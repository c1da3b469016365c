"""What counts as an integer, and inputs that cannot be changed."""

from typing import Any

import numpy as np
import pytest

from evaluators.decisions import as_integer, immutable
from evaluators.outcome import InvalidSolution, NonFinite


@pytest.mark.parametrize(
    "value",
    [3, np.int64(3), np.uint8(3), np.array(3), 3.0, np.float32(3), np.array(3.0), np.array(3, np.int16)],
)
def test_lossless_integers_are_accepted(value: Any) -> None:
    """Everything that equals 3 without loss is the int 3."""
    result = as_integer(value)
    assert result == 3
    assert type(result) is int


@pytest.mark.parametrize(
    "value",
    [
        True,
        np.True_,
        "3",
        None,
        3.5,
        [3],
        np.array([3]),
        np.array(True),
        3 + 0j,
        2**63,
        -(2**63) - 1,
        1e300,
        b"3",
    ],
)
def test_anything_else_is_invalid(value: Any) -> None:
    """Nothing is rounded, indexed or cast."""
    with pytest.raises(InvalidSolution):
        as_integer(value)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), np.float32("-inf"), np.array(np.nan)])
def test_nonfinite_numbers_have_their_own_type(value: Any) -> None:
    """NaN and infinities are ``NonFinite``."""
    with pytest.raises(NonFinite):
        as_integer(value)


def test_immutable_arrays_cannot_be_unlocked() -> None:
    """Neither the copy nor its base can be made writable, and the original is not shared."""
    original = np.arange(6.0).reshape(2, 3)
    copy = immutable(original)
    np.testing.assert_array_equal(copy, original)
    assert not np.shares_memory(copy, original)
    for array in (copy, copy.base):
        if isinstance(array, np.ndarray):
            with pytest.raises(ValueError, match="WRITEABLE"):
                array.setflags(write=True)
