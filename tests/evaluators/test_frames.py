"""Frames: whatever bytes come, they are a result or a ``BadFrame``."""

import contextlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluators import frames
from evaluators.outcome import Status

SHAPES = st.lists(st.integers(0, 4), max_size=3).map(tuple)


@given(SHAPES, st.sampled_from([np.int64, np.float64]))
def test_decisions_come_back_as_they_were(shape: tuple[int, ...], dtype: type) -> None:
    """Shape, dtype and numbers survive, non-finite ones too, and the result is read-only."""
    array: np.ndarray = np.random.RandomState(0).standard_normal(shape).astype(dtype)
    if dtype is np.float64 and array.size:
        array.flat[0] = np.nan
    back = frames.decode(frames.encode_decisions(array))
    assert isinstance(back, np.ndarray)
    np.testing.assert_array_equal(back, array)
    assert back.dtype == dtype
    assert not back.flags.writeable


@given(st.sampled_from([status for status in Status if status is not Status.OK]), st.text(max_size=2000))
def test_errors_come_back_cleaned(status: Status, text: str) -> None:
    """Status and text survive; the text is one printable line of at most 500 characters."""
    back = frames.decode(frames.encode_error(status, text))
    assert isinstance(back, tuple)
    assert back == (status, frames.clean(text))
    assert len(back[1]) <= 500
    assert not back[1] or back[1].isprintable()


@given(st.binary(max_size=80))
def test_noise_is_a_bad_frame(noise: bytes) -> None:
    """Bytes that are no frame raise ``BadFrame`` and nothing else."""
    with pytest.raises(frames.BadFrame):
        frames.decode(noise)


@given(st.data())
def test_damaged_frames_never_surprise(data: st.DataObject) -> None:
    """A whole frame with one byte changed still decodes, or is a ``BadFrame``."""
    whole = data.draw(
        st.sampled_from(
            [frames.encode_decisions(np.arange(6).reshape(2, 3)), frames.encode_error(Status.TIMEOUT, "late")]
        )
    )
    damaged = bytearray(whole)
    damaged[data.draw(st.integers(0, len(whole) - 1))] = data.draw(st.integers(0, 255))
    with contextlib.suppress(frames.BadFrame):
        frames.decode(bytes(damaged))


def test_an_error_frame_cannot_say_ok() -> None:
    """Only decisions can lead to an objective."""
    with pytest.raises(frames.BadFrame):
        frames.decode(frames.encode_error(Status.OK, ""))


@pytest.mark.parametrize(
    "array", [np.zeros(3, np.float32), np.array(["a"]), np.array([None]), np.zeros(2, bool)]
)
def test_only_int64_and_float64_are_framed(array: np.ndarray) -> None:
    """Other dtypes are refused on the sending side."""
    with pytest.raises(TypeError):
        frames.encode_decisions(array)
