"""CVRPLIB files: instances (.vrp), and solutions (.sol) beside them, whose cost is the best known."""

import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from evaluators.instance_files.text import broken, integer, lines, number
from evaluators.instance_files.tsplib import MAX_NODES, Layout, distances, name_of, numbered, read_layout

_CAPACITY = 10**9
_UNSUPPORTED = ("DISTANCE", "SERVICE_TIME", "VEHICLES")


@dataclass(frozen=True)
class Vrp:
    """A capacitated vehicle routing problem.

    ``distances`` (n, n) and ``demands`` (n,) are float64; node 0 is the depot, of demand 0. ``best`` is
    the cost of the solution beside the file, if there is one.
    """

    name: str
    distances: np.ndarray
    demands: np.ndarray
    capacity: int
    best: float | None


def read_vrp(path: Path) -> Vrp:
    """Read a CVRP.

    Distances are rounded as the file says, unless the solution beside it states the cost that its routes
    have under unrounded ones, as is meant in some sets (CMT, Golden).

    Raises:
        BrokenInstanceFile: the file, or the solution beside it, cannot be read as one.
    """
    layout = read_layout(path)
    kind = layout.word("TYPE").upper()
    if kind != "CVRP":
        raise broken(path, layout.line("TYPE"), f"TYPE is {kind}; give a file of TYPE CVRP")
    for keyword in _UNSUPPORTED:
        if keyword in layout.specified and layout.specified[keyword][1] not in ("", "0"):
            raise broken(
                path, layout.line(keyword), f"{keyword} is not supported; give an instance without it"
            )
    n = layout.integer("DIMENSION", 3, MAX_NODES)
    capacity = layout.integer("CAPACITY", 1, _CAPACITY)
    demands = numbered(layout, "DEMAND", n, 1)[:, 0]
    at = layout.sections["DEMAND"].lines[::2]
    depot = _depot(layout, n)
    numbers = layout.sections["DEMAND"].numbers[::2].astype(np.int64) - 1
    for line, node in zip(at, numbers, strict=True):
        if not (0 <= demands[node] <= capacity and demands[node].is_integer()):
            raise broken(
                path, int(line), f"demand {demands[node]:g}; it has to be an integer from 0 to {capacity}"
            )
        if node == depot and demands[node]:
            raise broken(path, int(line), f"the depot, node {node + 1}, has a demand; make it 0")
    order = np.array([depot, *(node for node in range(n) if node != depot)])
    found = distances(layout, n)[np.ix_(order, order)]
    solution, best = path.with_suffix(".sol"), None
    if solution.exists():
        routes, best = _solution(solution, n)
        if not math.isclose(_cost(routes, found), best, abs_tol=0.05):
            found = distances(layout, n, exact=True)[np.ix_(order, order)]
            if not math.isclose(_cost(routes, found), best, abs_tol=0.05):
                raise broken(solution, 0, f"its routes do not cost the {best:g} it states; remove or mend it")
        _check_loads(solution, routes, demands[order], capacity)
    return Vrp(name_of(layout), found, demands[order], capacity, best)


def _depot(layout: Layout, n: int) -> int:
    """The only depot, from 0; the section ends in -1."""
    section = layout.sections.get("DEPOT")
    depots = [] if section is None else [depot for depot in section.numbers if depot != -1]
    if section is None or len(depots) != 1:
        line = 0 if section is None else section.line
        raise broken(
            layout.path, line, f"names {len(depots)} depots; a DEPOT_SECTION with one has to be there"
        )
    depot = float(depots[0])
    if not (depot.is_integer() and 1 <= depot <= n):
        raise broken(layout.path, int(section.lines[0]), f"there is no node {depot:g}: nodes are 1 to {n}")
    return int(depot) - 1


def _solution(path: Path, n: int) -> tuple[list[list[int]], float]:
    """Routes, of customers numbered from 1, and the cost stated."""
    routes: list[list[int]] = []
    cost = None
    for line in lines(path):
        head, _, rest = line.text.partition(":")
        if head.lower().startswith("route"):
            words = rest.split()
            routes.append([integer(word, path, line.number, "a customer", 1, n - 1) for word in words])
        elif head.lower().startswith("cost"):
            words = (rest or head[4:]).split()
            cost = number(words[0] if words else "", path, line.number, "the cost")
    if cost is None:
        raise broken(path, 0, "states no cost; add a line `Cost ...`, or remove the file")
    if sorted(customer for route in routes for customer in route) != list(range(1, n)):
        raise broken(path, 0, f"its routes do not visit each of {n - 1} customers once; remove or mend it")
    return routes, cost


def _cost(routes: list[list[int]], found: np.ndarray) -> float:
    total = 0.0
    for route in routes:
        stops = [0, *route, 0]
        total += float(found[stops[:-1], stops[1:]].sum())
    return total


def _check_loads(path: Path, routes: list[list[int]], demands: np.ndarray, capacity: int) -> None:
    for number_, route in enumerate(routes, 1):
        if demands[route].sum() > capacity:
            raise broken(path, 0, f"route {number_} loads more than {capacity}; remove or mend the file")
