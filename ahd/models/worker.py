"""The part of the live model that runs inside the vLLM worker: all weights, perturbed and updated in place.

On CPU, vLLM packs the weight of every linear layer into a private copy in another memory layout and throws
the original away. This module is imported before the model loads and wraps the function that packs, so that
it can pack again whenever weights change. The tied output layer has a packed copy of its own, beside the
embedding. Elsewhere weights are plain parameters and are written in place: their storage never moves,
because captured graphs hold its address.

Noise and masters are named by Hugging Face tensor and indexed by its flat, row-major index, also where vLLM
fuses several tensors into one (``qkv_proj``, ``gate_up_proj``).
"""

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from vllm.model_executor.layers import utils as layer_utils

from ahd.es.noise import Float32, add_noise
from ahd.models import cpu_speed
from ahd.models.weights import Masters

_CHUNK = 1 << 20
_pack = layer_utils.dispatch_cpu_unquantized_gemm


def _pack_and_remember(layer: torch.nn.Module, remove_weight: bool) -> None:
    """Pack as vLLM does, but leave the weight in place until ``LiveWeights`` has read it."""
    _pack(layer, remove_weight=False)
    layer._ahd_removable = remove_weight


if not hasattr(_pack, "_ahd"):
    _pack_and_remember._ahd = True  # type: ignore[attr-defined]
    layer_utils.dispatch_cpu_unquantized_gemm = _pack_and_remember
    cpu_speed.install()


@dataclass
class _Slot:
    """One parameter of the engine, made of one or more Hugging Face tensors one after the other."""

    parameter: torch.nn.Parameter
    shape: torch.Size
    pieces: list[tuple[str, int]] = field(default_factory=list)
    """Name and number of elements; what is left after them is padding."""
    packed: list[torch.nn.Module] = field(default_factory=list)
    """Layers that hold a packed copy of this parameter."""
    removed: bool = False
    """The parameter itself is not used by the engine, only its packed copies are."""


