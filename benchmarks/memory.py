"""Peak memory of the engine with each kind of direction, beside the frozen engine.

    python benchmarks/memory.py [--directions 16] [--tokens 32] [--cache 512] [--json FILE]

Every case runs in a process of its own: load, generate as many requests as there are directions, update,
restore. Figures are the largest resident set the kernel has seen (VmHWM) after each stage, the set at the
end, and what the float32 masters take by arithmetic. The frozen case is the same engine without the worker
extension: it copies nothing and nothing of it can be perturbed. The cache of keys and values is as large in
all; a larger one brings every ratio nearer to 1.
"""

import argparse
import json
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

from ahd.config import Kind, RunConfig
from ahd.es.perturbation import Perturbation, perturbation_of, scales

FROZEN = "frozen"
CASES = {
    FROZEN: RunConfig("tsp"),
    "full all": RunConfig("tsp", kind=Kind.FULL, scope="all"),
    "lowrank linear": RunConfig("tsp", kind=Kind.LOWRANK, scope="linear"),
    "lowrank all": RunConfig("tsp", kind=Kind.LOWRANK, scope="all"),
    "norms": RunConfig("tsp", kind=Kind.FULL, scope="norms"),
}
STAGES = ("load", "generate", "update")
MB = 1 << 20


def memory(entry: str) -> float:
    """``VmHWM`` or ``VmRSS`` of this process in MiB."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith(f"{entry}:"))


def peak() -> float:
    """Largest resident set so far."""
    return memory("VmHWM")


def load(options: argparse.Namespace, case: str) -> Any:
    """The engine of a case; the frozen one as vLLM is without us, but for the faster sampling and norms."""
    from ahd.models import engine, live

    engine._cache_bytes = lambda *_: options.cache * MB

    def build(kind: type[live.LiveModel], perturbation: Perturbation) -> live.LiveModel:
        return kind(options.model, perturbation=perturbation, dtype=options.dtype, max_length=1024)

    if case != FROZEN:
        return build(live.LiveModel, perturbation_of(CASES[case]))

    class Frozen(live.LiveModel):
        def use(self, perturbation: Perturbation) -> None:
            dtype = str(self._engine.model_config.dtype).removeprefix("torch.")
            still = {"hash": FROZEN, "dtype": dtype, "move_to": lambda directions: {}, "check": lambda: None}
            self._weights = SimpleNamespace(perturbation=perturbation, **still)

    import vllm

    from ahd.models import cpu_speed

    cpu_speed.install()
    arguments = vllm.EngineArgs

    def without(**given: Any) -> Any:
        return arguments(**{**given, "worker_extension_cls": ""})

    with patch.object(vllm, "EngineArgs", without):
        return build(Frozen, Perturbation())


def measure(options: argparse.Namespace, case: str) -> dict[str, Any]:
    """Peaks of this process after each stage of a case, in MiB, and what explains them."""
    from ahd.models import runtime

    runtime.reexec_with_preload()
    from benchmarks.directions import force, requests
    from operators.model import Direction

    model = load(options, case)
    found: dict[str, Any] = {"load": peak()}
    force(model._engine, share=False)
    frozen, count = case == FROZEN, options.directions
    sigma, alpha = scales(CASES[case])
    directions = [None if frozen else Direction(i, sigma) for i in range(count)]
    list(model.generate(requests(count, options.tokens, 0), directions))
    found["generate"] = peak()
    if not frozen:
        model.update(range(count), [1.0, -1.0] * (count // 2) + [0.0] * (count % 2), alpha)
        found["masters"] = 4 * model._engine.model_executor.driver_worker.worker._masters.in_scope / MB
    found["update"] = peak()
    return {**found, "at_end": memory("VmRSS"), "dtype": model.dtype}


def run(case: str) -> dict[str, Any]:
    """What a case measures in a process of its own.

    Raises:
        RuntimeError: it failed; its last words.
    """
    command = [sys.executable, str(Path(__file__).resolve()), *sys.argv[1:], "--case", case]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{case}: {done.stderr.strip().splitlines()[-1:]}")
    return json.loads(done.stdout.splitlines()[-1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", default=CASES[FROZEN].model)
    parser.add_argument("--dtype", default="auto", help="number format of the engine")
    parser.add_argument("--directions", type=int, default=16)
    parser.add_argument("--tokens", type=int, default=32, help="of each reply")
    parser.add_argument("--cache", type=int, default=512, help="MiB of keys and values")
    parser.add_argument("--case", choices=CASES, help="measure this one, in this process")
    parser.add_argument("--json", type=Path, help="also write the figures to this file")
    options = parser.parse_args()
    if options.case:
        print(json.dumps(measure(options, options.case)))
        return
    from ahd.models import runtime
    from benchmarks.machine import facts, write

    runtime.set_environment()
    machine, rows = facts(), {}
    columns = (*STAGES, "x frozen", "at end", "masters")
    print(f"{'MiB':16}" + "".join(f"{column:>10}" for column in columns))
    for case in CASES:
        row = rows[case] = run(case)
        row["ratio"] = row["update"] / rows[FROZEN]["update"]
        stages = "".join(f"{row[stage]:10.0f}" for stage in STAGES)
        rest = f"{row['ratio']:10.2f}{row['at_end']:10.0f}{row.get('masters', 0.0):10.0f}"
        print(f"{case:16}{stages}{rest}", flush=True)
    settings = {name: getattr(options, name) for name in ("model", "directions", "tokens", "cache")}
    write(options.json, machine, **settings, cases=rows)


if __name__ == "__main__":
    sys.path[0] = str(Path(__file__).resolve().parent.parent)
    main()
