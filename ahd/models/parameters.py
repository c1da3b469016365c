"""The engine's parameters as Hugging Face tensors: where each one lives, and how it is read and written.

On CPU, vLLM packs the weight of every linear layer into a private copy in another memory layout and throws
the original away. This module is imported before the model loads and wraps the function that packs, so that
it can pack again whenever weights change. The tied output layer has a packed copy of its own, beside the
embedding. Elsewhere weights are plain parameters and are written in place: their storage never moves,
because captured graphs hold its address.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from math import prod
from typing import Any

import torch
from vllm.model_executor.layers import utils as layer_utils
from vllm.model_executor.layers.linear import ColumnParallelLinear, RowParallelLinear

from ahd.es.noise import Float32
from ahd.models.split import Block, columns, rows, whole

_pack = layer_utils.dispatch_cpu_unquantized_gemm


def _pack_and_remember(layer: torch.nn.Module, remove_weight: bool) -> None:
    """Pack as vLLM does, and note the weight's shape. Whether the engine can do without the weight is the
    engine's choice: where its packed layouts do not support the number format, it goes on with it."""
    weight = layer.weight
    _pack(layer, remove_weight)
    layer._ahd_shape, layer._ahd_removed = weight.shape, layer.weight is not weight


def install() -> None:
    """Put the wrapper in place. Must run before the model is built; may run twice."""
    if not hasattr(layer_utils.dispatch_cpu_unquantized_gemm, "_ahd"):
        _pack_and_remember._ahd = True  # type: ignore[attr-defined]
        layer_utils.dispatch_cpu_unquantized_gemm = _pack_and_remember


@dataclass(frozen=True)
class Piece:
    """A Hugging Face tensor, or this rank's block of one, inside an engine parameter."""

    name: str
    block: Block

    @property
    def shape(self) -> tuple[int, ...]:
        """That of the block."""
        return self.block.shape

    @property
    def size(self) -> int:
        return prod(self.shape)


@dataclass
class Parameter:
    """One parameter of the engine, made of one or more Hugging Face tensors one after the other; what
    is left after them is padding."""

    tensor: torch.nn.Parameter
    shape: torch.Size
    pieces: list[Piece]
    modules: list[torch.nn.Module] = field(default_factory=list)
    """Modules that hold it, the first one first; more than one where weights are tied."""
    packed: list[torch.nn.Module] = field(default_factory=list)
    """Layers that hold a packed copy of it."""
    removed: bool = False
    """The parameter itself is not used by the engine, only its packed copies are."""

    def write(self, values: Iterable[Iterable[tuple[int, Float32]]]) -> None:
        """Round new values into the engine and pack them.

        Args:
            values: for each piece, chunks of flat values with the number of their first element.
        """
        if self.removed:
            self.tensor.data = self.tensor.data.new_empty(self.shape)
        flat = self.tensor.data.view(-1)
        at = 0
        for piece, chunks in zip(self.pieces, values, strict=True):
            for start, chunk in chunks:
                first = at + start
                flat[first : first + chunk.size].copy_(torch.from_numpy(chunk))
            at += piece.size
        if self.removed:
            flat[at:].zero_()
        for layer in self.packed:
            _pack(layer, remove_weight=False)
        if self.removed:
            self.tensor.data = self.tensor.data.new_empty(0)

    def copies(self) -> Iterator[tuple[str, torch.Tensor]]:
        """Every copy of every tensor as the engine computes with it, flat, packed ones read back; copies
        in packed layers that stand beside a live parameter are named ``tensor@copy``. Zeros have lost
        their sign."""
        held = [] if self.removed else [("", self.tensor.data.cpu())]
        for number, layer in enumerate(self.packed):
            held.append(("" if self.removed else f"@copy{number}", self._unpack(layer)))
        for suffix, tensor in held:
            flat = tensor.reshape(-1) + 0
            at = 0
            for piece in self.pieces:
                yield piece.name + suffix, flat[at : at + piece.size]
                at += piece.size

    def _unpack(self, layer: Any) -> torch.Tensor:
        """The weight a packed layer computes with: its response to the identity matrix, which is exact."""
        eye = torch.eye(self.shape[1], dtype=self.tensor.dtype)
        columns = [layer.cpu_linear(rows.contiguous(), layer.weight, None) for rows in eye.split(128)]
        return torch.cat(columns).t().contiguous()


def find(model: torch.nn.Module) -> list[Parameter]:
    """All parameters of the loaded model, in the order of its modules."""
    fused = getattr(model, "packed_modules_mapping", {})
    found: dict[int, Parameter] = {}
    for path, module in model.named_modules():
        for attribute, tensor in module.named_parameters(recurse=False):
            known = found.get(id(tensor))
            packed = attribute == "weight" and hasattr(module, "_ahd_shape")
            if known is None:
                shape = module._ahd_shape if packed else tensor.shape
                pieces = _pieces(path, attribute, module, shape, fused)
                known = found[id(tensor)] = Parameter(tensor, shape, pieces)
            known.modules.append(module)
            if packed:
                known.packed.append(module)
                known.removed = bool(module._ahd_removed) and len(known.packed) == 1
    return list(found.values())


def _pieces(
    path: str, attribute: str, module: Any, size: torch.Size, fused: dict[str, list[str]]
) -> list[Piece]:
    """The Hugging Face tensors that make up a parameter.

    Raises:
        ValueError: the engine holds parts of them in a way that is not known here.
    """
    parent, _, fused_name = path.rpartition(".")
    shape, inner = tuple(size), tuple(size[1:])
    parts = fused.get(fused_name, [])
    sizes = getattr(module, "output_partition_sizes", [])
    if len(parts) > 1:
        if len(sizes) != len(parts) or sum(sizes) != shape[0]:
            raise ValueError(f"{path}: cannot split {shape} into {parts}")
        prefix = f"{parent}." if parent else ""
        return [
            Piece(f"{prefix}{part}.{attribute}", _rows(module, (height, *inner), number))
            for number, (part, height) in enumerate(zip(parts, sizes, strict=True))
        ]
    name = f"{path}.{attribute}"
    if hasattr(module, "org_vocab_size"):
        held = module.shard_indices
        first, last = held.org_vocab_start_index, held.org_vocab_end_index
        return [Piece(name, Block((module.org_vocab_size, *inner), (last - first, *inner), first))]
    if isinstance(module, RowParallelLinear) and len(shape) == 2:
        return [Piece(name, columns((shape[0], shape[1]), module.tp_rank, module.tp_size))]
    if isinstance(module, ColumnParallelLinear):
        if len(sizes) > 1 and module.tp_size > 1:
            raise ValueError(
                f"--tensor-parallel: {name} is several tensors in one, whose split is not known here"
            )
        return [Piece(name, _rows(module, shape))]
    return [Piece(name, whole(shape))]


def _rows(module: Any, shape: tuple[int, ...], number: int = 0) -> Block:
    """The block of a column-parallel layer's tensor. The first tensor of a fused attention layer is the
    queries; the heads of the others are held several times where there are fewer of them than ranks."""
    if not isinstance(module, ColumnParallelLinear):
        return whole(shape)
    copies = getattr(module, "num_kv_head_replicas", 1) if number else 1
    return rows(shape, module.tp_rank, module.tp_size, copies)
