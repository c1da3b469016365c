"""The exact weights of a model: one float32 master per Hugging Face tensor.

The engine computes with a rounded copy of these. Updates go to the masters, so that steps smaller than
the rounding of the live copy are not lost, and the hash is taken over them, so that any process can
rebuild it from the files of the base model and the log of updates.
"""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ahd.es.noise import Float32, combine

_CHUNK = 1 << 20


class Masters:
    """Flat float32 arrays by name, in name order."""

    def __init__(self, arrays: Mapping[str, Float32]) -> None:
        self.arrays = {name: arrays[name] for name in sorted(arrays)}

    @property
    def count(self) -> int:
        """Number of weights."""
        return sum(array.size for array in self.arrays.values())

    def hash(self) -> str:
        """SHA-256 over the names and the float32 values of all tensors, in name order."""
        digest = hashlib.sha256()
        for name, array in self.arrays.items():
            digest.update(name.encode())
            digest.update(array.data)
        return digest.hexdigest()

    def update(
        self,
        seeds: Sequence[int],
        weights: Sequence[float],
        alpha: float,
        changed: Callable[[Float32, Float32], int] | None = None,
    ) -> tuple[float, float]:
        """Add ``alpha / N * sum_i weights[i] * noise(seeds[i])``, N = len(seeds), to every master.

        The same arguments in the same order give the same bits on every machine.

        Args:
            changed: counts the elements of two arrays whose rounded values differ.

        Returns:
            The L2 norm of the step and the share of elements that ``changed`` counted.
        """
        if len(seeds) != len(weights):
            raise ValueError(f"{len(seeds)} seeds but {len(weights)} weights")
        used = [(seed, alpha / len(seeds) * w) for seed, w in zip(seeds, weights, strict=True) if w]
        if not used:
            return 0.0, 0.0
        directions, scales = zip(*used, strict=True)
        squares, moved = 0.0, 0
        for name, array in self.arrays.items():
            for start in range(0, array.size, _CHUNK):
                part = array[start : start + _CHUNK]
                before = part.copy() if changed else part
                squares += combine(part, part, directions, name, scales, start)
                if changed:
                    moved += changed(before, part)
        return float(np.sqrt(squares)), moved / max(1, self.count)

    @classmethod
    def load(cls, folder: Path, dtype: Any = None) -> "Masters":
        """Read the safetensors files in ``folder``, rounded to the torch ``dtype`` the engine loads
        them with (default: as they are). A tied output layer is not a tensor of its own."""
        import torch
        from safetensors import safe_open

        arrays: dict[str, Float32] = {}
        for file in sorted(folder.glob("*.safetensors")):
            with safe_open(file, framework="pt") as tensors:
                for name in tensors.keys():  # noqa: SIM118 (not a mapping)
                    tensor = tensors.get_tensor(name)
                    arrays[name] = tensor.to(dtype or tensor.dtype).to(torch.float32).numpy().ravel()
        return cls(arrays)
