"""Thousands of candidates, a third of them hostile, through one sandbox: nothing may be left or grow.

    python benchmarks/soak.py [--problem tsp] [--candidates 10000] [--workers 2] [--json FILE]

Honest candidates are the problem's simplest heuristic with a number of their own in it; broken and hostile
ones have the outcomes they may have beside them. Every so many candidates it prints, for this process and
the workers: resident memory, open descriptors, threads; and of the whole machine: processes that descend from
the workers, files in the temporary folder and in shared memory. It fails when an outcome is another than it
may be, an honest candidate scores anything but its objective, a timeout comes over a second after its limit,
a process is left, or memory grows by more than ``GROWTH_MB`` after the first tenth.
"""

import argparse
import itertools
import os
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

LIMIT = 0.2
"""CPU seconds a candidate gets."""
GROWTH_MB = 20.0
STATEMENTS: dict[str, tuple[str, set[str]]] = {
    "endless loop": ("while True: pass", {"timeout"}),
    "sleeper": ("time.sleep(60)", {"timeout"}),
    "memory": ("held = bytearray(8 << 30)", {"memory"}),
    "fork": ("os.fork()", {"forbidden"}),
    "thread": ("import threading; threading.Thread(target=print).start()", {"forbidden"}),
    "reads": ("open('/etc/passwd').read()", {"forbidden"}),
    "writes": ("open('/tmp/ahd-soak-canary', 'w').write('x')", {"forbidden"}),
    "socket": ("import socket; socket.socket()", {"forbidden"}),
    "kills its parent": ("os.kill(os.getppid(), 9)", {"forbidden"}),
    "executes": ("os.execv('/bin/true', ['true'])", {"forbidden"}),
    "leaves": ("os._exit(0)", {"crashed"}),
    "crashes": ("import ctypes; ctypes.string_at(0)", {"crashed"}),
    "floods": ("print('x' * 10_000_000)", {"ok"}),
    "forges a result": ("[os.write(fd, b'AHD1D') for fd in range(3, 64)]", {"runtime_error", "crashed"}),
}
"""What a candidate does where it is loaded, and the outcomes it may have."""


def hostile(problem: Any) -> dict[str, tuple[str, set[str]]]:
    """Broken and hostile candidates for a problem decided step by step, and the outcomes they may have."""
    head = f"def {problem.function}({', '.join(problem.arguments)}):\n"
    known = problem.simplest[1]
    return {
        name: (f"import os, sys, time\n{statement}\n{known}", allowed)
        for name, (statement, allowed) in STATEMENTS.items()
    } | {
        "negative alias": (f"{head}    return -1\n", {"invalid_solution"}),
        "an argument": (f"{head}    return {problem.arguments[0]}\n", {"invalid_solution"}),
        "syntax": (head[:-10], {"syntax_error"}),
        "raises": (f"{head}    raise KeyError\n", {"runtime_error"}),
    }


def figures(workers: list[int]) -> dict[str, float]:
    """What is held now."""
    shared = Path("/dev/shm")
    return {
        "main_mb": resident(os.getpid()),
        "workers_mb": sum(map(resident, workers)),
        "descriptors": sum(len(os.listdir(f"/proc/{pid}/fd")) for pid in (os.getpid(), *workers)),
        "threads": len(os.listdir("/proc/self/task")),
        "children": sum(parent in workers and pid not in workers for pid, parent in parents().items()),
        "temporary": len(os.listdir(tempfile.gettempdir())),
        "shared": len(os.listdir(shared)) if shared.is_dir() else 0,
    }


def resident(pid: int) -> float:
    """MiB of a process in memory."""
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def parents() -> dict[int, int]:
    """The parent of every process, dead ones that nobody has reaped included."""
    found = {}
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                fields = Path(f"/proc/{entry}/stat").read_text().rsplit(")", 1)[1].split()
            except OSError:
                continue
            found[int(entry)] = int(fields[1])
    return found


def soak(problem: Any, candidates: int, workers: int, every: int) -> dict[str, Any]:
    """Put ``candidates`` through a sandbox; the figures, and what went wrong."""
    from evaluators.sandbox import Sandbox

    honest = problem.simplest[1]
    others = itertools.cycle(hostile(problem).items())
    wrong: list[str] = []
    counts: Counter[str] = Counter()
    rows: list[dict[str, float]] = []
    latest = 0.0
    with Sandbox(problem, workers=workers, memory_mb=512, time_limit=LIMIT) as sandbox:
        expected = sandbox.submit(honest, time_limit=10.0).result().objective
        began = time.monotonic()
        for first in range(0, candidates, every):
            pending = []
            for number in range(first, min(first + every, candidates)):
                if number % 3:
                    future = sandbox.submit(f"{honest}\n# {number}\n", time_limit=10.0)
                    pending.append(("honest", {"ok"}, future))
                else:
                    name, (source, allowed) = next(others)
                    pending.append((name, allowed, sandbox.submit(f"{source}\n# {number}\n")))
            for name, allowed, future in pending:
                outcome = future.result()
                counts[outcome.status.value] += 1
                if outcome.status.value not in allowed:
                    wrong.append(f"{name}: {outcome.status}: {outcome.detail}")
                if name == "honest" and outcome.objective != expected:
                    wrong.append(f"honest: {outcome.objective} instead of {expected}")
                if outcome.status.value == "timeout":
                    latest = max(latest, outcome.seconds - LIMIT)
            now = {"candidates": float(first + len(pending))} | figures(sandbox.pids)
            rows.append(now | {"seconds": time.monotonic() - began})
            print("  ".join(f"{key} {value:.6g}" for key, value in rows[-1].items()), flush=True)
    if latest > 1.0:
        wrong.append(f"a timeout came {latest:.2f} s after its limit")
    if any(row["children"] for row in rows):
        wrong.append("processes were left")
    settled = rows[min(len(rows) - 1, max(1, len(rows) // 10))]
    growth = {key: rows[-1][key] - settled[key] for key in figures([])}
    if max(growth["main_mb"], growth["workers_mb"]) > GROWTH_MB or growth["descriptors"] > 0:
        wrong.append(f"something grows: {growth}")
    return {
        "outcomes": dict(counts),
        "latest_timeout_s": latest,
        "growth": growth,
        "wrong": wrong,
        "rows": rows,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--problem", default="tsp", help="one that is decided step by step")
    parser.add_argument("--candidates", type=int, default=10_000)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--every", type=int, default=500, help="candidates between two looks")
    parser.add_argument("--json", type=Path, help="also write the figures to this file")
    options = parser.parse_args()
    from benchmarks.machine import facts, write
    from problems import registry

    machine, problem = facts(), registry.load(options.problem)
    found = soak(problem, options.candidates, options.workers, options.every)
    print(f"outcomes: {found['outcomes']}")
    print(f"latest timeout: {found['latest_timeout_s']:.3f} s after its limit; growth: {found['growth']}")
    for text in found["wrong"]:
        print(f"WRONG: {text}")
    given = {"problem": problem.name, "candidates": options.candidates, "workers": options.workers}
    write(options.json, machine, **given, **found)
    sys.exit(bool(found["wrong"]))


if __name__ == "__main__":
    sys.path[0] = str(Path(__file__).resolve().parent.parent)
    main()
