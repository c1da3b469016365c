"""How the tensors of a model are cut over the ranks of a tensor-parallel engine.

Each rank holds a block of some tensors and the whole of the others. What the ranks have to agree on goes
through here, so that norm, hash and refusals of an update do not depend on the number of ranks.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from typing import Any, Protocol

import numpy as np

from ahd.es.noise import Float32


class Ranks(Protocol):
    """The processes of one engine, as one of them sees the others. All of them make the same calls in the
    same order."""

    @property
    def rank(self) -> int: ...

    @property
    def size(self) -> int: ...

    def share(self, value: Any) -> list[Any]:
        """The value of every rank, in their order, on every rank."""
        ...

    def send(self, array: Float32, to: int) -> None: ...

    def receive(self, shape: tuple[int, ...], sender: int) -> Float32: ...


class Alone:
    """The ranks of an engine that has one."""

    rank = 0
    size = 1

    def share(self, value: Any) -> list[Any]:
        return [value]

    def send(self, array: Float32, to: int) -> None:
        raise ValueError("there is no other rank")

    def receive(self, shape: tuple[int, ...], sender: int) -> Float32:
        raise ValueError("there is no other rank")


@dataclass(frozen=True)
class Block:
    """The part of shape ``shape`` of a tensor of shape ``whole`` that begins at ``row`` and ``column``."""

    whole: tuple[int, ...]
    shape: tuple[int, ...]
    row: int = 0
    column: int = 0

    @property
    def is_whole(self) -> bool:
        return self.shape == self.whole

    @property
    def is_narrow(self) -> bool:
        """Whether its rows are parts of the tensor's rows."""
        return self.shape[1:] != self.whole[1:]

    @property
    def width(self) -> int:
        """Elements in a row of the tensor."""
        return prod(self.whole[1:])

    @property
    def index(self) -> tuple[slice, ...]:
        """Where it lies in the tensor."""
        starts = (self.row, self.column) + (0,) * len(self.shape)
        return tuple(slice(start, start + size) for start, size in zip(starts, self.shape, strict=False))


def whole(shape: tuple[int, ...]) -> Block:
    """A tensor that every rank holds whole."""
    return Block(shape, shape)


def rows(shape: tuple[int, ...], rank: int, ranks: int, copies: int = 1) -> Block:
    """An equal share of the rows of a tensor, of shape ``shape``; ``copies`` ranks in a row hold the same."""
    return Block((shape[0] * (ranks // copies), *shape[1:]), shape, row=rank // copies * shape[0])


def columns(shape: tuple[int, int], rank: int, ranks: int) -> Block:
    """An equal share of the columns of a matrix, of shape ``shape``."""
    return Block((shape[0], shape[1] * ranks), shape, column=rank * shape[1])


class Split:
    """Which blocks the ranks hold.

    Args:
        blocks: this rank's block of every tensor, by name; tensors that are not named are whole.
    """

    def __init__(self, blocks: Mapping[str, Block] | None = None, ranks: Ranks | None = None) -> None:
        self._ranks = ranks or Alone()
        self._blocks: dict[str, list[Block]] = {}
        self._shapes: dict[str, tuple[int, ...]] = {}
        everyone = self._ranks.share(dict(blocks or {}))
        for name, block in everyone[0].items():
            self._shapes[name] = block.whole
            each = [held[name] for held in everyone]
            if not all(part.is_whole for part in each):
                self._blocks[name] = each

    @property
    def size(self) -> int:
        """Number of ranks."""
        return self._ranks.size

    @property
    def names(self) -> set[str]:
        """The tensors that blocks are known of."""
        return set(self._shapes)

    def is_split(self, name: str) -> bool:
        """Whether no rank, or not every one, holds the whole of a tensor."""
        return name in self._blocks

    def block(self, name: str, shape: tuple[int, ...]) -> Block:
        """This rank's block of a tensor; ``shape`` is that of the block."""
        return self._blocks[name][self._ranks.rank] if name in self._blocks else whole(shape)

    def cut(self, name: str, tensor: Float32) -> Float32:
        """This rank's block of a whole tensor: a copy, or the tensor itself where it is not split.

        Raises:
            ValueError: the tensor does not have the shape that the blocks are parts of.
        """
        expected = self._shapes.get(name, tensor.shape)
        if tensor.shape != expected:
            raise ValueError(
                f"--tensor-parallel: {name} has shape {tensor.shape} in the model's files and {expected} "
                "in the engine: it is split in a way that is not known here"
            )
        if name not in self._blocks:
            return tensor
        return tensor[self._blocks[name][self._ranks.rank].index].copy()

    def join(self, name: str, block: Float32, to: int) -> Float32 | None:
        """The whole of a split tensor, put together on rank ``to``; None on the others."""
        blocks = self._blocks[name]
        if self._ranks.rank != to:
            self._ranks.send(block, to)
            return None
        tensor = np.empty(blocks[0].whole, np.float32)
        for rank, part in enumerate(blocks):
            tensor[part.index] = block if rank == to else self._ranks.receive(part.shape, rank)
        return tensor

    def counts(self, name: str) -> bool:
        """Whether this rank counts its part of a tensor: of ranks that hold the same, the first one does."""
        blocks = self._blocks.get(name)
        return (blocks.index(blocks[self._ranks.rank]) if blocks else 0) == self._ranks.rank

    def owns(self, number: int) -> bool:
        """Whether this rank does the work that has a number, of work that one rank does for all."""
        return number % self._ranks.size == self._ranks.rank

    def share(self, value: Any) -> list[Any]:
        """The value of every rank, on every rank."""
        return self._ranks.share(value)

    def agree(self, digests: Mapping[str, bytes]) -> dict[str, bytes]:
        """What all ranks know together.

        Raises:
            RuntimeError: two ranks differ.
        """
        known: dict[str, bytes] = {}
        for each in self._ranks.share(dict(digests)):
            for name, digest in each.items():
                if known.setdefault(name, digest) != digest:
                    raise RuntimeError(f"{name} is not the same on all ranks of the engine")
        return known
