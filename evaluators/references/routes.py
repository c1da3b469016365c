"""Routes from PyVRP (MIT) and from OR-Tools' routing library (Apache-2.0): tours, vehicles, prizes.

Distances become integers by rounding to ``1 / SCALE``; values are computed from the unrounded ones. LKH,
the strongest tour solver, is left out: its licence allows academic use only.
"""

from typing import Any

import numpy as np

from evaluators.references.solved import NoSolution, Solved, SolverMissing, closed_length, integers

SCALE = 10**6
WORTH = 100
"""Length that the greatest prize is worth to the solvers; much more, and PyVRP ends with too long a route."""


def _pyvrp() -> Any:
    try:
        import pyvrp
    except ImportError:
        raise SolverMissing(
            "PyVRP is not installed: pip install 'ahd-search[references]', or pip install pyvrp"
        ) from None
    return pyvrp


def _pyvrp_routes(
    d: np.ndarray,
    demands: list[int],
    capacity: int,
    prizes: list[int] | None,
    limit: int | None,
    seconds: float,
) -> list[list[int]]:
    """Routes of nodes (depot 0 left out) by PyVRP. With ``prizes`` one vehicle may leave nodes out."""
    pyvrp = _pyvrp()
    n = len(d)
    model = pyvrp.Model()
    places = [model.add_location(0, 0) for _ in range(n)]
    model.add_depot(places[0])
    for k in range(1, n):
        given = {"required": False, "prize": prizes[k]} if prizes else {}
        model.add_client(places[k], delivery=[demands[k]], **given)
    extra = {} if limit is None else {"max_distance": limit}
    model.add_vehicle_type(n - 1 if prizes is None and capacity else 1, capacity=[capacity], **extra)
    # rounding up keeps a route within its limit; it changes no comparison that matters otherwise
    lengths = np.ceil(d * SCALE).astype(np.int64).tolist()
    for i in range(n):
        for j in range(n):
            if i != j:
                model.add_edge(places[i], places[j], distance=lengths[i][j])
    result = model.solve(stop=pyvrp.stop.MaxRuntime(seconds), seed=0, display=False, collect_stats=False)
    if not result.is_feasible():
        raise NoSolution(f"PyVRP found no routes in {seconds:g} s: give it more --seconds")
    return [_visits(route) for route in result.best.routes()]


def _visits(route: Any) -> list[int]:
    return [activity.idx + 1 for activity in route.schedule() if activity.is_client()]


def _routing(
    d: np.ndarray,
    demands: list[int],
    capacity: int,
    vehicles: int,
    seconds: float,
    prizes: list[int] | None = None,
    limit: int | None = None,
) -> list[list[int]]:
    """Routes of nodes (depot 0 left out) by OR-Tools: savings or cheapest arcs, then guided local search."""
    from ortools.constraint_solver import pywrapcp, routing_enums_pb2

    n = len(d)
    lengths = np.ceil(d * SCALE).astype(np.int64).tolist()
    manager = pywrapcp.RoutingIndexManager(n, vehicles, 0)
    routing = pywrapcp.RoutingModel(manager)
    transit = routing.RegisterTransitMatrix(lengths)
    routing.SetArcCostEvaluatorOfAllVehicles(transit)
    for k, prize in enumerate(prizes or []):
        if k > 0:
            routing.AddDisjunction([manager.NodeToIndex(k)], prize)
    if limit is not None:
        routing.AddDimension(transit, 0, limit, True, "length")
    if capacity:
        loads = routing.RegisterUnaryTransitVector(demands)
        routing.AddDimension(loads, 0, capacity, True, "load")
    parameters = pywrapcp.DefaultRoutingSearchParameters()
    parameters.first_solution_strategy = routing_enums_pb2.FirstSolutionStrategy.PATH_CHEAPEST_ARC
    parameters.local_search_metaheuristic = routing_enums_pb2.LocalSearchMetaheuristic.GUIDED_LOCAL_SEARCH
    parameters.time_limit.FromMilliseconds(int(1000 * seconds))
    found = routing.SolveWithParameters(parameters)
    if found is None:
        raise NoSolution(f"OR-Tools found no routes in {seconds:g} s: give it more --seconds")
    routes = []
    for vehicle in range(vehicles):
        index, route = found.Value(routing.NextVar(routing.Start(vehicle))), []
        while not routing.IsEnd(index):
            route.append(manager.IndexToNode(index))
            index = found.Value(routing.NextVar(index))
        if route:
            routes.append(route)
    return routes


def _cost(routes: list[list[int]], d: np.ndarray, demands: list[int], capacity: int) -> float:
    if sorted(node for route in routes for node in route) != list(range(1, len(d))):
        raise AssertionError("the solver's routes do not visit every node once")
    if capacity and any(sum(demands[node] for node in route) > capacity for route in routes):
        raise AssertionError("a route of the solver is overloaded")
    return sum(closed_length([0, *route], d) for route in routes)


def pyvrp_tour(d: np.ndarray, seconds: float) -> Solved:
    """A closed tour over ``d`` (n, n): one vehicle without a load."""
    none = [0] * len(d)
    return Solved(_cost(_pyvrp_routes(d, none, 0, None, None, seconds), d, none, 0))


def ortools_tour(d: np.ndarray, seconds: float) -> Solved:
    """The same by OR-Tools."""
    none = [0] * len(d)
    return Solved(_cost(_routing(d, none, 0, 1, seconds), d, none, 0))


def pyvrp_vehicles(d: np.ndarray, demands: np.ndarray, capacity: int, seconds: float) -> Solved:
    """Routes from depot 0 over ``d`` (n, n) that serve integer ``demands`` (n,); any number of vehicles."""
    loads = [int(demand) for demand in demands]
    return Solved(_cost(_pyvrp_routes(d, loads, capacity, None, None, seconds), d, loads, capacity))


def ortools_vehicles(d: np.ndarray, demands: np.ndarray, capacity: int, seconds: float) -> Solved:
    """The same by OR-Tools, with at most twice as many vehicles as the load needs."""
    loads = [int(demand) for demand in demands]
    vehicles = min(len(d) - 1, 2 * -(-sum(loads) // capacity))
    return Solved(_cost(_routing(d, loads, capacity, vehicles, seconds), d, loads, capacity))


def _prize(routes: list[list[int]], d: np.ndarray, prizes: np.ndarray, limit: float) -> float:
    route = routes[0] if routes else []
    if len(routes) > 1 or len(set(route)) < len(route) or 0 in route:
        raise AssertionError("the solver visits a node twice")
    if closed_length([0, *route], d) > limit:
        raise AssertionError("the solver's route is too long")
    return -float(prizes[[0, *route]].sum())


def _worth(prizes: np.ndarray) -> list[int]:
    return integers(prizes / prizes.max(), WORTH * SCALE)


def pyvrp_prizes(d: np.ndarray, prizes: np.ndarray, limit: float, seconds: float) -> Solved:
    """Minus the prizes (n,) collected, the depot's included, on a round trip from 0 up to ``limit`` long.

    The solver minimises length minus ``WORTH`` times the prize as a share of the greatest.
    """
    routes = _pyvrp_routes(d, [0] * len(d), 0, _worth(prizes), int(limit * SCALE), seconds)
    return Solved(_prize(routes, d, prizes, limit))


def ortools_prizes(d: np.ndarray, prizes: np.ndarray, limit: float, seconds: float) -> Solved:
    """The same by OR-Tools."""
    routes = _routing(d, [0] * len(d), 0, 1, seconds, prizes=_worth(prizes), limit=int(limit * SCALE))
    return Solved(_prize(routes, d, prizes, limit))
