"""TSPLIB files (Reinelt, TSPLIB 95), and the general layout that CVRPLIB shares.

Kept libraries do not fit: ``tsplib95`` is no longer maintained, and ``vrplib`` (2.2.0) leaves distances
unrounded, reads neither ATT, GEO nor most formats of explicit weights, and tells no line of a fault.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from evaluators.instance_files.text import broken, integer, lines, number

MAX_NODES = 5000
"""Most nodes: a matrix of distances of 200 MB."""

_SECTIONS = {"NODE_COORD", "EDGE_WEIGHT", "DISPLAY_DATA", "DEMAND", "DEPOT"}
_KEYWORD = re.compile(r"([A-Za-z][A-Za-z0-9_]*)\s*(:?)\s*(.*)")


@dataclass(frozen=True)
class Section:
    """The numbers of a data section, (k,) float64, the line of each, (k,) int64, and that of its title."""

    line: int
    numbers: np.ndarray
    lines: np.ndarray


@dataclass(frozen=True)
class Layout:
    """A file taken apart: what it specifies, as (line, text) by keyword, and its sections by name."""

    path: Path
    specified: dict[str, tuple[int, str]]
    sections: dict[str, Section]

    def word(self, keyword: str) -> str:
        """The first word of what is specified for ``keyword``.

        Raises:
            BrokenInstanceFile: nothing is.
        """
        line, value = self.specified.get(keyword, (0, ""))
        if not value:
            raise broken(self.path, line, f"specifies no {keyword}; add a line `{keyword} : ...`")
        return value.split()[0]

    def line(self, keyword: str) -> int:
        """The line of ``keyword``, 0 where it is missing."""
        return self.specified.get(keyword, (0, ""))[0]

    def integer(self, keyword: str, least: int, most: int) -> int:
        """What is specified for ``keyword``, as an integer."""
        return integer(self.word(keyword), self.path, self.line(keyword), keyword, least, most)

    def section(self, name: str, width: int, rows: int) -> np.ndarray:
        """A section of ``rows`` rows of ``width`` numbers each.

        Raises:
            BrokenInstanceFile: it is missing, or has more or fewer numbers.
        """
        if name not in self.sections:
            raise broken(self.path, 0, f"has no {name}_SECTION; add it")
        found = self.sections[name]
        if len(found.numbers) == width * rows:
            return found.numbers.reshape(rows, width)
        by_line, counts = np.unique(found.lines, return_counts=True)
        odd = by_line[counts != width]
        if width > 1 and len(odd):
            raise broken(
                self.path, int(odd[0]), f"has {counts[counts != width][0]} numbers; {name} rows have {width}"
            )
        last = int(by_line[-1]) if len(by_line) else found.line
        have = len(found.numbers) / width
        raise broken(
            self.path,
            last,
            f"{name}_SECTION ends after {have:g} of {rows} rows; mend DIMENSION or add the rest",
        )


def read_layout(path: Path) -> Layout:
    """Take a file apart. A missing EOF is no fault.

    Raises:
        BrokenInstanceFile: the file is not laid out so.
    """
    specified: dict[str, tuple[int, str]] = {}
    rows: dict[str, tuple[int, list[float], list[int]]] = {}
    open_section = ""
    for line in lines(path):
        keyword = _KEYWORD.fullmatch(line.text)
        name = keyword[1].upper() if keyword else ""
        if name == "EOF":
            break
        if name.endswith("_SECTION"):
            open_section = name.removesuffix("_SECTION")
            if open_section not in _SECTIONS:
                raise broken(path, line.number, f"{name} is not supported; give an instance without it")
            if open_section in rows:
                raise broken(path, line.number, f"{name} stands here for the second time; remove one")
            rows[open_section] = (line.number, [], [])
        elif keyword and keyword[2]:
            open_section = ""
            if name in specified and name != "COMMENT":
                raise broken(
                    path, line.number, f"{name} was specified in line {specified[name][0]}; keep one"
                )
            specified[name] = (line.number, keyword[3].strip())
        elif open_section:
            _, found, at = rows[open_section]
            words = line.text.split()
            what = f"a number of the {open_section}_SECTION"
            found.extend(number(word, path, line.number, what) for word in words)
            at.extend([line.number] * len(words))
        else:
            raise broken(
                path,
                line.number,
                "is neither `KEYWORD : value` nor the title of a section; give a TSPLIB file",
            )
    sections = {
        name: Section(line, np.array(found, dtype=np.float64), np.array(at, dtype=np.int64))
        for name, (line, found, at) in rows.items()
    }
    return Layout(path, specified, sections)


def numbered(layout: Layout, name: str, rows: int, width: int) -> np.ndarray:
    """A section whose rows start with the node's number, 1 to ``rows``: the rest, (rows, width), in order.

    Raises:
        BrokenInstanceFile: a number is missing, repeated or no node's.
    """
    table = layout.section(name, width + 1, rows)
    at = layout.sections[name].lines[:: width + 1]
    seen = np.zeros(rows, dtype=np.bool_)
    ordered = np.empty((rows, width))
    for line, row in zip(at, table, strict=True):
        if not (row[0].is_integer() and 1 <= row[0] <= rows):
            raise broken(layout.path, int(line), f"there is no node {row[0]:g}: nodes are 1 to {rows}")
        node = int(row[0]) - 1
        if seen[node]:
            raise broken(layout.path, int(line), f"node {node + 1} stands here for the second time")
        seen[node] = True
        ordered[node] = row[1:]
    return ordered


def read_tsp(path: Path) -> tuple[str, np.ndarray]:
    """Name and distances, (n, n) float64, rounded as the file says, of a symmetric TSP.

    Raises:
        BrokenInstanceFile: the file cannot be read as one.
    """
    layout = read_layout(path)
    kind = layout.word("TYPE").upper()
    if kind != "TSP":
        raise broken(path, layout.line("TYPE"), f"TYPE is {kind}; give a file of TYPE TSP (symmetric)")
    return name_of(layout), distances(layout, layout.integer("DIMENSION", 3, MAX_NODES))


def name_of(layout: Layout) -> str:
    """The instance's name, or the file's where it has none."""
    return layout.specified.get("NAME", (0, ""))[1] or layout.path.stem


def distances(layout: Layout, n: int, exact: bool = False) -> np.ndarray:
    """Distances of ``n`` nodes, (n, n) float64, zero on the diagonal.

    ``exact`` leaves Euclidean ones unrounded, as some CVRPLIB sets are meant.

    Raises:
        BrokenInstanceFile: the weights are of a type that is not supported, or not as they should be.
    """
    kind = layout.word("EDGE_WEIGHT_TYPE").upper()
    if kind == "EXPLICIT":
        return _explicit(layout, n)
    row = _exact if exact and kind == "EUC_2D" else _ROWS.get(kind)
    if row is None:
        known = ", ".join([*_ROWS, "EXPLICIT"])
        raise broken(
            layout.path, layout.line("EDGE_WEIGHT_TYPE"), f"EDGE_WEIGHT_TYPE {kind}: use one of {known}"
        )
    places = numbered(layout, "NODE_COORD", n, 2)
    if kind == "GEO":
        places = _radians(places)
    found = np.empty((n, n))
    for i in range(n):
        found[i] = row(places[i], places)
    np.fill_diagonal(found, 0.0)
    return found


def _exact(place: np.ndarray, places: np.ndarray) -> np.ndarray:
    return np.asarray(np.sqrt(((places - place) ** 2).sum(axis=1)))


def _euclidean(place: np.ndarray, places: np.ndarray) -> np.ndarray:
    return np.asarray(np.floor(_exact(place, places) + 0.5))


def _ceiling(place: np.ndarray, places: np.ndarray) -> np.ndarray:
    return np.asarray(np.ceil(_exact(place, places)))


def _att(place: np.ndarray, places: np.ndarray) -> np.ndarray:
    """Pseudo-Euclidean (TSPLIB 95, section 2.5): over sqrt(10), rounded, then up if that fell short."""
    apart = np.sqrt(((places - place) ** 2).sum(axis=1) / 10.0)
    rounded = np.floor(apart + 0.5)
    return np.asarray(np.where(rounded < apart, rounded + 1.0, rounded))


def _radians(places: np.ndarray) -> np.ndarray:
    """Latitude and longitude given as degrees.minutes, in radians with TSPLIB's value of pi."""
    degrees = np.trunc(places)
    return np.asarray(3.141592 * (degrees + 5.0 * (places - degrees) / 3.0) / 180.0)


