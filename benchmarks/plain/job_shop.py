"""Job shop scheduling by a dispatching rule in plain Python: lists of operations are made anew each step."""

from collections.abc import Callable
from typing import Any

import numpy as np

Operation = tuple[int, int, int]
"""Job, machine, time."""


def schedule(jobs: list[list[Operation]], heuristic: Callable[..., Any]) -> list[tuple[Operation, int]]:
    """Operations in the order scheduled, each with its end."""
    ready = dict.fromkeys(range(len(jobs)), 0)
    free = {machine: 0 for _, machine, _ in jobs[0]}
    left = [list(job) for job in jobs]
    found: list[tuple[Operation, int]] = []
    while any(left):
        following = [job[0] for job in left if job]
        starts = {job: max(ready[job], free[machine]) for job, machine, _ in following}
        first = min(following, key=lambda operation: (starts[operation[0]] + operation[2], operation[0]))
        limit, machine = starts[first[0]] + first[2], first[1]
        rivals = [each for each in following if each[1] == machine and starts[each[0]] < limit]
        chosen = rivals[0]
        if len(rivals) > 1:
            after = [left[job][1] if len(left[job]) > 1 else None for job, _, _ in rivals]
            index = heuristic(
                np.array([time for _, _, time in rivals]),
                np.array([ready[job] for job, _, _ in rivals]),
                free[machine],
                np.array([sum(each[2] for each in left[job]) for job, _, _ in rivals]),
                np.array([len(left[job]) for job, _, _ in rivals]),
                np.array([each[2] if each else 0 for each in after]),
                np.array([_load(left, each[1]) if each else 0 for each in after]),
            )
            chosen = rivals[int(index)]
        job, _, time = chosen
        ready[job] = free[machine] = starts[job] + time
        left[job].pop(0)
        found.append((chosen, ready[job]))
    return found


def _load(left: list[list[Operation]], machine: int) -> int:
    """Time of what is left to do on a machine."""
    return sum(time for job in left for _, where, time in job if where == machine)


def evaluate(heuristic: Callable[..., Any], instances: np.ndarray, seed: int = 0) -> float:
    """The objective of ``heuristic``: mean makespan."""
    del seed
    spans = []
    for instance in instances.tolist():
        jobs = [[(job, machine, time) for machine, time in row] for job, row in enumerate(instance)]
        spans.append(max(end for _, end in schedule(jobs, heuristic)))
    return float(np.mean(spans))
