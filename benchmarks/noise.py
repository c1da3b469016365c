"""How near making, applying and adding up noise comes to the memory bandwidth of the machine.

Prints, for one thread and for all, seconds for as many values as the shipped model has, GB/s of the arrays
read and written, and the time as a multiple of copying the same number of float32 values. Every figure is the
best of several rounds, and each round does everything once, so that all share the same quiet moments.

    python benchmarks/noise.py [--values 134515008] [--rounds 5] [--device cuda] [--json FILE]

Making noise is limited by the table of quantiles: 256 KB, read at random from the second-level cache, take
two thirds of the time; Philox takes a quarter. Each direction of an update makes its noise once, so an update
takes N times that, whatever the memory does. ``--device`` adds the torch version on that device.
"""

import argparse
import json
import os
import platform
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from ahd.es.noise import add_noise, combine, threads

MODEL = 134_515_008
"""Weights of SmolLM2-135M."""
CHUNK = 1 << 20
NAME = "model.layers.0.mlp.down_proj.weight"
COPY = "copy float32"

Jobs = dict[str, tuple[int, Callable[[], object]]]
"""Label: bytes that a value takes in the arrays read and written, and the work."""


def numba_jobs(values: int) -> Jobs:
    master, out = np.ones(values, np.float32), np.ones(values, np.float32)
    short, other = np.ones(values, np.uint16), np.ones(values, np.uint16)
    zeros, chunk = np.zeros(CHUNK, np.float32), np.empty(CHUNK, np.float32)

    def copy(target: np.ndarray, source: np.ndarray) -> None:
        def piece(low: int) -> Callable[[], float]:
            part = slice(low, low + CHUNK)
            return lambda: np.copyto(target[part], source[part]) or 0.0

        threads.run([piece(low) for low in range(0, values, CHUNK)])

    def generate() -> None:
        for low in range(0, values, CHUNK):
            size = min(CHUNK, values - low)
            add_noise(chunk[:size], zeros[:size], 1, NAME, 1.0, low)

    def update(directions: int) -> Callable[[], object]:
        return lambda: combine(out, out, range(directions), NAME, [1e-6] * directions)

    return {
        "copy bfloat16": (4, lambda: copy(other, short)),
        COPY: (8, lambda: copy(out, master)),
        "make noise": (4, generate),
        "apply": (8, lambda: add_noise(out, master, 1, NAME, 1e-3)),
        "update, N=10": (8, update(10)),
        "update, N=30": (8, update(30)),
    }


def torch_jobs(values: int, device: str) -> Jobs:
    import torch

    from ahd.es import noise_torch

    master, out = (torch.ones(values, device=device) for _ in range(2))

    def finished(work: Callable[[], object]) -> Callable[[], object]:
        def run() -> None:
            work()
            out[:1].cpu()

        return run

    def update() -> None:
        noise_torch.combine(out, out, range(10), NAME, [1e-6] * 10)

    return {
        COPY: (8, finished(lambda: out.copy_(master))),
        "apply": (8, finished(lambda: noise_torch.add_noise(out, master, 1, NAME, 1e-3))),
        "update, N=10": (8, finished(update)),
    }


def measure(jobs: Jobs, where: str, values: int, rounds: int) -> list[dict[str, object]]:
    """Do every job once a round; one row of figures for each, printed as well."""
    best = dict.fromkeys(jobs, float("inf"))
    for number in range(rounds + 1):
        for label, (_, work) in jobs.items():
            started = time.perf_counter()
            work()
            if number:  # the first round compiles
                best[label] = min(best[label], time.perf_counter() - started)
    print(f"{where + ':':16}{'seconds':>9}{'GB/s':>8}{'x copy':>8}")
    rows: list[dict[str, object]] = []
    for label, (size, _) in jobs.items():
        seconds, rate = best[label] * MODEL / values, size * values / best[label] / 1e9
        ratio = best[label] / best[COPY]
        print(f"  {label:14}{seconds:9.3f}{rate:8.1f}{ratio:8.1f}", flush=True)
        rows.append({"where": where, "what": label, "seconds": seconds, "gb_s": rate, "copies": ratio})
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--values", type=int, default=MODEL, help="values measured; seconds are scaled to the model's"
    )
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--device", help="measure the torch version on this device too")
    parser.add_argument("--json", type=Path, help="also write the figures to this file")
    options = parser.parse_args()

    cores = sorted(threads.cores)
    rows: list[dict[str, object]] = []
    jobs = numba_jobs(options.values)
    for count in sorted({1, len(cores)}):
        threads.cores = set(cores[:count])
        os.sched_setaffinity(0, threads.cores)
        rows += measure(jobs, f"{count} thread{'s' * (count > 1)}", options.values, options.rounds)
    if options.device:
        rows += measure(
            torch_jobs(options.values, options.device),
            f"torch, {options.device}",
            options.values,
            options.rounds,
        )
    if options.json:
        machine = {"machine": platform.machine(), "cores": len(cores), "values": options.values}
        options.json.write_text(json.dumps({**machine, "rows": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
