"""One machine, many jobs: the order with the least weighted tardiness."""

import numpy as np

from evaluators.outcome import InvalidSolution
from problems.problem import Problem, Skeleton

SIZES = {"train": (40,), "val": (40,), "test": (40, 100)}
SPLITS = tuple(SIZES)

PREFIX = '''\
import numpy as np

def score_jobs(duration, weight, due):
    """Order jobs on one machine: the job with the smallest score goes first."""
    slack = due - duration
    urgency = weight / duration
    score ='''
SUFFIX = "\n    return score\n"


def instances(split, size):
    if size not in SIZES.get(split, ()):
        raise ValueError(f"tardiness has no {split} instances of size {size}")
    rng = np.random.default_rng([SPLITS.index(split), size])
    duration, weight = rng.integers(1, 11, (2, 64, size))
    due = rng.uniform(0.2, 0.8, (64, size)) * duration.sum(axis=1, keepdims=True)
    return np.stack([duration, weight, due], axis=1)


def run(heuristic, instances):  # in the sandbox: calls the candidate, returns its decisions
    return np.array([heuristic(*jobs.copy()) for jobs in instances], dtype=float)


def objective(instances, decisions):  # outside: verifies the decisions and scores them
    duration, weight, due = instances.swapaxes(0, 1)
    if decisions.shape != duration.shape or not np.isfinite(decisions).all():
        raise InvalidSolution("needs one finite score per job")
    order = np.argsort(decisions, axis=1, kind="stable")
    duration, weight, due = (np.take_along_axis(each, order, axis=1) for each in (duration, weight, due))
    late = np.maximum(duration.cumsum(axis=1) - due, 0)
    return round(float((weight * late).sum(axis=1).mean()), 5)


problem = Problem(
    name="tardiness",
    title="weighted tardiness on one machine",
    description="Order jobs on one machine so that the weighted sum of their delays past due is small.",
    function="score_jobs",
    arguments=("duration", "weight", "due"),
    template='def score_jobs(duration, weight, due):\n    """Arrays, one number per job -> scores."""\n',
    skeleton=Skeleton(
        prefix=PREFIX,
        suffix=SUFFIX,
        hint="The arrays duration, weight, due, slack and urgency have one number per job.",
        lead="due",
    ),
    heuristics={
        "earliest due date": PREFIX + " due" + SUFFIX,
        "weighted shortest job": PREFIX + " -urgency" + SUFFIX,
    },
    sizes=SIZES,
    instances=instances,
    run=run,
    objective=objective,
    reference=lambda split, size: None,
)
