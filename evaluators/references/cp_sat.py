"""One way to run OR-Tools' CP-SAT: one thread, a fixed seed, a time limit."""

from typing import Any


def solve(model: Any, seconds: float) -> Any:
    """The solver after solving ``model`` for at most ``seconds``, None when it has no solution."""
    from ortools.sat.python import cp_model

    solver = cp_model.CpSolver()
    solver.parameters.max_time_in_seconds = seconds
    solver.parameters.num_workers = 1
    solver.parameters.random_seed = 0
    solver.parameters.catch_sigint_signal = False
    status = solver.solve(model)
    return solver if status in (cp_model.OPTIMAL, cp_model.FEASIBLE) else None
