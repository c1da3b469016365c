"""Starts worker processes through ``multiprocess``, spawned with a scrubbed environment.

The main process may hold threads, a language model and preloaded libraries, so it is never forked,
its main module is not imported again, and its environment is not passed on: a worker gets the
variables of an allow-list and single-threaded numerical libraries, set before numpy loads.
"""

import contextlib
import io
import os
from typing import Any

from multiprocess import context, spawn
from multiprocess.popen_spawn_posix import Popen
from multiprocess.reduction import dump
from multiprocess.util import Finalize, close_fds

ALLOWED = ("PATH", "HOME", "LANG", "LC_ALL", "TZ", "TMPDIR", "LD_LIBRARY_PATH", "PYTHONPATH")
"""Variables a worker inherits."""
FIXED = {
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "NUMEXPR_NUM_THREADS": "1",
    "NUMBA_NUM_THREADS": "1",
    "PYTHONHASHSEED": "0",
    # The heap in huge pages: a fork copies one entry for 512 of the small ones.
    "GLIBC_TUNABLES": "glibc.malloc.hugetlb=1",
    # Freed matrices stay with the process: to give them back and fault them in again is dearer.
    "MALLOC_TRIM_THRESHOLD_": str(256 << 20),
    "MALLOC_MMAP_THRESHOLD_": str(32 << 20),
}
"""Variables every worker gets."""


def scrubbed_environment() -> dict[str, str]:
    """The environment of a worker."""
    return {name: os.environ[name] for name in ALLOWED if name in os.environ} | FIXED


class _CleanPopen(Popen):
    """Spawns as ``multiprocess`` does, without a resource tracker, in a new session."""

    def _launch(self, process_obj: Any) -> None:
        preparation = spawn.get_preparation_data(process_obj.name)
        for key in ("init_main_from_name", "init_main_from_path"):
            preparation.pop(key, None)
        message = io.BytesIO()
        context.set_spawning_popen(self)
        try:
            dump(preparation, message)
            dump(process_obj, message)
        finally:
            context.set_spawning_popen(None)
        sentinel, held_by_child = os.pipe()
        orders, sender = os.pipe()
        command = spawn.get_command_line(pipe_handle=orders)
        null = [(os.POSIX_SPAWN_OPEN, n, os.devnull, os.O_RDWR, 0) for n in range(3)]
        keep = [(os.POSIX_SPAWN_DUP2, n, n) for n in (*self._fds, orders, held_by_child)]
        self.finalizer = Finalize(self, close_fds, [sentinel, sender])
        try:
            self.pid = os.posix_spawn(
                os.fsdecode(spawn.get_executable()),
                [os.fsdecode(part) for part in command],
                scrubbed_environment(),
                file_actions=null + keep,
                setsid=True,
            )
        finally:
            os.close(orders)
            os.close(held_by_child)
        self.sentinel = sentinel
        # a process that is already gone has nothing to read: whoever waits for its answer is told
        with contextlib.suppress(BrokenPipeError), open(sender, "wb", closefd=False) as file:
            file.write(message.getbuffer())


class CleanProcess(context.SpawnProcess):
    """A ``multiprocess`` process that inherits neither environment nor main module."""

    @staticmethod
    def _Popen(process_obj: Any) -> _CleanPopen:  # noqa: N802
        return _CleanPopen(process_obj)
