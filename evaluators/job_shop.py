"""Compiled inner loops of job shop scheduling. They see trusted arrays only.

Throughout, ``machines`` and ``times`` (jobs, k) int64 say where and for how long the operations of each job
run, in their order. A partial schedule is two int64 arrays that these functions change in place: ``state``
(3, jobs) has the number of operations scheduled, the end of the last one and the time of those left, of
each job; ``shop`` (2, machines) the end of the last operation scheduled and the time of those left, of each
machine.
"""

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def empty(machines: np.ndarray, times: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """``state`` and ``shop`` with nothing scheduled."""
    jobs, count = machines.shape
    state = np.zeros((3, jobs), dtype=np.int64)
    shop = np.zeros((2, machines.max() + 1), dtype=np.int64)
    for job in range(jobs):
        for step in range(count):
            state[2, job] += times[job, step]
            shop[1, machines[job, step]] += times[job, step]
    return state, shop


@njit(cache=True, nogil=True)
def dispatch(job: int, machines: np.ndarray, times: np.ndarray, state: np.ndarray, shop: np.ndarray) -> None:
    """Schedule the next operation of ``job`` as early as it can start."""
    machine, time = machines[job, state[0, job]], times[job, state[0, job]]
    end = max(state[1, job], shop[0, machine]) + time
    state[0, job] += 1
    state[1, job] = shop[0, machine] = end
    state[2, job] -= time
    shop[1, machine] -= time


@njit(cache=True, nogil=True)
def competing(machines: np.ndarray, times: np.ndarray, state: np.ndarray, shop: np.ndarray) -> np.ndarray:
    """Jobs whose next operations compete for a machine, ascending; none when all is scheduled.

    The step of Giffler and Thompson, Operations Research 8 (1960): of all next operations, take the one
    that can be finished first (of the first such job), and all on the same machine that could start
    before that time. Any of these may be scheduled next; the schedules so made are the active ones.
    """
    jobs, count = machines.shape
    first, machine = -1, -1
    for job in range(jobs):
        if state[0, job] < count:
            where = machines[job, state[0, job]]
            end = max(state[1, job], shop[0, where]) + times[job, state[0, job]]
            if first < 0 or end < first:
                first, machine = end, where
    found = np.empty(jobs, dtype=np.int64)
    size = 0
    for job in range(jobs):
        waits = state[0, job] < count and machines[job, state[0, job]] == machine
        if waits and max(state[1, job], shop[0, machine]) < first:
            found[size] = job
            size += 1
    return found[:size].copy()


@njit(cache=True, nogil=True)
def next_choice(
    machines: np.ndarray, times: np.ndarray, state: np.ndarray, shop: np.ndarray, order: np.ndarray
) -> tuple[np.ndarray, np.ndarray, int]:
    """Schedule operations that have no rival until some compete, writing their jobs into ``order``.

    Returns the jobs that compete (none at the end); a table (6, rivals) of their operations' times, when
    the jobs are ready, work left and operations left of the jobs, times of the operations that follow and
    work left on the machines of those (0 where none follows); and when the machine is free.
    """
    count = machines.shape[1]
    rivals = competing(machines, times, state, shop)
    while len(rivals) == 1:
        order[state[0].sum()] = rivals[0]
        dispatch(rivals[0], machines, times, state, shop)
        rivals = competing(machines, times, state, shop)
    table = np.zeros((6, len(rivals)), dtype=np.int64)
    available = 0
    for k in range(len(rivals)):
        job = rivals[k]
        step = state[0, job]
        available = shop[0, machines[job, step]]
        table[0, k] = times[job, step]
        table[1, k] = state[1, job]
        table[2, k] = state[2, job]
        table[3, k] = count - step
        if step + 1 < count:
            table[4, k] = times[job, step + 1]
            table[5, k] = shop[1, machines[job, step + 1]]
    return rivals, table, available


@njit(cache=True, nogil=True)
def makespan(machines: np.ndarray, times: np.ndarray, order: np.ndarray) -> int:
    """When all is finished if operations are scheduled in ``order``, a job number for each."""
    state, shop = empty(machines, times)
    for job in order:
        dispatch(job, machines, times, state, shop)
    return state[1].max()
