"""Landlock: the kernel's own rules for which files a process may open, for processes without rights.

The calls of ``landlock(7)`` through the C library, which has no functions for them. What is not allowed here
fails with ``EACCES``; what a process has open stays open.
"""

import contextlib
import ctypes
import os
import struct
from collections.abc import Iterable

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_VERSION = 1
_PATH_BENEATH = 1
_READ_FILE, _READ_DIR = 1 << 2, 1 << 3
_FILES = {1: 13, 2: 14, 3: 15, 5: 16}
"""How many kinds of access to files the kernel can deny, from a version of its interface on."""
_NETWORK_SINCE, _NETWORK = 4, 0b11
_SCOPES_SINCE, _SCOPES = 6, 0b11
"""Sockets without a file, and signals, to processes outside."""

_libc = ctypes.CDLL(None, use_errno=True)


def version() -> int:
    """Version of the kernel's interface; 0: it has none, or it is switched off."""
    return max(0, _libc.syscall(_CREATE_RULESET, None, ctypes.c_size_t(0), ctypes.c_uint(_VERSION)))


def ruleset(readable: Iterable[str]) -> int:
    """A descriptor for rules under which only what is below ``readable`` can be opened, and only to be read.

    Writing, making, moving and removing files is denied everywhere; so are TCP, abstract sockets and signals
    to processes outside, where the kernel's version can. Paths that do not exist are left out.

    Raises:
        OSError: the kernel refuses.
    """
    have = version()
    files = (1 << max(count for since, count in _FILES.items() if since <= max(have, 1))) - 1
    network = _NETWORK * (have >= _NETWORK_SINCE)
    attributes = struct.pack("=QQQ", files, network, _SCOPES * (have >= _SCOPES_SINCE))
    size = 24 if have >= _SCOPES_SINCE else 16 if have >= _NETWORK_SINCE else 8
    rules = _call(_CREATE_RULESET, attributes, ctypes.c_size_t(size), ctypes.c_uint(0))
    for path in readable:
        with contextlib.suppress(FileNotFoundError, NotADirectoryError):
            place = os.open(path, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
            try:
                rule = struct.pack("=Qi", _READ_FILE | _READ_DIR, place)
                _call(_ADD_RULE, ctypes.c_int(rules), ctypes.c_int(_PATH_BENEATH), rule, ctypes.c_uint(0))
            finally:
                os.close(place)
    return rules


def restrict(rules: int) -> None:
    """Hold this process and all that come from it to ``rules``, for good. Needs ``no_new_privs``.

    Raises:
        OSError: the kernel refuses.
    """
    _call(_RESTRICT_SELF, ctypes.c_int(rules), ctypes.c_uint(0))


def _call(number: int, *arguments: object) -> int:
    found = int(_libc.syscall(number, *arguments))
    if found < 0:
        error = ctypes.get_errno()
        raise OSError(error, f"Landlock: {os.strerror(error)}")
    return found
