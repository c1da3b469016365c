"""What evolution strategies on the live weights cost, beside copying the weights once.

    python benchmarks/es_overhead.py [--sizes 10,16,30] [--repeats 3] [--json FILE]
    python benchmarks/es_overhead.py --run RUN [--ratio 0.95] [--json FILE]

The first form measures one engine, each kind in turn, every job once a repeat, and prints medians. Jobs are
what the search asks of the worker; lines set in are parts of the job above, packing a part of writing the
live weights. ``x copy`` is the time as a multiple of copying all weights once, in the engine's number format
and in float32, with every core.

The second form takes a finished run that was never interrupted and says what share of its wall time was ES
work. Bookkeeping is the time from the last proposal of a batch to its update, the update left out. Directions
that ride in the activations are perturbed while tokens are written: with ``--ratio``, the tokens per second
of directions beside the frozen batch (``benchmarks/directions.py``), the rest of the time that went into
writing perturbed proposals counts as perturbing too.
"""

import argparse
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from statistics import median
from typing import Any
from unittest.mock import patch

import numpy as np

from ahd.config import ConfigError, Kind, RunConfig
from ahd.es.perturbation import Treatment, perturbation_of, scales

CASES = {
    "full all": RunConfig("tsp", kind=Kind.FULL, scope="all"),
    "lowrank linear": RunConfig("tsp", kind=Kind.LOWRANK, scope="linear"),
    "norms": RunConfig("tsp", kind=Kind.FULL, scope="norms"),
}
CHUNK = 1 << 20
PART = "  of which "

Seconds = dict[str, float]


@contextmanager
def stopwatch(owner: Any, name: str, label: str, seconds: Seconds) -> Iterator[None]:
    """Add up the time spent in a method or function of ``owner``."""
    method = getattr(owner, name)
    seconds[label] = 0.0

    def watched(*args: Any, **kwargs: Any) -> Any:
        started = time.perf_counter()
        try:
            return method(*args, **kwargs)
        finally:
            seconds[label] += time.perf_counter() - started

    with patch.object(owner, name, watched):
        yield


