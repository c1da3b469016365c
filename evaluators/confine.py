"""Limits on a candidate's process. ``confine`` is the one place where they are put on."""

import contextlib
import ctypes
import gc
import math
import os
import resource
import signal
import struct
from dataclasses import dataclass

from evaluators import landlock, seccomp

_PR_SET_PDEATHSIG = 1
_PR_SET_DUMPABLE = 4
_PR_SET_CHILD_SUBREAPER = 36
_PR_SET_NO_NEW_PRIVS = 38
NOBODY = 65534
"""User and group of the candidates of worker slot 0 when root starts them; slot n has this minus n."""

_libc = ctypes.CDLL(None, use_errno=True)


def _prctl(option: int, value: int) -> None:
    if _libc.prctl(option, value, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), f"prctl({option}) failed")


def die_with_parent(number: int = signal.SIGKILL) -> None:
    """Get signal ``number`` when the thread that started this process ends."""
    _prctl(_PR_SET_PDEATHSIG, number)


def adopt_orphans() -> None:
    """Become the parent of all orphaned descendants, so that none of them escapes."""
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)


def hide_memory() -> None:
    """Deny other processes of the same user the memory of this one."""
    _prctl(_PR_SET_DUMPABLE, 0)


def drop_capabilities() -> None:
    """Give up what a root that stays root, or a user who was given a part of root's rights, may do.

    Raises:
        OSError: the kernel refuses.
    """
    version, own = 0x20080522, 0
    header, none = struct.pack("=Ii", version, own), bytes(24)
    if _libc.capset(header, none) != 0:
        raise OSError(ctypes.get_errno(), "capset failed")


def stay_on_one_core(number: int) -> None:
    """Run this process and those it will fork on one core, by ``number`` in turn: of processes that wait for
    each other by turns, one that has to be woken on another core comes twice as late. Those of another main
    process begin with another core."""
    cores = sorted(os.sched_getaffinity(0))
    os.sched_setaffinity(0, {cores[(os.getppid() + number) % len(cores)]})


def address_space() -> int:
    """Bytes of address space this process uses now."""
    with open("/proc/self/statm", "rb") as file:
        return int(file.read().split()[0]) * resource.getpagesize()


def close_descriptors(keep: int) -> None:
    """Close every descriptor above 2 but ``keep``."""
    os.closerange(3, keep)
    os.closerange(max(3, keep + 1), os.sysconf("SC_OPEN_MAX"))


@dataclass(frozen=True)
class Confines:
    """What a candidate is held to.

    ``memory_bytes`` come on top of ``used_bytes``, what the warm parent already maps. ``rules`` are those of
    Landlock, as a descriptor; ``filter`` is that of seccomp; without the layer, None.
    """

    used_bytes: int
    memory_bytes: int
    cpu_seconds: float
    slot: int
    rules: int | None = None
    filter: bytes | None = None


def confine(parent: int, confines: Confines, keep: int) -> None:
    """Give up, for good, what a candidate has no business with.

    No core dumps, no growing files, few descriptors, no environment, no capabilities, no new privileges, no
    processes or threads, at most ``cpu_seconds`` (rounded up, plus five) of CPU per process whatever happens
    to the parent. A candidate started by root runs as an unprivileged user: the kernel does not limit root's
    processes, and root may signal everyone. Each worker slot has a user of its own (``NOBODY - slot``), so
    that candidates which run side by side cannot signal each other. Of open descriptors above 2 only
    ``keep`` stays. Then come the layers that there are: files and system calls.

    Raises:
        OSError, ValueError: the system refuses a limit.
    """
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    os.environ.clear()
    os.chdir("/")
    limits = {
        resource.RLIMIT_AS: confines.used_bytes + confines.memory_bytes,
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_FSIZE: 0,
        resource.RLIMIT_NOFILE: 64,
        resource.RLIMIT_NPROC: 0,
        resource.RLIMIT_CPU: math.ceil(confines.cpu_seconds) + 5,  # the parent's deadline comes first
    }
    for which, value in limits.items():
        hard = resource.getrlimit(which)[1]
        if hard != resource.RLIM_INFINITY:
            value = min(value, hard)
        resource.setrlimit(which, (value, value))
    if os.geteuid() == 0:
        with contextlib.suppress(OSError):  # a container that maps root only
            os.setgroups([])
            user = NOBODY - confines.slot
            os.setresgid(user, user, user)
            os.setresuid(user, user, user)
    drop_capabilities()
    _prctl(_PR_SET_NO_NEW_PRIVS, 1)
    die_with_parent()
    if os.getppid() != parent:
        os._exit(1)
    gc.enable()
    if confines.rules is not None:
        landlock.restrict(confines.rules)
    close_descriptors(keep)
    if confines.filter is not None:
        seccomp.install(confines.filter)
