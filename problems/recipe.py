"""Instances that a seed reproduces, by split and size."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache

import numpy as np

from problems.problem import Skeleton, Splits

Drawn = dict[tuple[str, int], np.ndarray]


@cache
def _drawn(draw: Callable[[], Drawn]) -> Drawn:
    drawn = draw()
    for array in drawn.values():
        array.flags.writeable = False
    return drawn


@dataclass(frozen=True)
class Recipe:
    """``(split, size) -> instances``, read-only, drawn all at once when first asked for.

    ``draw`` is a module's function: random streams run through all splits, so what a size holds
    depends on those before it.
    """

    name: str
    sizes: Splits
    draw: Callable[[], Drawn]

    def __call__(self, split: str, size: int) -> np.ndarray:
        """The instances.

        Raises:
            ValueError: the split has no such size.
        """
        if size not in self.sizes.get(split, ()):
            offered = self.sizes[split] if split in self.sizes else tuple(self.sizes)
            raise ValueError(f"{self.name} has no {split} instances of size {size}: use {offered}")
        return _drawn(self.draw)[split, size]


def completed(skeleton: Skeleton, expressions: Mapping[str, str]) -> dict[str, str]:
    """Sources by name: the skeleton with its hole filled by each expression."""
    return {
        name: f"{skeleton.prefix} {expression}{skeleton.suffix}" for name, expression in expressions.items()
    }
