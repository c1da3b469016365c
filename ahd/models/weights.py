"""The exact weights of a model: one float32 master per Hugging Face tensor that directions touch.

The engine computes with a rounded copy of these. Updates go to the masters, so that steps smaller than
the rounding of the live copy are not lost, and the hash is taken over them, so that any process can
rebuild it from the files of the base model and the log of updates. Tensors out of scope never change:
of them only a digest is kept.

In a tensor-parallel engine each rank keeps the masters of its blocks. The weights have the same bits, and
the same hash, for any number of ranks.
"""

import hashlib
import json
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ahd.config import ConfigError
from ahd.es.factors import add_products
from ahd.es.noise import Float32, combine, quantiles, threads
from ahd.es.perturbation import Perturbation, Treatment
from ahd.models.split import Split
from operators.model import UpdateRefused

_CHUNK = 1 << 20


class Masters:
    """Float32 arrays by name, in name order, and the directions they move along.

    Args:
        tensors: name and float32 values, in the tensor's shape, of every tensor of the model. The arrays are
            kept, not copied, unless they are split.
        perturbation: which tensors are in scope, and what a direction does to them.
        largest: the largest number the live copy can hold.
        split: which blocks of them are kept here (default: the whole of all). All ranks have to construct,
            update and hash together.

    Raises:
        ValueError: the tensors do not fit the blocks.
        ConfigError: no tensor is in scope.
    """

    def __init__(
        self,
        tensors: Iterable[tuple[str, Float32]],
        perturbation: Perturbation,
        largest: float = math.inf,
        split: Split | None = None,
    ) -> None:
        self.perturbation = perturbation
        self.count = 0
        """Number of weights of the model, in scope or not, on all ranks together."""
        self.in_scope = 0
        """Number of weights that directions touch, on all ranks together."""
        self._largest = largest
        self._split = split or Split()
        self._treatments: dict[str, Treatment] = {}
        self._digests: dict[str, bytes] = {}
        arrays: dict[str, Float32] = {}
        for number, (name, array) in enumerate(tensors):
            self.count += array.size
            treatment = perturbation.treatment(name, array.ndim)
            if treatment is not Treatment.NONE:
                self.in_scope += array.size
                arrays[name] = self._split.cut(name, array)
                self._treatments[name] = treatment
            elif self._split.owns(number):
                self._digests[name] = _digest(array)
        self._digests = self._split.agree(self._digests)
        self._names = sorted([*arrays, *self._digests])
        for name in sorted(self._split.names.difference(self._names)):
            raise ValueError(f"{name} of the engine is not in the files of the model")
        if not arrays:
            kind, scope = perturbation.kind.value, perturbation.scope
            raise ConfigError(f"--kind {kind} --scope {scope} touches no weight of this model")
        self.arrays = {name: arrays[name] for name in sorted(arrays)}

    def treatment(self, name: str) -> Treatment:
        return self._treatments.get(name, Treatment.NONE)

    def hash(self) -> str:
        """SHA-256 over the name and the SHA-256 of the float32 values of each tensor, in name order."""
        stale = [name for name in self._names if name not in self._digests]
        if stale:
            self._digest_whole([name for name in stale if not self._split.is_split(name)])
            self._digest_split([name for name in stale if self._split.is_split(name)])
            self._digests = self._split.agree(self._digests)
        digest = hashlib.sha256()
        for name in self._names:
            digest.update(name.encode())
            digest.update(self._digests[name])
        return digest.hexdigest()

    def _digest_whole(self, names: Sequence[str]) -> None:
        def renew(name: str) -> Callable[[], float]:
            def work() -> float:
                self._digests[name] = _digest(self.arrays[name])
                return 0.0

            return work

        threads.run([renew(name) for name in sorted(names, key=lambda each: -self.arrays[each].size)])

    def _digest_split(self, names: Sequence[str]) -> None:
        """Put as many tensors together as there are ranks, one on each, then digest all at the same time."""
        ranks = self._split.size
        for start in range(0, len(names), ranks):
            mine: dict[str, Float32] = {}
            for owner, name in enumerate(names[start : start + ranks]):
                tensor = self._split.join(name, self.arrays[name], owner)
                if tensor is not None:
                    mine[name] = tensor
            self._digests.update({name: _digest(tensor) for name, tensor in mine.items()})

    def update(
        self,
        seeds: Sequence[int],
        weights: Sequence[float],
        alpha: float,
        changed: Callable[[Float32, Float32], int] | None = None,
    ) -> tuple[float, float]:
        """Move along ``alpha / N * sum_i weights[i] * eps(seeds[i])``, N = len(seeds).

        The same arguments in the same order give the same bits on every machine.

        Args:
            changed: counts the elements of two arrays whose rounded values differ.

        Returns:
            The L2 norm of the step and the share of all weights that ``changed`` counted.

        Raises:
            UpdateRefused: a weight could leave the range of the live copy. Nothing has moved.
        """
        if len(seeds) != len(weights):
            raise ValueError(f"{len(seeds)} seeds but {len(weights)} weights")
        used = [(seed, alpha / len(seeds) * w) for seed, w in zip(seeds, weights, strict=True) if w]
        if not used:
            return 0.0, 0.0
        directions, scales = zip(*used, strict=True)
        self._check_range(scales)
        squares, moved = 0.0, 0
        for name, array in self.arrays.items():
            self._digests.pop(name, None)
            for start, part in _chunks(array):
                before = part.copy() if changed else part
                square = self._move(name, part, part, directions, scales, start)
                if self._split.counts(name):
                    squares += square
                    moved += changed(before, part) if changed else 0
        squares, moved = (sum(each) for each in zip(*self._split.share((squares, moved)), strict=True))
        return float(np.sqrt(squares)), moved / max(1, self.count)

    def perturbed(self, name: str, seed: int, sigma: float) -> Iterator[tuple[int, Float32]]:
        """The values kept of a tensor, moved along one direction, in chunks of whole rows: number of the
        first element and the values, flat. They are valid until the next chunk."""
        array = self.arrays[name]
        out = np.empty(min(array.size, _CHUNK + array.size // max(1, len(array))), np.float32)
        for start, part in _chunks(array):
            target = out[: part.size].reshape(part.shape)
            self._move(name, target, part, (seed,), (sigma,), start, measure=False)
            yield start * (array.size // len(array)), target.reshape(-1)

    def replace(self, tensors: Iterable[tuple[str, Float32]]) -> None:
        """Overwrite the masters with the values of the tensors in scope."""
        for name, array in tensors:
            if name in self.arrays:
                self.arrays[name][...] = self._split.cut(name, array)
                self._digests.pop(name, None)

    def _move(
        self,
        name: str,
        out: Float32,
        before: Float32,
        seeds: Sequence[int],
        scales: Sequence[float],
        start: int,
        measure: bool = True,
    ) -> float:
        """Move rows ``start`` and following of what is kept of a tensor; the squared norm of the step."""
        treatment = self._treatments[name]
        block = self._split.block(name, self.arrays[name].shape)
        row = block.row + start
        if treatment is Treatment.LOW_RANK:
            rank = self.perturbation.rank
            return add_products(out, before, name, seeds, scales, rank, row, block.column)
        first = row * block.width + block.column
        if treatment is Treatment.ADDITIVE:
            if block.is_narrow:
                return combine(out, before, seeds, name, scales, first, measure, block.width)
            return combine(out.reshape(-1), before.reshape(-1), seeds, name, scales, first, measure)
        gains = np.ones_like(before)
        combine(gains, gains, seeds, name, scales, first)
        moved = before * gains
        squares = float(np.sum((moved - before).astype(np.float64) ** 2))
        out[...] = moved
        return squares

    def _check_range(self, scales: Sequence[float]) -> None:
        """Refuse a step that could lead out of the range of the live copy. The noise is bounded, so its
        size can be told beforehand."""
        most = float(quantiles()[-1])
        reach = sum(map(abs, scales)) * most * max(1.0, most * math.sqrt(self.perturbation.rank))
        if reach <= 1.0:
            return
        for fault in self._split.share(self._out_of_range(reach)):
            if fault:
                raise UpdateRefused(fault)

    def _out_of_range(self, reach: float) -> str:
        for name, array in self.arrays.items():
            largest = float(np.abs(array).max(initial=0.0))
            relative = self._treatments[name] is Treatment.RELATIVE
            bound = largest * (1.0 + reach) if relative else largest + reach
            if not bound < min(self._largest, float(np.finfo(np.float32).max)):
                return (
                    f"{name} could reach {bound:.2g}, which the model's number format cannot hold: "
                    "use a smaller --alpha"
                )
        return ""

    @classmethod
    def load(cls, folder: Path, dtype: Any = None, perturbation: Perturbation | None = None) -> "Masters":
        """Read the safetensors files in ``folder``, rounded to the torch ``dtype`` the engine loads them
        with (default: as they are)."""
        largest = _largest(dtype) if dtype is not None else math.inf
        return cls(read_tensors(folder, dtype), perturbation or Perturbation(), largest)


def read_tensors(folder: Path, dtype: Any = None) -> Iterator[tuple[str, Float32]]:
    """Name and float32 values of every tensor in the safetensors files of ``folder``, rounded to a torch
    ``dtype`` on the way. A tied output layer is not a tensor of its own, even where a file holds it."""
    import torch
    from safetensors import safe_open

    tied = {"lm_head.weight"} if _is_tied(folder) else set()
    for file in sorted(folder.glob("model*.safetensors")) or sorted(folder.glob("*.safetensors")):
        with safe_open(file, framework="pt") as tensors:
            for name in sorted(set(tensors.keys()) - tied):
                tensor = tensors.get_tensor(name)
                yield name, tensor.to(dtype or tensor.dtype).to(torch.float32).numpy()


def _is_tied(folder: Path) -> bool:
    """Whether the output layer is the embedding, by the model's configuration."""
    try:
        return bool(json.loads((folder / "config.json").read_text()).get("tie_word_embeddings"))
    except (OSError, ValueError, AttributeError):
        return False


def _largest(dtype: Any) -> float:
    import torch

    return float(torch.finfo(dtype).max)


def _digest(array: Float32) -> bytes:
    return hashlib.sha256(np.ascontiguousarray(array).data).digest()


def _chunks(array: Float32) -> Iterator[tuple[int, Float32]]:
    """Whole rows of an array, about a million elements at a time, with the number of the first row."""
    height = max(1, _CHUNK // max(1, array.size // max(1, len(array))))
    for start in range(0, len(array), height):
        yield start, array[start : start + height]
