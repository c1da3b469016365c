"""Gaussian noise as a pure function of (seed, parameter name, index).

No state is kept: value ``i`` of the noise of parameter ``name`` under ``seed`` can be computed anywhere,
in any order, by any number of threads, with the same result to the last bit. That is what lets a
perturbation be undone, an update be replayed from its seeds, and replicas agree without exchanging weights.

Bits come from Philox4x32 with 7 rounds (Salmon et al. 2011, "Parallel random numbers: as easy as 1, 2, 3",
section 3.3), keyed by a hash of seed and name. Each 16 bits of them select one of 65536 equally likely
quantiles of the standard normal distribution, scaled to unit variance. The largest value is 4.3 standard
deviations.

Indices are grouped into tiles of 512 values: value ``r`` of tile ``t`` comes from block ``64 t + r mod 64``
and 16-bit lane ``r div 64`` of that block. This order lets the compiler use vector instructions.
"""

import hashlib
import os
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from statistics import NormalDist
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

Float32 = NDArray[np.float32]

TILE = 512
_LANES = 64
_GROUP = 16
_ROUNDS = 7


@cache
def quantiles() -> Float32:
    """The 65536 values noise is made of, float32, ascending: mean 0, variance 1, symmetric."""
    inverse = NormalDist().inv_cdf
    half = np.array([inverse((i + 0.5) / 65536) for i in range(32768)])
    values = np.concatenate([half, -half[::-1]])
    return (values / np.sqrt(np.mean(values**2))).astype(np.float32)


def key(seed: int, name: str) -> NDArray[np.uint32]:
    """Four words that stand for (seed, name): two key words and two counter words of Philox."""
    digest = hashlib.sha256(f"{seed}:{name}".encode()).digest()
    return np.frombuffer(digest[:16], dtype="<u4").astype(np.uint32)


@njit(nogil=True, cache=True)
def _tile(key: Any, tile: int, table: Any, out: Any) -> None:
    """Write the 512 values of one tile to ``out``.

    The limit is the table, which fits into the second-level cache only. Groups of 16 blocks are few enough
    for the processor to compute the next while it waits for the values of the last.
    """
    words = np.empty((4, _GROUP), np.uint32)
    low = np.uint64(0xFFFFFFFF)
    for lane in range(0, _LANES, _GROUP):
        first = np.uint64(tile) * np.uint64(_LANES) + np.uint64(lane)
        for b in range(_GROUP):
            block = first + np.uint64(b)
            c0 = block & low
            c1 = block >> np.uint64(32)
            c2 = np.uint64(key[2])
            c3 = np.uint64(key[3])
            k0 = np.uint64(key[0])
            k1 = np.uint64(key[1])
            for _ in range(_ROUNDS):
                p0 = np.uint64(0xD2511F53) * c0
                p1 = np.uint64(0xCD9E8D57) * c2
                c0 = (p1 >> np.uint64(32)) ^ c1 ^ k0
                c1 = p1 & low
                c2 = (p0 >> np.uint64(32)) ^ c3 ^ k1
                c3 = p0 & low
                k0 = (k0 + np.uint64(0x9E3779B9)) & low
                k1 = (k1 + np.uint64(0xBB67AE85)) & low
            words[0, b] = np.uint32(c0)
            words[1, b] = np.uint32(c1)
            words[2, b] = np.uint32(c2)
            words[3, b] = np.uint32(c3)
        for w in range(4):
            at = 2 * w * _LANES + lane
            for b in range(_GROUP):
                out[at + b] = table[words[w, b] & np.uint32(0xFFFF)]
            at += _LANES
            for b in range(_GROUP):
                out[at + b] = table[words[w, b] >> np.uint32(16)]


@njit(nogil=True, cache=True, fastmath={"reassoc"})
def _squares(values: Any) -> float:
    """Sum of squares. Its last digits may depend on the machine's vector width."""
    total = 0.0
    for value in values:
        total += np.float64(value) * value
    return total


@njit(nogil=True, cache=True)
def _combine(
    out: Any, master: Any, start: int, width: int, keys: Any, scales: Any, table: Any, measure: bool
) -> float:
    """out = master + sum_j scales[j] * noise_j, where element (i, c) has index start + i * width + c;
    squared norm of the step if it is to be measured."""
    noise = np.empty(TILE, np.float32)
    step = np.empty(TILE, np.float32)
    squares = 0.0
    ready = -1
    for row in range(out.shape[0]):
        done = 0
        while done < out.shape[1]:
            index = start + row * width + done
            tile = index // TILE
            offset = index - tile * TILE
            part = min(TILE - offset, out.shape[1] - done)
            if tile != ready:
                ready = tile
                for j in range(keys.shape[0]):
                    _tile(keys[j], tile, table, noise)
                    scale = scales[j]
                    if j == 0:
                        for r in range(TILE):
                            step[r] = scale * noise[r]
                    else:
                        for r in range(TILE):
                            step[r] += scale * noise[r]
            moved = step[offset : offset + part]
            before = master[row, done : done + part]
            after = out[row, done : done + part]
            for r in range(part):
                after[r] = before[r] + moved[r]
            if measure:
                squares += _squares(moved)
            done += part
    return squares


