"""Exact solvers for knapsacks with one or more limits, from OR-Tools.

Numbers become integers in a way that favours no solution: weights are rounded up and limits down, so that a
set that fits the integers fits the numbers; values are rounded to the nearest. The value is taken from the
unrounded numbers. What is proven is therefore proven up to ``1 / SCALE`` an item.
"""

import numpy as np

from evaluators.references.solved import NoSolution, Solved, integers

SCALE = 10**9


def _solved(values: np.ndarray, weights: np.ndarray, limits: np.ndarray, chosen: list[int]) -> float:
    if (weights[chosen].sum(axis=0) > limits + 1e-12).any():
        raise AssertionError("the solver's items do not fit")
    return -float(values[chosen].sum())


def branch_and_bound(values: np.ndarray, weights: np.ndarray, limits: np.ndarray, seconds: float) -> Solved:
    """Minus the greatest value of items (n,) with ``weights`` (n, m) within ``limits`` (m,), minimised.

    For one limit: dynamic programming bounds are out of reach of these scales, the search is not.
    """
    from ortools.algorithms.python import knapsack_solver

    solver = knapsack_solver.KnapsackSolver(
        knapsack_solver.SolverType.KNAPSACK_MULTIDIMENSION_BRANCH_AND_BOUND_SOLVER, "knapsack"
    )
    columns = [integers(column, SCALE, "ceil") for column in weights.T]
    solver.init(integers(values, SCALE), columns, integers(limits, SCALE, "floor"))
    solver.set_time_limit(seconds)
    solver.solve()
    chosen = [i for i in range(len(values)) if solver.best_solution_contains(i)]
    value = _solved(values, weights, limits, chosen)
    return Solved(value, value if solver.is_solution_optimal() else None)


def constraint_programming(
    values: np.ndarray, weights: np.ndarray, limits: np.ndarray, seconds: float
) -> Solved:
    """The same by CP-SAT, which gives a bound also when it runs out of time."""
    from ortools.sat.python import cp_model

    from evaluators.references.cp_sat import solve

    model = cp_model.CpModel()
    take = [model.new_bool_var("") for _ in values]
    for column, limit in zip(weights.T, integers(limits, SCALE, "floor"), strict=True):
        model.add(cp_model.LinearExpr.weighted_sum(take, integers(column, SCALE, "ceil")) <= limit)
    model.maximize(cp_model.LinearExpr.weighted_sum(take, integers(values, SCALE)))
    solver = solve(model, seconds)
    if solver is None:
        raise NoSolution(f"CP-SAT found no set of items in {seconds:g} s: give it more --seconds")
    chosen = [i for i, variable in enumerate(take) if solver.boolean_value(variable)]
    return Solved(_solved(values, weights, limits, chosen), -solver.best_objective_bound / SCALE)
