"""The ranks of vLLM's tensor-parallel group, talking over the processors' side of it."""

from typing import Any

import torch
from torch import distributed
from vllm.distributed.parallel_state import get_tp_group

from ahd.es.noise import Float32
from ahd.models.split import Alone, Ranks


class Group:
    """Implements ``ahd.models.split.Ranks`` with torch's group of processes."""

    def __init__(self, group: Any) -> None:
        self._group = group
        self.rank: int = group.rank_in_group
        self.size: int = group.world_size

    def share(self, value: Any) -> list[Any]:
        values = [None] * self.size
        distributed.all_gather_object(values, value, group=self._group.cpu_group)
        return values

    def send(self, array: Float32, to: int) -> None:
        distributed.send(torch.from_numpy(array), self._group.ranks[to], group=self._group.cpu_group)

    def receive(self, shape: tuple[int, ...], sender: int) -> Float32:
        tensor = torch.empty(shape, dtype=torch.float32)
        distributed.recv(tensor, self._group.ranks[sender], group=self._group.cpu_group)
        return tensor.numpy()


def ranks() -> Ranks:
    """The ranks of the engine that this process belongs to."""
    group = get_tp_group()
    return Group(group) if group.world_size > 1 else Alone()
