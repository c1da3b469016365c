"""What of a step arrives in the weights, by the way they are kept.

    python benchmarks/rounding.py [--every 7] [--updates 50] [--alpha 5e-4] [--json FILE]

Takes every 7th piece of the default model's weights, about 19 million, and moves them as the full kind does:
``alpha / N * sum z_i eps_i`` with standardised random z, N of 10 and of 30, once and 50 times in a row. They
are kept in

- bfloat16, each sum rounded to the nearest: 2 bytes a weight
- bfloat16, each sum rounded up or down at random, by bits of the counter-based generator: 2 bytes
- bfloat16 and the 16 bits that rounding cut off: 4 bytes, together exact float32
- bfloat16 for the engine and a float32 master: 6 bytes

``kept`` is what the next step is added to, ``live`` what the engine computes with. Of what has arrived after
all steps: cosine with what was intended, its part along the intended step (1: all of it), and the size of the
error beside the intended step.

The second table is about perturbations that are written into rounded weights: ``round(w + sigma eps) - w``
beside ``sigma eps``. Directions that ride in the activations are not rounded with the weights.
"""

import argparse
import math
import sys
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ahd.config import RunConfig
from ahd.es.noise import Float32, _combine, combine, key, noise
from ahd.models.weights import read_tensors

PIECE = 1 << 18
COUNTS = (10, 30)
SIGMAS = (1e-3, 2e-4, 5e-5)
UNIFORM = np.arange(1 << 16, dtype=np.float32)
"""A table under which the noise generator gives uniform numbers of 16 bits."""

Bits = np.ndarray
Rule = Callable[[Float32, Bits], Float32]
"""What is kept of a float32 sum, as float32, with 16 random bits for each number."""


def nearest(values: Float32, random: Bits | None = None) -> Float32:
    """The nearest bfloat16 numbers, ties to even."""
    bits = values.view(np.uint32)
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) & np.uint32(0xFFFF0000)).view(np.float32)


def stochastic(values: Float32, random: Bits) -> Float32:
    """One of the two bfloat16 neighbours, the nearer the likelier, so that the mean is exact."""
    return ((values.view(np.uint32) + random) & np.uint32(0xFFFF0000)).view(np.float32)


def split(values: Float32) -> tuple[np.ndarray, np.ndarray]:
    """bfloat16, ties away from zero, as 16 bits, and the signed 16 bits that were rounded away."""
    bits = values.view(np.uint32)
    high = (bits + 0x8000) >> 16
    return high.astype(np.uint16), (bits - (high << 16)).astype(np.uint16).view(np.int16)


def joined(high: np.ndarray, low: np.ndarray) -> Float32:
    """The float32 numbers that ``split`` took apart."""
    return ((high.astype(np.uint32) << 16) + low.astype(np.int32).view(np.uint32)).view(np.float32)


WAYS: dict[str, tuple[int, Rule]] = {
    "bfloat16, nearest": (2, nearest),
    "bfloat16, stochastic": (2, stochastic),
    "bfloat16 + 16 bits": (4, lambda values, random: joined(*split(values))),
    "float32 master": (6, lambda values, random: values),
}
"""Bytes per weight, the live copy included, and the rule."""


def dot(one: np.ndarray, other: np.ndarray) -> float:
    """Sum of products, on one thread."""
    return float((one * other).sum())


@dataclass
class Sums:
    """What a step was to be and what it became, added up over weights."""

    intended: float = 0.0
    arrived: float = 0.0
    product: float = 0.0
    error: float = 0.0

    def add(self, intended: np.ndarray, arrived: np.ndarray) -> None:
        self.intended += dot(intended, intended)
        self.arrived += dot(arrived, arrived)
        self.product += dot(intended, arrived)
        self.error += dot(arrived - intended, arrived - intended)

    def told(self) -> dict[str, float]:
        """Cosine, part along the intended step, error beside it."""
        return {
            "cosine": self.product / math.sqrt(self.intended * self.arrived) if self.arrived else 0.0,
            "along": self.product / self.intended,
            "error": math.sqrt(self.error / self.intended),
        }


@dataclass(frozen=True)
class Row:
    """One way after so many steps of N directions."""

    way: str
    bytes: int
    directions: int
    updates: int
    kept: dict[str, float]
    live: dict[str, float]


def uniform(seed: int, name: str, start: int, count: int) -> Bits:
    """Numbers of 16 bits, a pure function of (seed, name, index) like the noise."""
    out = np.zeros((1, count), np.float32)
    keys, one = key(seed, f"{name}#rounding").reshape(1, 4), np.ones(1, np.float32)
    _combine(out, out, start, count, keys, one, UNIFORM, False)
    return out[0].astype(np.uint32)


def pieces(folder: Path, every: int) -> Iterator[tuple[str, int, Float32]]:
    """Every so-manieth piece of the model: name of the tensor, number of the first element, bfloat16 values
    as float32."""
    number = 0
    for name, array in read_tensors(folder):
        flat = array.reshape(-1)
        for start in range(0, flat.size, PIECE):
            if number % every == 0:
                yield name, start, nearest(np.ascontiguousarray(flat[start : start + PIECE]))
            number += 1


