"""The noise of ``ahd.es.noise`` on any torch device, equal to it in every bit.

CPU and GPU agree because nothing here is rounded differently on them. Philox is integer arithmetic. It is
done in signed 64 bits, and no product overflows, since 2^32 is taken off the multiplier and given back
afterwards. The quantiles are copied out of one table. What is left is one float32 multiplication and one
float32 addition per direction, which IEEE 754 defines to the last bit. They are separate torch operations on
purpose: a fused multiply-add, which ``torch.compile`` may make of them, would skip a rounding.
"""

from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any

import numpy as np
import torch

from ahd.es.noise import TILE, check_block, key, quantiles

_LANES = 64
_CHUNK = 1 << 21
"""About so many values are made at a time: some 65 MB of intermediate results."""
_LOW = 0xFFFFFFFF
_ROUNDS = 7


@cache
def _table(device: torch.device) -> torch.Tensor:
    return torch.from_numpy(quantiles()).to(device)


def _multiply(factor: int, word: Any) -> tuple[Any, Any]:
    """High and low 32 bits of ``factor * word``, for a word that is a number or a tensor of int64."""
    product = (factor - (1 << 32)) * word
    return (product >> 32) + word, product & _LOW


def _tiles(numbers: torch.Tensor, words: Sequence[int]) -> torch.Tensor:
    """The values of tiles ``numbers``, shape (n,) of int64; gives (n, 512). ``words`` stand for seed and
    parameter (``ahd.es.noise.key``)."""
    block = numbers[:, None] * _LANES + torch.arange(_LANES, device=numbers.device)
    c0, c1, c2, c3 = block & _LOW, block >> 32, words[2], words[3]
    k0, k1 = words[0], words[1]
    for _ in range(_ROUNDS):
        high0, low0 = _multiply(0xD2511F53, c0)
        high1, low1 = _multiply(0xCD9E8D57, c2)
        c0, c1, c2, c3 = high1 ^ c1 ^ k0, low1, high0 ^ c3 ^ k1, low0
        k0, k1 = (k0 + 0x9E3779B9) & _LOW, (k1 + 0xBB67AE85) & _LOW
    lanes = [lane for word in (c0, c1, c2, c3) for lane in (word & 0xFFFF, word >> 16)]
    return _table(numbers.device)[torch.cat(lanes, dim=1)]


def _rows(first: int, width: int, shape: tuple[int, int], words: Sequence[int], device: Any) -> torch.Tensor:
    """Values of ``shape``: element (i, c) has index ``first + i * width + c``."""
    rows, columns = shape
    start = first + width * torch.arange(rows, device=device)
    each = (TILE - 2 + columns) // TILE + 1
    numbers = start[:, None] // TILE + torch.arange(each, device=device)
    values = _tiles(numbers.reshape(-1), words).reshape(rows, each * TILE)
    return values.gather(1, (start % TILE)[:, None] + torch.arange(columns, device=device))


def _parts(shape: tuple[int, int], start: int, width: int) -> Iterator[tuple[slice, slice, int]]:
    """Cut a block of a parameter into parts of bounded size: rows, columns, index of the first element."""
    columns = max(1, min(shape[1], _CHUNK))
    rows = max(1, _CHUNK // (columns + TILE))
    for row in range(0, shape[0], rows):
        for column in range(0, shape[1], columns):
            first = start + row * width + column
            yield slice(row, row + rows), slice(column, column + columns), first


def combine(
    out: torch.Tensor,
    master: torch.Tensor,
    seeds: Sequence[int],
    name: str,
    scales: Sequence[float],
    start: int = 0,
    width: int = 0,
) -> None:
    """``out = master + sum_j scales[j] * noise(seeds[j], name)``, computed in float32 where ``out`` is.

    Args:
        out: flat tensor, or a two-dimensional block of a parameter whose rows begin ``width`` elements
            apart. May be ``master`` itself; may have another dtype, into which the sum is rounded.
        master: float32 tensor of the same shape, on any device.
        seeds: one seed per direction, at least one.
        name: the parameter's name.
        scales: one factor per direction, used as float32; terms are added in this order.
        start: index in the parameter of the first element.
        width: columns of the whole parameter, where ``out`` is a block of it.

    Raises:
        ValueError: no direction, or not one scale for each; a block wider than the parameter.
    """
    check_block(seeds, scales, tuple(out.shape), width)
    keys = [key(seed, name).tolist() for seed in seeds]
    factors = [float(np.float32(scale)) for scale in scales]
    if out.ndim == 2 and out.shape[1] == width and out.is_contiguous():
        out, master = out.view(-1), master.reshape(-1)
    out, master = torch.atleast_2d(out), torch.atleast_2d(master)
    for rows, columns, first in _parts(tuple(out.shape), start, width):
        target = out[rows, columns]
        step = None
        for words, factor in zip(keys, factors, strict=True):
            term = _rows(first, width, tuple(target.shape), words, out.device).mul_(factor)
            step = term if step is None else step.add_(term)
        target.copy_(master[rows, columns].to(out.device) + step)


def add_noise(
    out: torch.Tensor, master: torch.Tensor, seed: int, name: str, scale: float, start: int = 0
) -> None:
    """``out = master + scale * noise(seed, name)``; see ``combine``."""
    combine(out, master, (seed,), name, (scale,), start)


def noise(seed: int, name: str, start: int, count: int, device: torch.device | str = "cpu") -> torch.Tensor:
    """Values ``start`` to ``start + count - 1`` of the noise of ``name`` under ``seed``, float32."""
    out = torch.zeros(count, dtype=torch.float32, device=device)
    add_noise(out, out, seed, name, 1.0, start)
    return out
