"""Job shop scheduling by a dispatching rule: the candidate names the operation a machine takes next."""

from collections.abc import Callable
from typing import Any

import numpy as np

from evaluators.decisions import as_integer, immutable
from evaluators.fresh import fresh
from evaluators.outcome import InvalidSolution
from problems.problem import Problem, Reference, Skeleton
from problems.recipe import Drawn, Recipe, Seeded, completed
from problems.references import known

SEED = 1993
MACHINES = 15
"""Most machines: an instance of size n has n jobs on n machines, at most these."""
SIZES = {"train": (15,), "val": (15, 6, 10, 20), "test": (15, 6, 10, 20)}

DESCRIPTION = """\
Job shop scheduling: every job is a sequence of operations, each on a given machine for a given time, in \
this order. A machine runs one operation at a time, without interruption. All jobs are to be finished as \
early as possible: the time when the last one ends counts. The schedule is built step by step: where \
several operations compete for the machine that could be finished with one first, a heuristic chooses the \
one that is scheduled next; it starts as early as it can."""

TEMPLATE = '''\
import numpy as np


def select_next_operation(
    times: np.ndarray,
    ready: np.ndarray,
    machine_free: int,
    work_left: np.ndarray,
    operations_left: np.ndarray,
    next_times: np.ndarray,
    next_load: np.ndarray,
) -> int:
    """Choose the operation a machine takes next, out of k > 1 that compete for it, each of another job.

    times: processing times of the operations on this machine, shape (k,).
    ready: when each operation's job is ready for it, shape (k,).
    machine_free: when the machine is free; operation i would start at max(ready[i], machine_free).
    work_left: total time of what is left of each job, this operation included, shape (k,).
    operations_left: number of operations left of each job, this one included, shape (k,).
    next_times: time of each job's operation after this one, 0 if there is none, shape (k,).
    next_load: total time of what is left to do on the machine of that operation, 0 if none, shape (k,).
    Returns the index (0 to k - 1) of an operation. The arrays are read-only and hold integers.
    """
'''

SKELETON = Skeleton(
    prefix='''\
import numpy as np

def select_next_operation(
    times, ready, machine_free, work_left, operations_left, next_times, next_load
):
    """Choose the operation a machine takes next: the one with the largest score."""
    time = times
    work = work_left
    count = operations_left
    start = np.maximum(ready, machine_free)
    early = start.max() - start
    load = next_load
    score =''',
    suffix="""
    score = np.asarray(score, dtype=float)
    if score.shape != times.shape:
        raise ValueError(f"score has shape {score.shape}, not {times.shape}")
    if not np.isfinite(score).all():
        raise FloatingPointError("score is not finite")
    return np.argmax(score)
""",
    hint="""\
Job shop: count (operations left of the job), work (left of it), early (start before the last of them), \
time (of the operation), load (of the next machine): a number per operation. The highest score goes first.""",
    lead="count",
)


HEURISTICS = completed(
    SKELETON,
    {
        "shortest time": "-time",
        "longest time": "time",
        "first come, first served": "-ready",
        "most operations left": "count",
        "most work left": "work",
    },
)


def _draw(seeded: Seeded) -> Drawn:
    generator = seeded(SEED)
    drawn: Drawn = {}
    for split, count, sizes in (
        ("train", 16, (15,)),
        ("val", 16, (6, 10, 15, 20)),
        ("test", 32, (6, 10, 15, 20)),
    ):
        for jobs in sizes:
            machines = min(jobs, MACHINES)
            array = np.empty((count, jobs, machines, 2), dtype=np.int64)
            for instance in array:
                instance[:, :, 1] = generator.randint(1, 100, size=(jobs, machines))
                for job in instance:
                    job[:, 0] = generator.permutation(machines)
            drawn[split, jobs] = array
    return drawn


instances = Recipe("job-shop", SIZES, _draw)
"""Machine and time of every operation, in the order of each job; (instances, jobs, machines, 2) int64.

The size is the number of jobs: 6 (on 6 machines), 10 (on 10), 15 and 20 (on 15). Drawn as Taillard, EJOR 64
(1993), does, but with NumPy's generator: times uniform in 1..99, then the machines of each job in random
order, instance by instance. The seed is our own; no public set is made of these.
"""


def run(heuristic: Callable[..., Any], instances: np.ndarray) -> np.ndarray:
    """Build a schedule per instance; job numbers in the order scheduled, shape (instances, operations) int64.

    The heuristic is called where at least two operations compete (``evaluators.job_shop.competing``).
    """
    from evaluators.job_shop import dispatch, empty, next_choice

    count, jobs, steps, _ = instances.shape
    orders = np.empty((count, jobs * steps), dtype=np.int64)
    for order, instance in zip(orders, fresh(instances, heuristic), strict=True):
        machines, times = instance[:, :, 0].copy(), instance[:, :, 1].copy()
        state, shop = empty(machines, times)
        while True:
            rivals, table, free = next_choice(machines, times, state, shop, order)
            if len(rivals) == 0:
                break
            time, ready, *job = immutable(table)
            index = as_integer(heuristic(time, ready, free, *job))
            step = state[0].sum()
            if not 0 <= index < len(rivals):
                raise InvalidSolution(f"step {step + 1}: there is no operation {index} among {len(rivals)}")
            order[step] = rivals[index]
            dispatch(rivals[index], machines, times, state, shop)
    return orders


def objective(instances: np.ndarray, decisions: np.ndarray) -> float:
    """Mean makespan of the schedules in which operations start as early as they can in the given order.

    Raises:
        InvalidSolution: a row does not name every job once for each of its operations.
    """
    from evaluators.job_shop import makespan

    count, jobs, steps, _ = instances.shape
    if decisions.shape != (count, jobs * steps) or decisions.dtype.kind != "i":
        raise InvalidSolution(f"orders have shape {decisions.shape}, not {(count, jobs * steps)}")
    if not (np.sort(decisions, axis=1) == np.repeat(np.arange(jobs), steps)).all():
        raise InvalidSolution("an order does not hold every operation exactly once")
    ends = [
        makespan(instance[:, :, 0].copy(), instance[:, :, 1].copy(), order)
        for instance, order in zip(instances, decisions, strict=True)
    ]
    return round(float(np.mean(ends)), 5)


def reference(split: str, size: int) -> Reference | None:
    """The best value known for these instances, where one is."""
    return known("job-shop", split, size)


problem = Problem(
    name="job-shop",
    title="job shop, by a dispatching rule",
    description=DESCRIPTION,
    function="select_next_operation",
    arguments=(
        *("times", "ready", "machine_free", "work_left"),
        *("operations_left", "next_times", "next_load"),
    ),
    template=TEMPLATE,
    skeleton=SKELETON,
    heuristics=HEURISTICS,
    sizes=SIZES,
    instances=instances,
    redraw=instances.redraw,
    run=run,
    apart=True,
    objective=objective,
    reference=reference,
)
