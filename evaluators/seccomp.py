"""A filter of system calls, for good, on x86-64 Linux.

What a candidate has to be able to call is on a list. A call that nothing innocent makes ends the process; all
others fail with ``EPERM``, which Python raises as a readable ``PermissionError``. See ``seccomp(2)``.
"""

import ctypes
import errno
import os
import platform
import struct
from collections.abc import Sequence
from dataclasses import dataclass

ALLOWED = {
    "read": 0,
    "write": 1,
    "close": 3,
    "fstat": 5,
    "poll": 7,
    "lseek": 8,
    "mmap": 9,
    "mprotect": 10,
    "munmap": 11,
    "brk": 12,
    "rt_sigaction": 13,
    "rt_sigprocmask": 14,
    "rt_sigreturn": 15,
    "pread64": 17,
    "readv": 19,
    "writev": 20,
    "select": 23,
    "sched_yield": 24,
    "mremap": 25,
    "mincore": 27,
    "madvise": 28,
    "dup": 32,
    "nanosleep": 35,
    "getitimer": 36,
    "setitimer": 38,
    "getpid": 39,
    "exit": 60,
    "uname": 63,
    "gettimeofday": 96,
    "getrlimit": 97,
    "getrusage": 98,
    "sysinfo": 99,
    "times": 100,
    "getuid": 102,
    "getgid": 104,
    "geteuid": 107,
    "getegid": 108,
    "getppid": 110,
    "getpgrp": 111,
    "sigaltstack": 131,
    "gettid": 186,
    "time": 201,
    "futex": 202,
    "sched_getaffinity": 204,
    "restart_syscall": 219,
    "clock_gettime": 228,
    "clock_getres": 229,
    "clock_nanosleep": 230,
    "exit_group": 231,
    "pselect6": 270,
    "ppoll": 271,
    "set_robust_list": 273,
    "getrandom": 318,
    "membarrier": 324,
    "rseq": 334,
}
"""Numbers of calls that only concern the process itself and what it has open."""
READING = {
    "stat": 4,
    "lstat": 6,
    "access": 21,
    "getdents": 78,
    "getcwd": 79,
    "readlink": 89,
    "getdents64": 217,
    "newfstatat": 262,
    "readlinkat": 267,
    "faccessat": 269,
    "statx": 332,
    "faccessat2": 439,
}
"""Those that find files, for late imports; only beside Landlock, which says which files."""
OPENING = {"open": (2, 1), "openat": (257, 2)}
"""As these, but only to read; with the place of the flags among the arguments."""
DEADLY = {
    "execve": 59,
    "ptrace": 101,
    "unshare": 272,
    "setns": 308,
    "process_vm_readv": 310,
    "process_vm_writev": 311,
    "memfd_create": 319,
    "bpf": 321,
    "execveat": 322,
    "userfaultfd": 323,
    "io_uring_setup": 425,
    "io_uring_enter": 426,
    "io_uring_register": 427,
}
"""Ends of the process."""
SIGNALLING = {"kill": 62, "tkill": 200, "tgkill": 234}
"""Allowed only to the process itself."""
_CLONE3 = 435
_FCNTL, _OWNERS = 72, 8
"""``fcntl``, and the bit of all its commands that have the kernel signal whoever owns a descriptor."""
_PRLIMIT, _NEW_LIMIT = 302, 2
_OWN = 0x7FFFFFFF
"""Stands for the process's number until it is known."""

_MACHINE = 0xC000003E
_O_TMPFILE = 0o20000000
_X32 = 0x40000000
_KILL, _ALLOW, _ERROR = 0x80000000, 0x7FFF0000, 0x00050000
_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_NUMBER, _MACHINE_AT, _ARGUMENTS = 0, 4, 16
_PR_SET_SECCOMP, _FILTER = 22, 2
_SECCOMP, _GET_ACTION_AVAIL = 317, 2

_libc = ctypes.CDLL(None, use_errno=True)


class _Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("code", ctypes.c_char_p)]


