"""Job shop schedules from OR-Tools' CP-SAT: exact, with a bound when time runs out."""

import numpy as np

from evaluators.references.solved import NoSolution, Solved


def shortest_schedule(machines: np.ndarray, times: np.ndarray, seconds: float) -> Solved:
    """Least makespan: operation k of a job runs on ``machines`` (jobs, k) for integer ``times`` (jobs, k)."""
    from ortools.sat.python import cp_model

    from evaluators.references.cp_sat import solve

    model = cp_model.CpModel()
    horizon = int(times.sum())
    makespan = model.new_int_var(0, horizon, "")
    start = [[model.new_int_var(0, horizon, "") for _ in job] for job in times]
    busy: dict[int, list[object]] = {}
    for job, (order, lengths) in enumerate(zip(machines, times, strict=True)):
        for k, (machine, length) in enumerate(zip(order, lengths, strict=True)):
            interval = model.new_fixed_size_interval_var(start[job][k], int(length), "")
            busy.setdefault(int(machine), []).append(interval)
            following = start[job][k + 1] if k + 1 < len(order) else makespan
            model.add(following >= start[job][k] + int(length))
    for intervals in busy.values():
        model.add_no_overlap(intervals)
    model.minimize(makespan)
    solver = solve(model, seconds)
    if solver is None:
        raise NoSolution(f"CP-SAT found no schedule in {seconds:g} s: give it more --seconds")
    found = np.array([[solver.value(each) for each in job] for job in start])
    return Solved(_makespan(machines, times, found), float(solver.best_objective_bound))


def _makespan(machines: np.ndarray, times: np.ndarray, start: np.ndarray) -> float:
    end = start + times
    if (start[:, 1:] < end[:, :-1]).any() or start.min() < 0:
        raise AssertionError("the solver's schedule breaks the order of a job")
    for machine in np.unique(machines):
        at = machines == machine
        order = np.argsort(start[at], kind="stable")
        if (start[at][order][1:] < end[at][order][:-1]).any():
            raise AssertionError("the solver's schedule uses a machine twice at a time")
    return float(end.max())
