"""Instances that a seed reproduces, by split and size."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache

import numpy as np

from problems.problem import Skeleton, Splits

Drawn = dict[tuple[str, int], np.ndarray]
Seeded = Callable[[int], np.random.RandomState]
"""Makes the generator for a published seed."""
Draw = Callable[[Seeded], Drawn]


@cache
def _drawn(draw: Draw) -> Drawn:
    drawn = draw(np.random.RandomState)
    for array in drawn.values():
        array.flags.writeable = False
    return drawn


@dataclass(frozen=True)
class Recipe:
    """``(split, size) -> instances``, read-only, drawn all at once when first asked for.

    ``draw`` is a module's function, which gets its generators from its argument: random streams run
    through all splits, so what a size holds depends on those before it.
    """

    name: str
    sizes: Splits
    draw: Draw

    def __call__(self, split: str, size: int) -> np.ndarray:
        """The instances.

        Raises:
            ValueError: the split has no such size.
        """
        self._check(split, size)
        return _drawn(self.draw)[split, size]

    def redraw(self, seed: int, split: str, size: int) -> np.ndarray:
        """Other instances of the same distribution, shape and dtype, read-only: those of the streams that
        start from ``seed`` (0 to 2**32 - 1) and the published seed. Drawn anew at every call.

        Raises:
            ValueError: the split has no such size.
        """
        self._check(split, size)
        array = self.draw(lambda published: np.random.RandomState([seed, published]))[split, size]
        array.flags.writeable = False
        return array

    def _check(self, split: str, size: int) -> None:
        if size not in self.sizes.get(split, ()):
            offered = self.sizes[split] if split in self.sizes else tuple(self.sizes)
            raise ValueError(f"{self.name} has no {split} instances of size {size}: use {offered}")


def completed(skeleton: Skeleton, expressions: Mapping[str, str]) -> dict[str, str]:
    """Sources by name: the skeleton with its hole filled by each expression."""
    return {
        name: f"{skeleton.prefix} {expression}{skeleton.suffix}" for name, expression in expressions.items()
    }