@dataclass(frozen=True)
class _Step:
    """An instruction of the classic packet filter: what it does, its number, and the steps it skips."""

    what: int
    value: int
    yes: int = 0
    no: int = 0

    def packed(self) -> bytes:
        return struct.pack("=HBBI", self.what, self.yes, self.no, self.value)


def missing() -> str:
    """Why there is no filter here; empty: there is."""
    if platform.system() != "Linux" or platform.machine() != "x86_64":
        return f"the filter is written for x86-64 Linux, not {platform.machine()}"
    action = ctypes.c_uint32(_KILL)
    if _libc.syscall(_SECCOMP, _GET_ACTION_AVAIL, 0, ctypes.byref(action)) != 0:
        return "the kernel has no seccomp filters"
    return ""


def program(reading: bool) -> bytes:
    """The filter, for any process; with ``reading``, files may be opened to be read."""
    allowed = [*ALLOWED.values(), *(READING.values() if reading else ())]
    steps = [
        _Step(_LOAD, _MACHINE_AT),
        _Step(_EQUAL, _MACHINE, yes=1),
        _Step(_RETURN, _KILL),
        _Step(_LOAD, _NUMBER),
        _Step(_AT_LEAST, _X32, no=1),
        _Step(_RETURN, _KILL),
    ]
    steps += _one_of(allowed, _ALLOW) + _one_of(list(DEADLY.values()), _KILL)
    if reading:
        changes = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND | _O_TMPFILE
        for number, place in OPENING.values():
            steps += _when(number, place, _ANY_BIT, changes, wanted=False)
    for number in SIGNALLING.values():
        steps += _when(number, 0, _EQUAL, _OWN, wanted=True)
    steps += _when(_FCNTL, 1, _ANY_BIT, _OWNERS, wanted=False)
    steps += _when(_PRLIMIT, _NEW_LIMIT, _EQUAL, 0, wanted=True, whole=True)
    steps += [
        _Step(_EQUAL, _CLONE3, no=1),  # so that the C library falls back to clone, which fails readably
        _Step(_RETURN, _ERROR | errno.ENOSYS),
        _Step(_RETURN, _ERROR | errno.EPERM),
    ]
    return b"".join(step.packed() for step in steps)


def _one_of(numbers: Sequence[int], answer: int) -> list[_Step]:
    """``answer`` any of these calls: tests that all lead to one return, which is quicker to install."""
    last = len(numbers) - 1
    tests = [_Step(_EQUAL, number, yes=last - k, no=int(k == last)) for k, number in enumerate(numbers)]
    return [*tests, _Step(_RETURN, answer)]


def _when(
    number: int, place: int, test: int, value: int, *, wanted: bool, whole: bool = False
) -> list[_Step]:
    """Allow call ``number`` when ``test`` of an argument's lower half is as ``wanted``, and with ``whole``
    its upper half is 0."""
    low = _ARGUMENTS + 8 * place
    allow = [_Step(_LOAD, low), _Step(test, value, *((0, 1) if wanted else (1, 0))), _Step(_RETURN, _ALLOW)]
    if whole:
        allow = [_Step(_LOAD, low + 4), _Step(_EQUAL, 0, no=len(allow)), *allow]
    refuse = _Step(_RETURN, _ERROR | errno.EPERM)
    return [_Step(_EQUAL, number, no=len(allow) + 1), *allow, refuse]


def install(filter: bytes) -> None:
    """Hold this process and all that come from it to a filter, for good. Needs ``no_new_privs``.

    Raises:
        OSError: the kernel refuses.
    """
    filter = filter.replace(struct.pack("=I", _OWN), struct.pack("=I", os.getpid()))
    whole = _Program(len(filter) // 8, filter)
    if _libc.prctl(_PR_SET_SECCOMP, _FILTER, ctypes.byref(whole), 0, 0) != 0:
        error = ctypes.get_errno()
        raise OSError(error, f"seccomp: {os.strerror(error)}")
