"""The low-rank step of each row in one pass over a layer's output, on CPU.

The same sums as in ``ahd.models.rows``. Made of torch operations they cost more than their arithmetic when a
batch has few rows, and write large temporary arrays when it has many.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from numba import njit

from ahd.es.noise import threads

_ROWS = 256
"""Rows of a piece of work; with fewer there is one piece."""
_SUMS = {"reassoc", "contract", "nsz"}
"""What the compiler may do to a dot product. Replies are rounded anyway; updates are made elsewhere."""


def supports(y: torch.Tensor) -> bool:
    """Whether these kernels can work on a layer's output."""
    return y.device.type == "cpu" and y.dtype in (torch.float32, torch.bfloat16) and y.is_contiguous()


def add_steps(
    y: torch.Tensor, x: torch.Tensor, slots: Any, right: Any, left: Any, bounds: Any, rank: int
) -> None:
    """y[i] += sum over pieces p, terms k of (x[i] . right[s, p, k]) * left[s, k, outputs of p], s = slots[i].

    Args:
        y: shape (rows, outputs), float32 or bfloat16, changed in place.
        x: shape (rows, inputs), the same format.
        slots: int64, shape (rows,); rows of slot 0 stay as they are.
        right: float32, shape (slots, pieces * rank, inputs).
        left: float32, shape (slots, rank, outputs).
        bounds: int64, shape (pieces + 1,): where the outputs of each piece begin, and the end.
    """
    kernel = _add_float32 if y.dtype is torch.float32 else _add_bfloat16
    inputs, outputs = (_bits(tensor.contiguous()) for tensor in (x, y))
    if len(slots) <= _ROWS:
        kernel(outputs, inputs, slots, right, left, bounds, rank)
        return

    def piece(low: int) -> Callable[[], float]:
        part = slice(low, low + _ROWS)

        def work() -> float:
            kernel(outputs[part], inputs[part], slots[part], right, left, bounds, rank)
            return 0.0

        return work

    threads.run([piece(low) for low in range(0, len(slots), _ROWS)])


def _bits(tensor: torch.Tensor) -> Any:
    """The memory of a tensor; bfloat16 as uint16."""
    if tensor.dtype is torch.float32:
        return tensor.numpy()
    return tensor.view(torch.int16).numpy().view(np.uint16)


@njit(nogil=True, cache=True, fastmath=_SUMS)
def _add_float32(y: Any, x: Any, slots: Any, right: Any, left: Any, bounds: Any, rank: int) -> None:
    for i in range(y.shape[0]):
        slot = slots[i]
        if slot:
            _add_row(y[i], x[i], right[slot], left[slot], bounds, rank)


@njit(nogil=True, cache=True, fastmath=_SUMS)
def _add_bfloat16(y: Any, x: Any, slots: Any, right: Any, left: Any, bounds: Any, rank: int) -> None:
    input_bits = np.empty(x.shape[1], np.uint32)
    output_bits = np.empty(y.shape[1], np.uint32)
    row, total = input_bits.view(np.float32), output_bits.view(np.float32)
    for i in range(y.shape[0]):
        slot = slots[i]
        if slot:
            for j in range(x.shape[1]):
                input_bits[j] = np.uint32(x[i, j]) << np.uint32(16)
            for j in range(y.shape[1]):
                output_bits[j] = np.uint32(y[i, j]) << np.uint32(16)
            _add_row(total, row, right[slot], left[slot], bounds, rank)
            for j in range(y.shape[1]):
                bits = output_bits[j]
                nearest = bits + np.uint32(0x7FFF) + ((bits >> np.uint32(16)) & np.uint32(1))
                y[i, j] = np.uint16(nearest >> np.uint32(16))


@njit(nogil=True, cache=True, fastmath=_SUMS)
def _add_row(y: Any, x: Any, right: Any, left: Any, bounds: Any, rank: int) -> None:
    for piece in range(bounds.shape[0] - 1):
        for term in range(rank):
            factor = right[piece * rank + term]
            dot = np.float32(0.0)
            for j in range(x.shape[0]):
                dot += x[j] * factor[j]
            part, own = y[bounds[piece] : bounds[piece + 1]], left[term, bounds[piece] : bounds[piece + 1]]
            for j in range(part.shape[0]):
                part[j] += dot * own[j]
