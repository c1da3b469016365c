"""The process the engine runs in: environment, preloaded OpenMP, and silence while it loads."""

import ctypes
import os
import sys
import sysconfig
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ahd.config import Dtype

_MARKER = "AHD_PRELOADED"

_QUIET = {
    "VLLM_LOGGING_LEVEL": "ERROR",
    "VLLM_NO_USAGE_STATS": "1",
    "VLLM_DO_NOT_TRACK": "1",
    "TRANSFORMERS_VERBOSITY": "error",
    "TRANSFORMERS_NO_ADVISORY_WARNINGS": "1",
    "HF_HUB_DISABLE_PROGRESS_BARS": "1",
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "TOKENIZERS_PARALLELISM": "false",
    "TQDM_DISABLE": "1",
}
_ENGINE = {
    "VLLM_ENABLE_V1_MULTIPROCESSING": "0",
    "KMP_BLOCKTIME": "0",
    "KMP_WARNINGS": "0",
}

_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3
"""Names of glibc's options for ``mallopt``."""


def engine_threads() -> int:
    """Threads for the CPU engine: one core is left to the evaluation of candidates.

    The engine's threads wait for each other many times per token. Where one of them has to share its core
    with a busy process, all of them wait for it: on two cores beside one busy process, two threads wrote 4
    times fewer tokens than one.
    """
    return max(1, len(os.sched_getaffinity(0)) - 1)


def openmp_library() -> Path | None:
    """Intel's OpenMP runtime in the environment's own lib folder; None when it is not installed."""
    for folder in (Path(sys.prefix) / "lib", Path(sysconfig.get_path("platlib"))):
        if (library := folder / "libiomp5.so").is_file():
            return library
    return None


def has_cuda() -> bool:
    """Whether this machine has an NVIDIA driver with a device (no CUDA call is made)."""
    return Path("/dev/nvidiactl").exists() or Path("/dev/nvidia0").exists()


BFLOAT16_FLAGS = {"avx512_bf16", "amx_bf16", "bf16"}
"""What /proc/cpuinfo says of a processor that can multiply matrices of bfloat16: one of these."""


def number_format() -> Dtype:
    """The number format the engine is fastest in here: ``float32`` on processors that cannot multiply
    matrices of bfloat16 (there it is 3 to 6 times faster), else ``bfloat16``."""
    if has_cuda():
        return Dtype.BFLOAT16
    text = Path("/proc/cpuinfo").read_text() if Path("/proc/cpuinfo").exists() else ""
    return Dtype.BFLOAT16 if BFLOAT16_FLAGS.intersection(text.split()) else Dtype.FLOAT32


def is_preloaded() -> bool:
    return "libiomp5" in os.environ.get("LD_PRELOAD", "")


def set_environment() -> None:
    """Settings the engine and its libraries read when they are imported. What the user has set stays,
    except that the engine always runs inside this process."""
    for name, value in {**_QUIET, **_ENGINE}.items():
        os.environ.setdefault(name, value)
    os.environ["VLLM_ENABLE_V1_MULTIPROCESSING"] = "0"
    if not has_cuda():
        os.environ.setdefault("OMP_NUM_THREADS", str(engine_threads()))


def reexec_with_preload() -> None:
    """Start this very command again, once, with Intel's OpenMP runtime preloaded.

    It makes the CPU engine 1.3 to 1.5 times faster, and only the loader can put it in place. Does nothing
    on GPU machines, where the library is missing, or when this has been done. Call it before anything is
    printed or any thread is started.
    """
    set_environment()
    library = openmp_library()
    if library is None or has_cuda() or is_preloaded() or os.environ.get(_MARKER):
        return
    os.environ[_MARKER] = "1"
    others = os.environ.get("LD_PRELOAD", "")
    os.environ["LD_PRELOAD"] = f"{library}:{others}" if others else str(library)
    sys.stdout.flush()
    sys.stderr.flush()
    os.execv(sys.executable, [sys.executable, *sys.orig_argv[1:]])


def free_memory() -> int:
    """Bytes of memory that nothing holds, not even the cache of files."""
    return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def give_back_memory() -> None:
    """Return freed memory to the system, where the C library can (glibc): it keeps freed blocks of some
    megabytes, and weights are written and packed in such blocks."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)


def keep_memory() -> None:
    """Keep freed blocks for the next ones of their size, where the C library can (glibc).

    A batch of prompts takes and frees blocks of tens of megabytes in every layer. Given back to the system
    each time, their pages have to be cleared again: a batch under different directions, whose hooks hold
    layers' inputs a little longer, took up to 1.4 times as long for that alone.
    """
    set_option = getattr(ctypes.CDLL(None), "mallopt", None)
    if set_option is not None:
        set_option(_MMAP_THRESHOLD, 1 << 30)
        set_option(_TRIM_THRESHOLD, (1 << 31) - 1)


@contextmanager
def silent_stderr() -> Iterator[Path]:
    """Send everything written to standard error, by native code too, to a file, whose path is given.

    The file is kept when an exception passes through, and removed otherwise. Standard output is left
    alone: the engine writes nothing there, and a display may.
    """
    handle, name = tempfile.mkstemp(prefix="ahd-engine-", suffix=".log")
    sys.stderr.flush()
    saved = os.dup(2)
    try:
        os.dup2(handle, 2)
        yield Path(name)
        os.unlink(name)
    finally:
        sys.stderr.flush()
        os.dup2(saved, 2)
        os.close(saved)
        os.close(handle)