def timed(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def copy_seconds(values: int, dtype: type) -> float:
    """Seconds of copying so many numbers with every core: the bound on anything that touches all weights."""
    from ahd.es.noise import threads

    source: np.ndarray = np.ones(values, dtype)
    target: np.ndarray = np.zeros(values, dtype)

    def piece(low: int) -> Callable[[], float]:
        def copy() -> float:
            target[low : low + CHUNK] = source[low : low + CHUNK]
            return 0.0

        return copy

    pieces = [piece(low) for low in range(0, values, CHUNK)]
    return min(timed(lambda: threads.run(pieces)) for _ in range(5))


def make_noise(masters: Any, seed: int) -> None:
    """Make every number of one direction, and do nothing with it."""
    from ahd.es.factors import COLUMNS, ROWS, factor
    from ahd.es.noise import add_noise

    zeros, out = np.zeros(CHUNK, np.float32), np.empty(CHUNK, np.float32)
    for name, array in masters.arrays.items():
        if masters.treatment(name) is Treatment.LOW_RANK:
            for side, length in zip((ROWS, COLUMNS), array.shape, strict=True):
                factor(seed, name, side, 0, length, masters.perturbation.rank)
        else:
            for low in range(0, array.size, CHUNK):
                size = min(CHUNK, array.size - low)
                add_noise(out[:size], zeros[:size], seed, name, 1.0, low)


def measure(worker: Any, config: RunConfig, sizes: list[int], seed: int) -> Seconds:
    """Every job of one kind once: label and seconds, parts right behind the whole."""
    from ahd.models import parameters

    found: Seconds = {}
    sigma, alpha = scales(config)
    masters = worker._masters

    def job(label: str, work: Callable[[], object], *parts: tuple[Any, str, str]) -> None:
        inner: Seconds = {}
        with ExitStack() as stack:
            for owner, name, what in [*parts, (parameters, "_pack", "packing")]:
                stack.enter_context(stopwatch(owner, name, label + PART + what, inner))
            found[label] = timed(work)
        found.update({key: value for key, value in inner.items() if value})

    job("noise", lambda: make_noise(masters, seed))
    if config.scope == "norms" or config.kind is Kind.LOWRANK:
        for size in sizes:
            seeds, sigmas = (",".join(map(repr, each)) for each in (range(seed, seed + size), [sigma] * size))
            job(f"fill slots, N={size}", lambda a=seeds, b=sigmas: worker.es_directions(a, b))
        job("free slots", worker.es_directions)
    else:
        job("apply", lambda: worker.es_apply(seed, sigma))
        job("restore", worker.es_restore)
    for size in sizes:
        weights = np.random.default_rng(seed).standard_normal(size).tolist()
        seeds, values = (",".join(map(repr, each)) for each in (range(seed, seed + size), weights))
        job(
            f"update, N={size}",
            lambda a=seeds, b=values: worker.es_update(a, b, alpha),
            (masters, "update", "moving masters"),
            (worker, "es_restore", "live weights"),
            (masters, "hash", "hash"),
        )
    job("reset", worker.es_reset)
    return found


def batch_totals(found: Seconds, sizes: list[int]) -> Seconds:
    """Seconds of all ES work in a batch of N directions: perturbing, restoring and the update."""
    totals = {}
    for size in sizes:
        if "apply" in found:
            perturbing = size * found["apply"] + found["restore"]
        else:
            perturbing = found[f"fill slots, N={size}"] + found["free slots"]
        totals[f"whole batch, N={size}"] = perturbing + found[f"update, N={size}"]
    return totals


def directions_of(label: str) -> int:
    """How many directions a job was for."""
    head = label.partition(PART)[0]
    return int(head.partition("N=")[2] or 1)


def run_shares(folder: Path, ratio: float) -> dict[str, float]:
    """Seconds of a run by what they were spent on, and the share of ES work in the wall time.

    Raises:
        ConfigError: no run there.
    """
    from ahd.figures import figures
    from ahd.store import Store

    with closing(Store.open(folder)) as store:
        rows, updates, wall = store.proposals(), store.updates(), store.wall_seconds()
    told = figures(rows, updates, wall)
    last = {row.batch: row.created for row in rows}
    waits = [update.created - last[update.batch] - update.seconds for update in updates]
    writing = sum(row.model_seconds for row in rows if row.direction_seed is not None)
    updating = sum(update.seconds for update in updates)
    parts = {
        "perturb and restore": told["seconds"]["es"] - updating,
        "perturb while writing": (1 - ratio) * writing,
        "update": updating,
        "bookkeeping": sum(max(0.0, wait) for wait in waits),
    }
    return {
        "proposals": len(rows),
        "updates": len(updates),
        "wall": wall,
        "model": told["seconds"]["model"],
        "evaluation": told["seconds"]["evaluation"],
        **parts,
        "ES share of wall": sum(parts.values()) / wall,
    }


def tell_run(options: argparse.Namespace) -> None:
    from benchmarks.machine import facts, write

    found = run_shares(options.run, options.ratio)
    for label, value in found.items():
        if label == "ES share of wall":
            print(f"{label:24}{value:9.2%}")
        else:
            unit = "" if label in ("proposals", "updates") else " s"
            print(f"{label:24}{value:9.{2 if unit else 0}f}{unit}")
    write(options.json, facts(), ratio=options.ratio, run=found)


def tell_machine(options: argparse.Namespace) -> None:
    from ahd.models.runtime import reexec_with_preload

    reexec_with_preload()
    from ahd.models.live import LiveModel
    from benchmarks.machine import facts, write

    sizes = [int(word) for word in options.sizes.split(",")]
    machine = facts()
    model = LiveModel(options.model, dtype=options.dtype, max_length=1024)
    worker = model._engine.model_executor.driver_worker.worker
    long = copy_seconds(model.parameters, np.float32)
    short = long if model.dtype == "float32" else copy_seconds(model.parameters, np.uint16)
    print(f"{model.name}, {model.parameters / 1e6:.1f} million weights, {model.dtype}, {machine['cpu']}")
    print(f"copying all weights: {short:.3f} s in {model.dtype}, {long:.3f} s in float32")
    rows: list[dict[str, Any]] = []
    for case, config in CASES.items():
        model.use(perturbation_of(config))
        print(f"\n{case + ', s':36}{'a batch':>9}{'a direction':>13}{'x copy':>8}{'x float32':>11}")
        rounds = [measure(worker, config, sizes, 100 * repeat) for repeat in range(options.repeats + 1)]
        # The first round compiles.
        medians = {label: median(each[label] for each in rounds[1:]) for label in rounds[1]}
        for label, seconds in {**medians, **batch_totals(medians, sizes)}.items():
            size = directions_of(label)
            shown = PART + label.partition(PART)[2] if PART in label else label
            print(
                f"{shown:36}{seconds:9.3f}{seconds / size:13.4f}{seconds / short:8.1f}{seconds / long:11.1f}",
                flush=True,
            )
            rows.append({"case": case, "what": label, "directions": size, "seconds": seconds})
    write(
        options.json,
        machine,
        model=model.name,
        dtype=model.dtype,
        parameters=model.parameters,
        copy_seconds={"engine": short, "float32": long},
        repeats=options.repeats,
        rows=rows,
    )
    model.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", default=RunConfig("tsp").model)
    parser.add_argument("--dtype", default="auto", help="number format of the engine")
    parser.add_argument("--sizes", default="10,16,30", help="directions in a batch")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--run", type=Path, help="share of ES work in this run, instead")
    parser.add_argument("--ratio", type=float, default=1.0, help="tokens/s of directions beside frozen")
    parser.add_argument("--json", type=Path, help="also write the figures to this file")
    options = parser.parse_args()
    if options.run:
        tell_run(options)
    else:
        tell_machine(options)


if __name__ == "__main__":
    sys.path[0] = str(Path(__file__).resolve().parent.parent)
    try:
        main()
    except ConfigError as error:
        sys.exit(f"es_overhead.py: {error}")