def rewards(update: int, count: int) -> list[float]:
    """Standardised weights of the directions of one update."""
    drawn = np.random.default_rng([update, count]).standard_normal(count)
    return ((drawn - drawn.mean()) / drawn.std()).tolist()


def walk(
    name: str, start: int, base: Float32, count: int, updates: int, alpha: float
) -> Iterator[tuple[int, str, np.ndarray, np.ndarray, np.ndarray]]:
    """Move one piece. After the first step and after the last: number of steps, way, what was intended,
    what arrived in what is kept, what arrived in the live weights."""
    kept = dict.fromkeys(WAYS, base)
    intended = np.zeros(base.size)
    for update in range(1, updates + 1):
        seeds = range(update * 1000, update * 1000 + count)
        step = np.zeros_like(base)
        factors = [alpha / count * weight for weight in rewards(update, count)]
        combine(step, step, seeds, name, factors, start, measure=False)
        intended += step
        random = uniform(update, name, start, base.size)
        for way, (_, rule) in WAYS.items():
            kept[way] = rule(kept[way] + step, random)
            if update in (1, updates):
                yield (
                    update,
                    way,
                    intended,
                    kept[way] - np.float64(base),
                    nearest(kept[way]) - np.float64(base),
                )


def steps(folder: Path, options: argparse.Namespace) -> tuple[list[Row], int]:
    """The first table, and how many weights it is about."""
    sums: dict[tuple[int, int, str], tuple[Sums, Sums]] = {}
    size = 0
    for name, start, base in pieces(folder, options.every):
        size += base.size
        for count in COUNTS:
            for done, way, intended, kept, live in walk(
                name, start, base, count, options.updates, options.alpha
            ):
                pair = sums.setdefault((count, done, way), (Sums(), Sums()))
                pair[0].add(intended, kept)
                pair[1].add(intended, live)
    rows = [
        Row(way, WAYS[way][0], count, done, kept.told(), live.told())
        for (count, done, way), (kept, live) in sums.items()
    ]
    return sorted(rows, key=lambda row: (row.updates, row.directions)), size


def perturbations(folder: Path, every: int) -> list[dict[str, Any]]:
    """The second table."""
    formats: dict[str, Callable[[Float32], Float32]] = {
        "bfloat16": nearest,
        "float16": lambda values: values.astype(np.float16).astype(np.float32),
    }
    sums = {(name, sigma): Sums() for name in formats for sigma in SIGMAS}
    for name, start, base in pieces(folder, every):
        eps = noise(1, name, start, base.size)
        for (label, sigma), total in sums.items():
            rounded = formats[label]
            origin, intended = rounded(base), np.float32(sigma) * eps
            arrived = rounded(origin + intended).astype(np.float64) - origin
            total.add(intended.astype(np.float64), arrived)
    return [{"format": name, "sigma": sigma, **total.told()} for (name, sigma), total in sums.items()]


def show(rows: list[Row], arrived: list[dict[str, Any]]) -> None:
    measures = ("cosine", "along", "error")
    head = "".join(f"{f'{where} {what}':>13}" for where in ("kept", "live") for what in measures)
    print(f"{'way':22}{'bytes':>6}{'N':>4}{'steps':>6}{head}")
    for row in rows:
        numbers = "".join(f"{told[what]:13.4f}" for told in (row.kept, row.live) for what in measures)
        print(f"{row.way:22}{row.bytes:6}{row.directions:4}{row.updates:6}{numbers}")
    print(f"\n{'perturbed weights':22}{'sigma':>8}" + "".join(f"{what:>10}" for what in measures))
    for each in arrived:
        numbers = "".join(f"{each[what]:10.4f}" for what in measures)
        print(f"{each['format']:22}{each['sigma']:8.0e}{numbers}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", default=RunConfig("tsp").model)
    parser.add_argument("--every", type=int, default=7, help="take one piece of so many; 1: all weights")
    parser.add_argument("--updates", type=int, default=50)
    parser.add_argument("--alpha", type=float, default=5e-4)
    parser.add_argument("--json", type=Path, help="also write the figures to this file")
    options = parser.parse_args()

    from ahd.models.resolve import resolve_model
    from benchmarks.machine import facts, write

    machine, folder = facts(), Path(resolve_model(options.model))
    rows, size = steps(folder, options)
    arrived = perturbations(folder, options.every)
    print(f"{options.model}, {size / 1e6:.1f} million weights, alpha {options.alpha:g}")
    show(rows, arrived)
    settings = {name: getattr(options, name) for name in ("model", "every", "updates", "alpha")}
    write(
        options.json,
        machine,
        **settings,
        weights=size,
        steps=[asdict(row) for row in rows],
        perturbations=arrived,
    )


if __name__ == "__main__":
    sys.path[0] = str(Path(__file__).resolve().parent.parent)
    main()
