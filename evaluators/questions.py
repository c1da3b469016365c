"""What a trusted loop asks a candidate in another process, call by call, and what comes back.

A question goes to the candidate, an answer comes from it, over one stream. Only the candidate's side reads
with ``marshal``, which must not be given hostile bytes; answers are frames, checked as all frames are.
"""

import marshal
import os
import struct
from typing import Any

import numpy as np

from evaluators import frames
from evaluators.outcome import InvalidSolution

_SIZE = struct.Struct("<I")
_BLOCK = 1 << 18
_KINDS: dict[str, type[np.generic]] = {"b": np.bool_, "i": np.int64, "u": np.int64, "f": np.float64}


class Closed(Exception):
    """The other side has ended, in the middle of something or not."""

    def __init__(self, midway: bool) -> None:
        super().__init__("the other side has ended")
        self.midway = midway


class Stream:
    """Reads whole messages from a descriptor; what comes too early is kept for the next one."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._ahead = b""

    def read(self, count: int) -> bytes:
        """The next ``count`` bytes.

        Raises:
            Closed: there are not so many.
        """
        got = self._ahead
        if len(got) < count:
            blocks, size = [got], len(got)
            while size < count:
                try:
                    block = os.read(self._descriptor, _BLOCK)
                except ConnectionError:
                    block = b""
                if not block:
                    raise Closed(size > 0)
                blocks.append(block)
                size += len(block)
            got = b"".join(blocks)
        self._ahead = got[count:]
        return got[:count]

    def rest(self) -> bytes:
        """All that comes until the other side ends."""
        blocks = [self._ahead]
        while blocks[-1] or len(blocks) == 1:
            blocks.append(os.read(self._descriptor, _BLOCK))
        return b"".join(blocks)


_SAME = ...
"""Stands for an argument that cannot change and is that of the call before."""


class Asking:
    """Makes the bytes of calls: plain numbers and arrays, and whether the random state starts anew before."""

    def __init__(self) -> None:
        self._before: tuple[Any, ...] = ()

    def pack(self, arguments: tuple[Any, ...], restart: bool) -> bytes:
        """One call. A read-only array has to be one that nobody can change: ``decisions.immutable``.

        Raises:
            ValueError: an argument is something else than numbers, arrays of numbers and lists of these.
        """
        before = self._before if len(self._before) == len(arguments) else (None,) * len(arguments)
        self._before = arguments
        return marshal.dumps((restart, list(map(_packed, arguments, before))))


def _packed(argument: Any, before: Any) -> Any:
    if isinstance(argument, np.generic):
        return argument.item()
    if isinstance(argument, list):
        return list(map(_packed, argument, argument))
    if not isinstance(argument, np.ndarray):
        if not isinstance(argument, (int, float)):
            raise ValueError(
                f"a {type(argument).__name__}: give numbers, arrays of numbers or lists of these"
            )
        return argument
    if argument.dtype.kind not in "biufc":
        raise ValueError(f"an array of {argument.dtype}: give numbers")
    if argument is before and not argument.flags.writeable:
        return _SAME
    return argument.dtype.str, argument.shape, argument.flags.writeable, argument.tobytes()


def sized(question: bytes) -> bytes:
    """What an ``Asking`` has packed, as ``receive`` reads it."""
    return _SIZE.pack(len(question)) + question


def receive(stream: Stream) -> bytes:
    """What was packed.

    Raises:
        Closed: there are no more questions.
    """
    (size,) = _SIZE.unpack(stream.read(_SIZE.size))
    return stream.read(size)


class Answering:
    """Reads what an ``Asking`` has packed."""

    def __init__(self) -> None:
        self._before: list[Any] = []

    def unpack(self, question: bytes) -> tuple[bool, list[Any]]:
        """Whether to start the random state anew, and the arguments of the call: fresh arrays, but of those
        that the loop gave read-only, which cannot be made writable, the ones of the call before where they
        are the same.
        """
        restart, packed = marshal.loads(question)
        arguments = [self._unpacked(number, each) for number, each in enumerate(packed)]
        self._before = arguments
        return restart, arguments

    def _unpacked(self, number: int, packed: Any) -> Any:
        if packed is _SAME:
            return self._before[number]
        if type(packed) is list:
            return [self._unpacked(number, each) for each in packed]
        if type(packed) is not tuple:
            return packed
        kind, shape, writable, data = packed
        return np.frombuffer(bytearray(data) if writable else data, dtype=kind).reshape(shape)


def read_frame(stream: Stream) -> bytes:
    """The next frame, which may be forged.

    Raises:
        Closed: there is no further one.
        BadFrame: it is none.
    """
    header = stream.read(frames.HEADER_SIZE)
    size = frames.payload_size(header)
    try:
        return header + stream.read(size)
    except Closed:
        raise Closed(midway=True) from None


def answer(value: Any) -> bytes:
    """The frame of what a candidate returned: a number or an array of numbers, of any shape.

    Raises:
        InvalidSolution: it is neither, or an integer is beyond 64 bits.
    """
    if isinstance(value, np.ma.core.MaskedConstant):
        raise InvalidSolution("returned masked, which is no number")
    try:
        array = np.asarray(value)
    except ValueError:
        raise InvalidSolution("the result is no array") from None
    kind = array.dtype.kind
    if kind not in _KINDS or (kind == "u" and array.size and array.max() >= 1 << 63):
        raise InvalidSolution(f"returned {type(value).__name__} of {array.dtype}, not numbers of 64 bits")
    return frames.encode_answer(array.astype(_KINDS[kind], copy=False))
