"""Matrices that guide a trusted solver, as they come back from a candidate's process."""

import numpy as np

from evaluators.outcome import InvalidSolution, NonFinite


def guidance(numbers: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """``numbers`` when they are float64 of ``shape`` (first axis = instance) and finite.

    Raises:
        InvalidSolution: another shape or type.
        NonFinite: a number is NaN or infinite.
    """
    if numbers.shape != shape or numbers.dtype != np.float64:
        raise InvalidSolution(
            f"results have shape {numbers.shape} of {numbers.dtype}, not {shape} of float64"
        )
    if not np.isfinite(numbers).all():
        raise NonFinite("results have entries that are not finite")
    return numbers


def pull(numbers: np.ndarray) -> np.ndarray:
    """How strongly ants are drawn, before pheromone: ``numbers`` with a floor of 1e-9, largest 1.

    The public evaluators add 1e-9 and then raise what is still below it to 1e-9. Choices depend on
    proportions alone; the scale keeps their sums finite, and 1e-250 of the largest is the least, so
    that no quotient overflows either.
    """
    with np.errstate(over="ignore"):
        floored = np.maximum(np.minimum(numbers + 1e-9, np.finfo(np.float64).max), 1e-9)
    return np.maximum(floored / floored.max(), 1e-250)