@njit(nogil=True, cache=True)
def _each(out: Any, start: int, keys: Any, table: Any) -> None:
    """out[j, i] = value start + i of the noise under keys[j]."""
    noise = np.empty(TILE, np.float32)
    for j in range(out.shape[0]):
        done = 0
        while done < out.shape[1]:
            tile = (start + done) // TILE
            offset = start + done - tile * TILE
            part = min(TILE - offset, out.shape[1] - done)
            _tile(keys[j], tile, table, noise)
            out[j, done : done + part] = noise[offset : offset + part]
            done += part


class _Threads:
    """A few threads that run pieces of one array. They may use every core this process was given,
    even where the language model's engine has tied its own thread to one of them."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._pool: ThreadPoolExecutor | None = None
        self._pid = 0
        self.cores = os.sched_getaffinity(0)

    @property
    def count(self) -> int:
        return len(self.cores)

    def run(self, pieces: Sequence[Callable[[], float]]) -> list[float]:
        """The results of all pieces, in their order. The calling thread works too."""
        results = [0.0] * len(pieces)
        left = iter(range(len(pieces)))

        def work() -> None:
            for i in left:
                results[i] = pieces[i]()

        helpers = min(self.count, len(pieces)) - 1
        started = [self._executor().submit(work) for _ in range(helpers)]
        work()
        for helper in started:
            if not helper.cancel():
                helper.result()
        return results

    def _executor(self) -> ThreadPoolExecutor:
        with self._lock:
            if self._pool is None or self._pid != os.getpid():
                self._pid = os.getpid()
                self._pool = ThreadPoolExecutor(
                    self.count, "noise", initializer=lambda: os.sched_setaffinity(0, self.cores)
                )
            return self._pool


threads = _Threads()
_PIECE = 1 << 17
"""Indices per piece of work. Fixed, so that sums over pieces do not depend on the number of threads."""


def check_block(seeds: Sequence[int], scales: Sequence[float], shape: tuple[int, ...], width: int) -> None:
    """Whether ``combine`` can work on a block of this shape along these directions.

    Raises:
        ValueError: no direction, or not one scale for each; a block wider than the parameter.
    """
    if not seeds or len(seeds) != len(scales):
        raise ValueError(f"{len(seeds)} seeds and {len(scales)} scales: need one of each per direction")
    if len(shape) == 2 and shape[1] > width:
        raise ValueError(f"a block of {shape[1]} columns in a parameter of {width}")


def combine(
    out: Float32,
    master: Float32,
    seeds: Sequence[int],
    name: str,
    scales: Sequence[float],
    start: int = 0,
    measure: bool = True,
    width: int = 0,
) -> float:
    """``out = master + sum_j scales[j] * noise(seeds[j], name)`` in one pass over memory, at least one j.

    Args:
        out: float32 array; may be ``master`` itself. Flat: elements ``start`` and following of the
            parameter. Two-dimensional: a block of it whose rows begin ``width`` elements apart.
        master: float32 array of the same shape.
        seeds: one seed per direction.
        name: the parameter's name.
        scales: one factor per direction, used as float32; terms are added in this order.
        start: index in the parameter of the first element.
        measure: whether the norm is wanted.
        width: columns of the whole parameter, where ``out`` is a block of it.

    Returns:
        The squared L2 norm of the step; 0 unless ``measure``.

    Raises:
        ValueError: no direction, or not one scale for each; a block wider than the parameter.
    """
    check_block(seeds, scales, tuple(out.shape), width)
    keys = np.array([key(seed, name) for seed in seeds], dtype=np.uint32).reshape(-1, 4)
    factors = np.array(scales, dtype=np.float32)
    table = quantiles()
    block = np.atleast_2d
    height = _PIECE if out.ndim == 1 else max(1, _PIECE // max(1, out.shape[1]))
    stride = 1 if out.ndim == 1 else width

    def piece(low: int) -> Callable[[], float]:
        part = slice(low, low + height)
        first = start + low * stride
        return lambda: float(
            _combine(block(out[part]), block(master[part]), first, width, keys, factors, table, measure)
        )

    return sum(threads.run([piece(low) for low in range(0, len(out), height)]))


def add_noise(out: Float32, master: Float32, seed: int, name: str, scale: float, start: int = 0) -> None:
    """``out = master + scale * noise(seed, name)``; see ``combine``."""
    combine(out, master, (seed,), name, (scale,), start, measure=False)


def noise(seed: int, name: str, start: int, count: int) -> Float32:
    """Values ``start`` to ``start + count - 1`` of the noise of parameter ``name`` under ``seed``."""
    return noises((seed,), name, start, count)[0]


def noises(seeds: Sequence[int], name: str, start: int, count: int) -> Float32:
    """``noise`` under each of the seeds, shape (seeds, count): one call for many short pieces."""
    keys = np.array([key(seed, name) for seed in seeds], dtype=np.uint32).reshape(-1, 4)
    out = np.empty((len(keys), count), dtype=np.float32)
    _each(out, start, keys, quantiles())
    return out