def _geographical(place: np.ndarray, places: np.ndarray) -> np.ndarray:
    """Kilometres on TSPLIB's idealised earth, of radius 6378.388 (TSPLIB 95, section 2.4)."""
    east = np.cos(places[:, 1] - place[1])
    north, sum_ = np.cos(places[:, 0] - place[0]), np.cos(places[:, 0] + place[0])
    angle = np.arccos(np.clip(0.5 * ((1.0 + east) * north - (1.0 - east) * sum_), -1.0, 1.0))
    return np.asarray(np.floor(6378.388 * angle + 1.0))


_ROWS: dict[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
    "EUC_2D": _euclidean,
    "CEIL_2D": _ceiling,
    "ATT": _att,
    "GEO": _geographical,
}

_BELOW = {"LOWER_ROW", "UPPER_COL", "LOWER_DIAG_ROW", "UPPER_DIAG_COL"}
_ABOVE = {"UPPER_ROW", "LOWER_COL", "UPPER_DIAG_ROW", "LOWER_DIAG_COL"}


def _explicit(layout: Layout, n: int) -> np.ndarray:
    """The weights of the EDGE_WEIGHT_SECTION. By columns, one triangle reads as the other does by rows."""
    form = layout.word("EDGE_WEIGHT_FORMAT").upper()
    if form not in _BELOW | _ABOVE | {"FULL_MATRIX"}:
        known = ", ".join(sorted(_BELOW | _ABOVE | {"FULL_MATRIX"}))
        raise broken(
            layout.path, layout.line("EDGE_WEIGHT_FORMAT"), f"EDGE_WEIGHT_FORMAT {form}: use one of {known}"
        )
    matrix = np.zeros((n, n))
    diagonal = "DIAG" in form
    count = n * n if form == "FULL_MATRIX" else n * (n + 1 if diagonal else n - 1) // 2
    weights = layout.section("EDGE_WEIGHT", 1, count)[:, 0]
    at = layout.sections["EDGE_WEIGHT"].lines
    if (weights < 0).any():
        raise broken(
            layout.path, int(at[weights.argmin()]), "a distance is negative; they have to be 0 or more"
        )
    if form == "FULL_MATRIX":
        matrix[:] = weights.reshape(n, n)
        odd = matrix != matrix.T
        if odd.any():
            i, j = np.argwhere(odd)[0]
            raise broken(
                layout.path,
                int(at[j * n + i]),
                f"the distances between nodes {i + 1} and {j + 1} differ by direction; make them equal",
            )
    else:
        offset = 0 if diagonal else 1
        pairs = np.tril_indices(n, -offset) if form in _BELOW else np.triu_indices(n, offset)
        matrix[pairs] = weights
        matrix = np.maximum(matrix, matrix.T)
    np.fill_diagonal(matrix, 0.0)
    return matrix
