"""Ending every process that descends from this one, whatever session it is in."""

import contextlib
import os
import signal
import threading
import time


def end_group(child: int) -> None:
    """Kill and reap a child that leads a process group, and the group."""
    for end in (os.killpg, os.kill):
        with contextlib.suppress(OSError):
            end(child, signal.SIGKILL)
    os.waitpid(child, 0)


def end_descendants(spared: int = 0) -> None:
    """Kill and reap every process that descends from this one, which adopts orphans, but child ``spared``."""
    while True:
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        except ChildProcessError:
            return
        rest = [pid for pid in _children() if pid != spared]
        if not rest:
            return
        for pid in rest:
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.001)


def _children() -> list[int]:
    """Children of this process, which has one thread."""
    try:
        with open(f"/proc/self/task/{threading.get_native_id()}/children", "rb") as file:
            return [int(pid) for pid in file.read().split()]
    except OSError:  # a kernel that does not list them
        return _searched()


def _searched() -> list[int]:
    found = []
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                with open(f"/proc/{entry}/stat", "rb") as file:
                    if int(file.read().rsplit(b")", 1)[1].split()[1]) == os.getpid():
                        found.append(int(entry))
            except (OSError, IndexError):
                pass
    return found
