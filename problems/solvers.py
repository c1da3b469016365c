"""The solvers that references come from, by problem: the first is the one kept, the others check it."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version

import numpy as np

from evaluators.distances import euclidean
from evaluators.references.solved import Solved, SolverMissing


@dataclass(frozen=True)
class Solver:
    """A solver of one problem. ``solve(instance, seconds)`` works on one instance, an item of the array of
    instances; ``package`` is the distribution it comes from, empty for this one."""

    name: str
    package: str
    solve: Callable[[np.ndarray, float], Solved]

    @property
    def version(self) -> str:
        """Version of its package, empty for this one's.

        Raises:
            SolverMissing: it is not installed.
        """
        try:
            return version(self.package) if self.package else ""
        except PackageNotFoundError:
            raise SolverMissing(
                f"{self.name} needs the package {self.package}: "
                f"pip install 'ahd-search[references]', or pip install {self.package}"
            ) from None

    @property
    def slug(self) -> str:
        """Its name as part of a file's."""
        return re.sub(r"[^a-z0-9]+", "-", self.name.lower()).strip("-")


def _searched(nodes: np.ndarray, seconds: float) -> Solved:
    from evaluators.references.local_search import iterated_local_search

    return iterated_local_search(euclidean(nodes), seconds)


def _pyvrp_tour(nodes: np.ndarray, seconds: float) -> Solved:
    from evaluators.references.routes import pyvrp_tour

    return pyvrp_tour(euclidean(nodes), seconds)


def _ortools_tour(nodes: np.ndarray, seconds: float) -> Solved:
    from evaluators.references.routes import ortools_tour

    return ortools_tour(euclidean(nodes), seconds)


def _pyvrp_vehicles(instance: np.ndarray, seconds: float) -> Solved:
    from evaluators.references.routes import pyvrp_vehicles
    from problems.cvrp_aco import CAPACITY

    return pyvrp_vehicles(euclidean(instance[:, :2]), instance[:, 2], CAPACITY, seconds)


def _ortools_vehicles(instance: np.ndarray, seconds: float) -> Solved:
    from evaluators.references.routes import ortools_vehicles
    from problems.cvrp_aco import CAPACITY

    return ortools_vehicles(euclidean(instance[:, :2]), instance[:, 2], CAPACITY, seconds)


def _knapsack(items: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    from problems.knapsack import capacity

    return items[:, 1], items[:, :1], np.array([capacity(len(items))])


def _knapsack_bounded(items: np.ndarray, seconds: float) -> Solved:
    from evaluators.references.items import branch_and_bound

    return branch_and_bound(*_knapsack(items), seconds)


def _knapsack_programmed(items: np.ndarray, seconds: float) -> Solved:
    from evaluators.references.items import constraint_programming

    return constraint_programming(*_knapsack(items), seconds)


def _multidimensional(items: np.ndarray, seconds: float) -> Solved:
    from evaluators.references.items import constraint_programming

    return constraint_programming(items[:, 0], items[:, 1:], np.ones(items.shape[1] - 1), seconds)


def _bins(items: np.ndarray, seconds: float) -> Solved:
    from evaluators.references.bins import fewest_bins
    from problems.bpp_aco import CAPACITY

    return fewest_bins(items, CAPACITY, seconds)


def _orienteering(nodes: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
    from problems.op_aco import longest, prizes

    return euclidean(nodes), prizes(nodes), longest(len(nodes))


def _pyvrp_prizes(nodes: np.ndarray, seconds: float) -> Solved:
    from evaluators.references.routes import pyvrp_prizes

    return pyvrp_prizes(*_orienteering(nodes), seconds)


def _ortools_prizes(nodes: np.ndarray, seconds: float) -> Solved:
    from evaluators.references.routes import ortools_prizes

    return ortools_prizes(*_orienteering(nodes), seconds)


def _schedule(instance: np.ndarray, seconds: float) -> Solved:
    from evaluators.references.shop import shortest_schedule

    return shortest_schedule(instance[:, :, 0], instance[:, :, 1], seconds)


_TOURS = (
    Solver("iterated local search", "", _searched),
    Solver("PyVRP", "pyvrp", _pyvrp_tour),
    Solver("OR-Tools routing", "ortools", _ortools_tour),
)
_VEHICLES = (
    Solver("PyVRP", "pyvrp", _pyvrp_vehicles),
    Solver("OR-Tools routing", "ortools", _ortools_vehicles),
)
SOLVERS: dict[str, tuple[Solver, ...]] = {
    "bpp-aco": (Solver("column generation and OR-Tools CP-SAT", "ortools", _bins),),
    "cvrp": _VEHICLES,
    "cvrp-aco": _VEHICLES,
    "job-shop": (Solver("OR-Tools CP-SAT", "ortools", _schedule),),
    "knapsack": (
        Solver("OR-Tools branch and bound", "ortools", _knapsack_bounded),
        Solver("OR-Tools CP-SAT", "ortools", _knapsack_programmed),
    ),
    "mkp-aco": (Solver("OR-Tools CP-SAT", "ortools", _multidimensional),),
    "op-aco": (
        Solver("PyVRP", "pyvrp", _pyvrp_prizes),
        Solver("OR-Tools routing", "ortools", _ortools_prizes),
    ),
    "tsp": _TOURS,
    "tsp-aco": _TOURS,
    "tsp-gls": _TOURS,
}