class LiveWeights:
    """vLLM worker extension. All methods are called through ``collective_rpc``."""

    model_runner: Any
    _slots: list[_Slot]
    _masters: Masters

    def es_init(self) -> int:
        """Copy the weights into masters; must be called once, before anything else here.

        Returns:
            The number of weights.
        """
        model = self.model_runner.get_model()
        fused = getattr(model, "packed_modules_mapping", {})
        slots: dict[int, _Slot] = {}
        arrays: dict[str, Float32] = {}
        for path, module in model.named_modules():
            for attribute, parameter in module.named_parameters(recurse=False):
                slot = slots.get(id(parameter))
                if slot is None:
                    slot = slots[id(parameter)] = _Slot(parameter, parameter.shape)
                    rows = _rows(path, module, parameter, fused)
                    flat = parameter.data.reshape(-1)
                    at = 0
                    for name, size in rows:
                        name = f"{name}.{attribute}"
                        arrays[name] = flat[at : at + size].to("cpu", torch.float32).numpy().copy()
                        slot.pieces.append((name, size))
                        at += size
                if attribute == "weight" and hasattr(module, "_ahd_removable"):
                    slot.packed.append(module)
                    slot.removed = module._ahd_removable and len(slot.packed) == 1
        self._slots = list(slots.values())
        self._masters = Masters(arrays)
        for slot in self._slots:
            if slot.removed:
                slot.parameter.data = slot.parameter.data.new_empty(0)
        return self._masters.count

    def es_apply(self, seed: int, sigma: float, only: str = "") -> None:
        """Live weights = masters + sigma * noise(seed), rounded. ``only`` limits the noise to tensors
        whose name contains it (for tests); the rest is restored."""
        self._write(lambda name: (seed, sigma) if only in name else None)

    def es_restore(self) -> None:
        """Live weights = masters, rounded: the same bits as before the perturbation."""
        self._write(lambda name: None)

    def es_update(self, seeds: Sequence[int], weights: Sequence[float], alpha: float) -> dict[str, Any]:
        """Move the masters (``Masters.update``) and make the live weights follow.

        Returns:
            ``norm`` of the step, share of live weights ``moved``, ``hash`` of the masters.
        """
        dtype = self.model_runner.model_config.dtype

        def changed(before: Float32, after: Float32) -> int:
            old, new = (torch.from_numpy(array).to(dtype) for array in (before, after))
            return int((old != new).sum())

        norm, moved = self._masters.update(seeds, weights, alpha, changed)
        self.es_restore()
        return {"norm": norm, "moved": moved, "hash": self._masters.hash()}

    def es_hash(self) -> str:
        return self._masters.hash()

    def es_names(self) -> list[str]:
        return list(self._masters.arrays)

    def es_live_hash(self) -> str:
        """SHA-256 over the weights the engine really computes with, packed copies read back."""
        digest = hashlib.sha256()
        for name, tensor in sorted(self._live(), key=lambda item: item[0]):
            digest.update(name.encode())
            digest.update(memoryview(tensor.view(torch.uint8).numpy()).cast("B"))
        return digest.hexdigest()

    def es_stale(self, seed: int = 0, sigma: float = 0.0) -> list[str]:
        """Names of live copies that are not the rounded masters + sigma * noise(seed): empty when the
        engine computes with what it should."""
        stale = []
        for name, live in self._live():
            tensor = name.partition("@")[0]
            expected = self._masters.arrays[tensor].copy()
            if sigma:
                add_noise(expected, expected, seed, tensor, sigma)
            if not torch.equal(torch.from_numpy(expected).to(live.dtype) + 0, live):
                stale.append(name)
        return stale

    def _write(self, direction: Callable[[str], tuple[int, float] | None]) -> None:
        """Round masters, plus noise where there is a direction, into the live weights."""
        chunk = np.empty(_CHUNK, dtype=np.float32)
        for slot in self._slots:
            parameter = slot.parameter
            if slot.removed:
                parameter.data = parameter.data.new_empty(slot.shape)
            flat = parameter.data.view(-1)
            at = 0
            for name, size in slot.pieces:
                master = self._masters.arrays[name]
                noisy = direction(name)
                for start in range(0, size, _CHUNK):
                    source = master[start : start + _CHUNK]
                    if noisy is not None:
                        target = chunk[: source.size]
                        add_noise(target, source, noisy[0], name, noisy[1], start)
                        source = target
                    flat[at + start : at + start + source.size].copy_(torch.from_numpy(source))
                at += size
            if slot.removed:
                flat[at:].zero_()
            for layer in slot.packed:
                _pack(layer, remove_weight=False)
            if slot.removed:
                parameter.data = parameter.data.new_empty(0)

    def _live(self) -> Iterator[tuple[str, torch.Tensor]]:
        """Every copy of every tensor as the engine holds it, flat; copies in packed layers that stand
        beside a live parameter are named ``tensor@copy``. Zeros have lost their sign."""
        for slot in self._slots:
            copies = [] if slot.removed else [("", slot.parameter.data.cpu())]
            for number, layer in enumerate(slot.packed):
                copies.append(("" if slot.removed else f"@copy{number}", _unpack(layer, slot)))
            for suffix, tensor in copies:
                flat = tensor.reshape(-1) + 0
                at = 0
                for name, size in slot.pieces:
                    yield name + suffix, flat[at : at + size]
                    at += size


def _unpack(layer: Any, slot: _Slot) -> torch.Tensor:
    """The weight a packed layer computes with: its response to the identity matrix, which is exact."""
    inputs = slot.shape[1]
    eye = torch.eye(inputs, dtype=slot.parameter.dtype)
    columns = [layer.cpu_linear(rows.contiguous(), layer.weight, None) for rows in eye.split(128)]
    return torch.cat(columns).t().contiguous()


def _rows(
    path: str, module: Any, parameter: torch.Tensor, fused: dict[str, list[str]]
) -> list[tuple[str, int]]:
    """Hugging Face module names that make up a parameter, with the number of elements of each."""
    parent, _, last = path.rpartition(".")
    width = parameter.numel() // max(1, parameter.shape[0]) if parameter.ndim else 1
    parts = fused.get(last, [])
    if len(parts) > 1:
        sizes = module.output_partition_sizes
        if len(sizes) != len(parts) or sum(sizes) != parameter.shape[0]:
            raise ValueError(f"{path}: cannot split {tuple(parameter.shape)} into {parts}")
        prefix = f"{parent}." if parent else ""
        return [(prefix + part, size * width) for part, size in zip(parts, sizes, strict=True)]
    if hasattr(module, "org_vocab_size"):
        return [(path, module.org_vocab_size * width)]
    return [(path, parameter.numel())]
