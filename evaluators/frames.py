"""What a candidate's process sends back, as bytes. Nothing here unpickles.

Layout: magic (4), kind (1), payload length (uint64, little endian), payload. The payload of *decisions*, or
of an *answer* to one call, is dtype (1: ``i`` int64 or ``f`` float64, in answers also ``b`` bool), number
of axes (1), the shape (uint64 each) and the raw numbers. That of an *error* is the status padded to 20 bytes
and UTF-8 text.
"""

import math
import struct
from collections.abc import Mapping
from typing import Any

import numpy as np

from evaluators.outcome import Status

MAX_FRAME = 64 << 20
"""Most bytes a frame may have."""
MAX_TEXT = 500
"""Most characters of text taken from a candidate."""

_HEADER = struct.Struct("<4scQ")
HEADER_SIZE = _HEADER.size
_MAGIC = b"AHD1"
_DECISIONS = {b"i": np.dtype("<i8"), b"f": np.dtype("<f8")}
_ANSWERS = _DECISIONS | {b"b": np.dtype("u1")}


class BadFrame(ValueError):
    """The bytes are not a frame."""


def clean(text: str) -> str:
    """Make text from a candidate safe to show: printable, one line, at most ``MAX_TEXT`` characters."""
    text = text[: 4 * MAX_TEXT]
    text = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    return text if len(text) <= MAX_TEXT else text[: MAX_TEXT - 1] + "…"


def one_line(error: BaseException) -> str:
    """Type and message of ``error``, safe to show, whatever its ``__str__`` does."""
    try:
        message = clean(str(error))
    except Exception:
        message = "?"
    return clean(f"{type(error).__name__}: {message}" if message else type(error).__name__)


def encode_decisions(decisions: np.ndarray) -> bytes:
    """Frame an int64 or float64 array of any shape.

    Raises:
        TypeError: any other dtype.
        ValueError: larger than ``MAX_FRAME``.
    """
    code = {"i": b"i", "f": b"f"}.get(decisions.dtype.kind)
    if code is None or decisions.dtype.itemsize != 8:
        raise TypeError(f"decisions have to be int64 or float64, not {decisions.dtype}")
    return _encode(b"D", code, decisions)


def encode_answer(answer: np.ndarray) -> bytes:
    """Frame an int64, float64 or bool array of any shape.

    Raises:
        ValueError: larger than ``MAX_FRAME``.
    """
    return _encode(b"A", answer.dtype.kind.encode(), answer)


def _encode(kind: bytes, code: bytes, array: np.ndarray) -> bytes:
    payload = code + struct.pack(f"<B{array.ndim}Q", array.ndim, *array.shape) + array.tobytes()
    if len(payload) > MAX_FRAME - HEADER_SIZE:
        raise ValueError(f"numbers of {len(payload)} bytes are too large")
    return _HEADER.pack(_MAGIC, kind, len(payload)) + payload


def encode_error(status: Status, text: str) -> bytes:
    """Frame a failure."""
    payload = status.value.encode().ljust(20) + clean(text).encode("utf-8", "replace")
    return _HEADER.pack(_MAGIC, b"E", len(payload)) + payload


def payload_size(header: bytes) -> int:
    """Bytes that follow a header of ``HEADER_SIZE`` bytes.

    Raises:
        BadFrame: not a header, or the payload would be too large.
    """
    magic, _, size = _HEADER.unpack(header)
    if magic != _MAGIC:
        raise BadFrame("the result is not a frame")
    if size > MAX_FRAME - HEADER_SIZE:
        raise BadFrame(f"the result is too large ({size} bytes)")
    return int(size)


def decode(frame: bytes) -> np.ndarray | tuple[Status, str]:
    """Read a frame, which may be forged: decisions (read-only, finite or not), or status and text.

    Raises:
        BadFrame: the bytes are not exactly one well-formed frame.
    """
    if len(frame) < HEADER_SIZE or payload_size(frame[:HEADER_SIZE]) != len(frame) - HEADER_SIZE:
        raise BadFrame("the result is not a whole frame")
    kind, payload = frame[4:5], frame[HEADER_SIZE:]
    if kind == b"E":
        try:
            status = Status(payload[:20].rstrip().decode())
        except ValueError:
            raise BadFrame("the result has an unknown status") from None
        if status is Status.OK:
            raise BadFrame("the result has an unknown status")
        return status, clean(payload[20:].decode("utf-8", "replace"))
    if kind != b"D":
        raise BadFrame("the result has an unknown kind")
    return _numbers(payload, _DECISIONS)


def is_error(frame: bytes) -> bool:
    """Whether a whole frame tells of a failure."""
    return frame[4:5] == b"E"


def decode_answer(frame: bytes) -> np.ndarray:
    """The array of an answer, from a whole frame, which may be forged.

    Raises:
        BadFrame: it is no answer.
    """
    if frame[4:5] != b"A":
        raise BadFrame("the result is no answer to a call")
    array = _numbers(frame[HEADER_SIZE:], _ANSWERS)
    return array != 0 if array.dtype == np.uint8 else array


def _numbers(payload: bytes, dtypes: Mapping[bytes, np.dtype[Any]]) -> np.ndarray:
    if len(payload) < 2 or payload[:1] not in dtypes:
        raise BadFrame("the result has an unknown kind")
    dtype, axes = dtypes[payload[:1]], payload[1]
    start = 2 + 8 * axes
    if len(payload) < start:
        raise BadFrame("the result has no shape")
    shape = struct.unpack_from(f"<{axes}Q", payload, 2)
    if math.prod(shape) * dtype.itemsize != len(payload) - start:
        raise BadFrame("the result's shape does not fit its size")
    try:
        return np.frombuffer(payload, dtype=dtype, offset=start).reshape(shape)
    except ValueError:
        raise BadFrame("the result's shape is impossible") from None
