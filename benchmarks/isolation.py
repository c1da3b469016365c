"""What confining a candidate costs, beside a bare fork and a fresh interpreter, in one run.

    python benchmarks/isolation.py [--repeats 200] [--json FILE]

Medians of wall milliseconds, in turn, in a process that is set up as a sandbox worker is (``tsp``):

bare fork           a child that ends at once
limits              a child that takes the limits that every system has, then ends
limits and layers   the same, with Landlock and seccomp where they are: what candidates get
interpreter         a fresh Python that imports numpy and ends

Then what the sandbox adds to an evaluation as a whole (see ``evaluators.py``), with all layers and with none.
"""

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

FRESH = 20
"""Interpreters started."""


def forked(act: Callable[[], None]) -> float:
    """Milliseconds from before the fork until a child that acts has ended."""
    started = time.perf_counter()
    child = os.fork()
    if child == 0:
        try:
            act()
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    return 1000 * (time.perf_counter() - started)


def interpreter() -> float:
    """Milliseconds of a fresh Python with numpy."""
    started = time.perf_counter()
    subprocess.run([sys.executable, "-c", "import numpy"], check=True)
    return 1000 * (time.perf_counter() - started)


def costs(repeats: int) -> dict[str, float]:
    """Medians by name."""
    from evaluators import confine, layers, worker
    from problems.tsp import problem

    worker.preload()
    worker.simplest(problem)
    plain = confine.Confines(confine.address_space(), 2048 << 20, 10.0, 0)
    full = worker.layered(plain, layers.chosen(layers.Mode.AUTO))
    parent = os.getpid()
    jobs: dict[str, Callable[[], None]] = {
        "bare fork": lambda: None,
        "limits": lambda: confine.confine(parent, plain, keep=2),
        "limits and layers": lambda: confine.confine(parent, full, keep=2),
    }
    found: dict[str, list[float]] = {name: [] for name in jobs}
    for _ in range(repeats):
        for name, job in jobs.items():
            found[name].append(forked(job))
    return {name: median(taken) for name, taken in found.items()} | {
        "interpreter": median(interpreter() for _ in range(FRESH))
    }


def whole(repeats: int) -> dict[str, dict[str, float]]:
    """What the sandbox adds, by mode."""
    from benchmarks.evaluators import isolation

    return {mode: isolation("tsp", repeats, mode) for mode in ("off", "auto")}


def main() -> None:
    from evaluators.launch import FIXED

    if os.environ.get("NUMBA_NUM_THREADS") != "1":  # before numpy is loaded
        os.execve(sys.executable, [sys.executable, *sys.argv], {**os.environ, **FIXED})
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=200)
    parser.add_argument("--json", type=Path, help="also write the figures to this file")
    options = parser.parse_args()
    from benchmarks.machine import facts, write
    from evaluators import layers

    machine, level = facts(), layers.told(layers.chosen(layers.Mode.AUTO))
    found = costs(options.repeats)
    found["restrictions"] = found["limits and layers"] - found["bare fork"]
    print(f"{level}; milliseconds: " + ", ".join(f"{name} {value:.2f}" for name, value in found.items()))
    added: dict[str, Any] = whole(options.repeats)
    for name, cost in added.items():
        print(f"sandbox {name}: " + ", ".join(f"{key} {value:.3g}" for key, value in cost.items()))
    write(options.json, machine, level=level, repeats=options.repeats, milliseconds=found, sandbox=added)


if __name__ == "__main__":
    sys.path[0] = str(Path(__file__).resolve().parent.parent)
    main()
