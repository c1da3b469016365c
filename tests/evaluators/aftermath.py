"""The check that nothing of a candidate is left behind."""

import os
import time
from collections.abc import Callable

from evaluators.sandbox import Sandbox

NEAREST = """
import numpy as np
def select_next_node(current_node, destination_node, unvisited_nodes, distance_matrix):
    return unvisited_nodes[np.argmin(distance_matrix[current_node, unvisited_nodes])]
"""
NEAREST_LENGTH = 7.00437


def processes() -> dict[int, int]:
    """Parent of every live process of the machine (zombies are dead), by process id."""
    found = {}
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                with open(f"/proc/{entry}/stat", "rb") as file:
                    state, parent = file.read().rsplit(b")", 1)[1].split()[:2]
                if state != b"Z":
                    found[int(entry)] = int(parent)
            except OSError:
                pass
    return found


def is_worker(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            return b"multiprocess.spawn" in file.read()
    except OSError:
        return False


def leftovers(workers: list[int]) -> list[int]:
    """Children of the workers, and orphans that once were forked from one."""
    return [
        pid
        for pid, parent in processes().items()
        if pid not in workers and (parent in workers or (parent == 1 and is_worker(pid)))
    ]


def eventually(condition: Callable[[], bool], seconds: float = 5.0) -> bool:
    """Whether ``condition()`` becomes true in time."""
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.01)
    return True


def assert_unharmed(sandbox: Sandbox) -> None:
    """Nearest neighbour scores what it always does and no process is left."""
    outcome = sandbox.submit(NEAREST).result()
    assert outcome.objective == NEAREST_LENGTH, outcome
    assert eventually(lambda: not leftovers(sandbox.pids)), leftovers(sandbox.pids)
