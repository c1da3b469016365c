"""How far an objective is from a value to measure against."""

from problems.problem import Problem, Reference
from problems.solvers import SOLVERS


def relative_gap(objective: float | None, reference: float | None) -> float | None:
    """``(objective - reference) / |reference|``: how much worse, as a share of the reference.

    None where either is unknown, and for a reference of zero.
    """
    if objective is None or reference is None or reference == 0:
        return None
    return (objective - reference) / abs(reference)


def no_gap(problem: Problem, split: str, size: int, reference: Reference | None) -> str:
    """Why there is no gap, and how there will be one; empty where there is one, or nothing to be done."""
    if reference is not None:
        return "no gap: the reference is 0" if reference.value == 0 else ""
    if not has_solver(problem):
        return ""
    command = f"ahd refs {problem.name} --split {split} --size {size}"
    return f"no reference for size {size}: `{command}` computes one"


def has_solver(problem: Problem) -> bool:
    """Whether ``ahd refs`` computes references of ``problem``: never for one from a file."""
    return not problem.origin and problem.name in SOLVERS
