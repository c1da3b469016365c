"""The low-rank step of each row in one pass over a layer's output, on CPU.

The same sums as in ``ahd.models.rows``. Made of torch operations they cost more than their arithmetic when a
batch has few rows, and write large temporary arrays when it has many.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from numba import carray, njit, types
from numba.extending import intrinsic

from ahd.es.noise import threads

_ROWS = 256
"""Rows of a piece of work; with fewer there is one piece."""
_SUMS = {"reassoc", "contract", "nsz"}
"""What the compiler may do to a dot product. Replies are rounded anyway; updates are made elsewhere."""


class Steps:
    """The factors of one layer, laid out for the kernels.

    They are used for every layer and token: so addresses go into the kernels, not arrays made of tensors,
    which took longer to make than the sums.

    Args:
        right: float32, shape (slots, pieces * rank, inputs).
        left: float32, shape (slots, rank, outputs).
        bounds: int64, shape (pieces + 1,): where the outputs of each piece begin, and the end.
        dtype: of the layer's input and output; ``supports`` it.
    """

    def __init__(
        self, right: torch.Tensor, left: torch.Tensor, bounds: Any, rank: int, dtype: torch.dtype
    ) -> None:
        self._factors = right.numpy(), left.numpy(), bounds, rank
        self._inputs, self._outputs = right.shape[2], left.shape[2]
        self._dtype = dtype
        self._kernel = _add_float32 if dtype is torch.float32 else _add_bfloat16

    def add(self, y: torch.Tensor, x: torch.Tensor, slots: Any) -> bool:
        """y[i] += sum over pieces p, terms k of (x[i] . right[s, p, k]) * left[s, k, own], where s = slots[i]
        and own are the outputs of p.

        Args:
            y: shape (rows, outputs), changed in place.
            x: shape (rows, inputs).
            slots: int64, shape (rows,), each below the number of slots; rows of slot 0 stay as they are.

        Returns:
            False: the tensors are not of that shape, format and layout, and nothing was done.
        """
        rows = len(slots)
        if y.shape != (rows, self._outputs) or x.shape != (rows, self._inputs):
            return False
        if y.dtype is not self._dtype or x.dtype is not self._dtype:
            return False
        if not (y.is_contiguous() and x.is_contiguous()):
            return False
        if rows <= _ROWS:
            self._kernel(y.data_ptr(), x.data_ptr(), slots, *self._factors)
        else:
            threads.run([self._piece(y, x, slots, low) for low in range(0, rows, _ROWS)])
        return True

    def _piece(self, y: torch.Tensor, x: torch.Tensor, slots: Any, low: int) -> Callable[[], float]:
        part = slice(low, low + _ROWS)
        outputs, inputs = y[part].data_ptr(), x[part].data_ptr()

        def work() -> float:
            self._kernel(outputs, inputs, slots[part], *self._factors)
            return 0.0

        return work


def supports(like: torch.Tensor) -> bool:
    """Whether the kernels can work on layers with weights such as this."""
    return like.device.type == "cpu" and like.dtype in (torch.float32, torch.bfloat16)


@intrinsic
def _pointer(_: Any, address: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        return builder.inttoptr(values[0], context.get_value_type(types.voidptr))

    return types.voidptr(address), generate


@intrinsic
def _widened(_: Any, bits: Any) -> Any:
    """The float32 that the bits of a bfloat16 stand for."""

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        word = context.get_value_type(types.uint32)
        wide = builder.shl(builder.zext(values[0], word), word(16))
        return builder.bitcast(wide, context.get_value_type(types.float32))

    return types.float32(types.uint16), generate


@intrinsic
def _rounded(_: Any, number: Any) -> Any:
    """The bits of the bfloat16 nearest to a float32, of two equally near ones the even one."""

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        word = context.get_value_type(types.uint32)
        bits = builder.bitcast(values[0], word)
        odd = builder.and_(builder.lshr(bits, word(16)), word(1))
        nearest = builder.add(builder.add(bits, word(0x7FFF)), odd)
        return builder.trunc(builder.lshr(nearest, word(16)), context.get_value_type(types.uint16))

    return types.uint16(types.float32), generate


@njit(nogil=True, cache=True, fastmath=_SUMS)
def _add_float32(y_at: int, x_at: int, slots: Any, right: Any, left: Any, bounds: Any, rank: int) -> None:
    y = carray(_pointer(y_at), (len(slots), left.shape[2]), np.float32)
    x = carray(_pointer(x_at), (len(slots), right.shape[2]), np.float32)
    for i in range(len(slots)):
        slot, row = slots[i], x[i]
        if slot == 0:
            continue
        for piece in range(len(bounds) - 1):
            out = y[i, bounds[piece] : bounds[piece + 1]]
            for term in range(rank):
                factor = right[slot, piece * rank + term]
                own = left[slot, term, bounds[piece] : bounds[piece + 1]]
                dot = np.float32(0.0)
                for j in range(len(row)):
                    dot += row[j] * factor[j]
                for j in range(len(out)):
                    out[j] += dot * own[j]


@njit(nogil=True, cache=True, fastmath=_SUMS)
def _add_bfloat16(y_at: int, x_at: int, slots: Any, right: Any, left: Any, bounds: Any, rank: int) -> None:
    """All terms but the last are added up in float32 first; each output is rounded once."""
    y = carray(_pointer(y_at), (len(slots), left.shape[2]), np.uint16)
    x = carray(_pointer(x_at), (len(slots), right.shape[2]), np.uint16)
    others = np.zeros(left.shape[2], np.float32)
    for i in range(len(slots)):
        slot, row = slots[i], x[i]
        if slot == 0:
            continue
        for piece in range(len(bounds) - 1):
            out, sums = y[i, bounds[piece] : bounds[piece + 1]], others[bounds[piece] : bounds[piece + 1]]
            if rank > 1:
                sums[:] = 0.0
            for term in range(rank):
                factor = right[slot, piece * rank + term]
                own = left[slot, term, bounds[piece] : bounds[piece + 1]]
                dot = np.float32(0.0)
                for j in range(len(row)):
                    dot += _widened(row[j]) * factor[j]
                if term < rank - 1:
                    for j in range(len(out)):
                        sums[j] += dot * own[j]
                elif rank > 1:
                    for j in range(len(out)):
                        out[j] = _rounded(_widened(out[j]) + sums[j] + dot * own[j])
                else:
                    for j in range(len(out)):
                        out[j] = _rounded(_widened(out[j]) + dot * own[j])
