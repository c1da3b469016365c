"""Instance files: what is read, how distances are rounded; every fault is one line with its place."""

import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluators.instance_files.cvrplib import read_vrp
from evaluators.instance_files.optima import TSP, optimum
from evaluators.instance_files.or_library import read_bins, read_knapsacks
from evaluators.instance_files.text import BrokenInstanceFile
from evaluators.instance_files.tsplib import read_tsp
from problems import registry

DATA = Path(__file__).parents[3] / "shared" / "data"

ULYSSES16 = """
38.24 20.42 39.57 26.15 40.56 25.32 36.26 23.12 33.48 10.54 37.56 12.19 38.42 13.11 37.52 20.44 41.23 9.10
41.17 13.05 36.08 -5.21 38.47 15.13 38.15 15.35 37.51 15.17 35.49 14.32 39.36 19.56
"""
ULYSSES16_TOUR = [1, 14, 13, 12, 7, 6, 15, 5, 11, 9, 10, 16, 3, 2, 4, 8]
ATT48 = """
6734 1453 2233 10 5530 1424 401 841 3082 1644 7608 4458 7573 3716 7265 1268 6898 1885 1112 2049 5468 2606
5989 2873 4706 2674 4612 2035 6347 2683 6107 669 7611 5184 7462 3590 7732 4723 5900 3561 4483 3369 6101 1110
5199 2182 1633 2809 4307 2322 675 1006 7555 4819 7541 3981 3177 756 7352 4506 7545 2801 3245 3305 6426 3173
4608 1198 23 2216 7248 3779 7762 4595 7392 2244 3484 2829 6271 2135 4985 140 1916 1569 7280 4899 7509 3239
10 2676 6807 2993 5185 3258 3023 1942
"""
ATT48_TOUR = [
    *(1, 8, 38, 31, 44, 18, 7, 28, 6, 37, 19, 27, 17, 43, 30, 36, 46, 33, 20, 47, 21, 32, 39, 48),
    *(5, 42, 24, 10, 45, 35, 4, 26, 2, 29, 34, 41, 16, 22, 3, 23, 14, 25, 13, 11, 12, 15, 40, 9),
]


def write(folder: Path, text: str | bytes, name: str = "x.tsp") -> Path:
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def by_coordinates(name: str, kind: str, numbers: str) -> str:
    words = numbers.split()
    rows = "\n".join(f"{k + 1} {words[2 * k]} {words[2 * k + 1]}" for k in range(len(words) // 2))
    return (
        f"NAME: {name}\nTYPE : TSP\nCOMMENT : made here\nDIMENSION: {len(words) // 2}\n"
        f"EDGE_WEIGHT_TYPE : {kind}\nNODE_COORD_SECTION\n{rows}\nEOF\n"
    )


def length(matrix: np.ndarray, tour: list[int]) -> float:
    nodes = np.array(tour) - 1
    return float(matrix[nodes, np.roll(nodes, -1)].sum())


@pytest.mark.parametrize(
    ("name", "kind", "numbers", "tour"),
    [("ulysses16", "GEO", ULYSSES16, ULYSSES16_TOUR), ("att48", "ATT", ATT48, ATT48_TOUR)],
)
def test_published_tours_have_their_length(
    tmp_path: Path, name: str, kind: str, numbers: str, tour: list[int]
) -> None:
    """TSPLIB's optimal tours of a GEO and an ATT instance have exactly the optimal length."""
    found, matrix = read_tsp(write(tmp_path, by_coordinates(name, kind, numbers)))
    assert found == name
    assert length(matrix, tour) == TSP[name] == optimum(name, len(tour))


def test_distances_are_rounded_as_the_type_says(tmp_path: Path) -> None:
    """EUC_2D to the nearest integer, halves up; CEIL_2D up; ATT divided by the root of ten, never down."""
    numbers = "0 0 1.5 0 0 2.4 3 4.01"
    expected = {
        "EUC_2D": [[0, 2, 2, 5], [2, 0, 3, 4], [2, 3, 0, 3], [5, 4, 3, 0]],
        "CEIL_2D": [[0, 2, 3, 6], [2, 0, 3, 5], [3, 3, 0, 4], [6, 5, 4, 0]],
        "ATT": [[0, 1, 1, 2], [1, 0, 1, 2], [1, 1, 0, 2], [2, 2, 2, 0]],
    }
    for kind, matrix in expected.items():
        assert read_tsp(write(tmp_path, by_coordinates("four", kind, numbers)))[1].tolist() == matrix


FORMATS: dict[str, Callable[[np.ndarray], list[list[float]]]] = {
    "FULL_MATRIX": lambda d: d.tolist(),
    "UPPER_ROW": lambda d: [d[i, i + 1 :].tolist() for i in range(len(d) - 1)],
    "LOWER_ROW": lambda d: [d[i, :i].tolist() for i in range(1, len(d))],
    "UPPER_DIAG_ROW": lambda d: [d[i, i:].tolist() for i in range(len(d))],
    "LOWER_DIAG_ROW": lambda d: [d[i, : i + 1].tolist() for i in range(len(d))],
    "UPPER_COL": lambda d: [d[:i, i].tolist() for i in range(1, len(d))],
    "LOWER_COL": lambda d: [d[i + 1 :, i].tolist() for i in range(len(d) - 1)],
    "UPPER_DIAG_COL": lambda d: [d[: i + 1, i].tolist() for i in range(len(d))],
    "LOWER_DIAG_COL": lambda d: [d[i:, i].tolist() for i in range(len(d))],
}


def explicit(form: str, rows: list[list[float]], n: int) -> str:
    body = "\n".join(" ".join(f"{number:g}" for number in row) for row in rows)
    return (
        f"NAME: e\nTYPE: TSP\nDIMENSION: {n}\nEDGE_WEIGHT_TYPE: EXPLICIT\nEDGE_WEIGHT_FORMAT: {form}\n"
        f"EDGE_WEIGHT_SECTION\n{body}\nDISPLAY_DATA_SECTION\n1 2 3\n"
    )


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("wrapped", [False, True])
def test_explicit_weights(tmp_path: Path, form: str, wrapped: bool) -> None:
    """Each format of explicit weights gives the matrix it was written from, however lines are wrapped."""
    half = np.triu(np.random.RandomState(1).randint(1, 100, (6, 6)), 1).astype(float)
    matrix = half + half.T
    rows = FORMATS[form](matrix)
    if wrapped:
        flat = [number for row in rows for number in row]
        rows = [flat[k : k + 4] for k in range(0, len(flat), 4)]
    assert read_tsp(write(tmp_path, explicit(form, rows, 6)))[1].tolist() == matrix.tolist()


def test_leniency(tmp_path: Path) -> None:
    """A missing EOF, blank lines, tabs, CRLF, a byte order mark, small letters, odd comments and any order
    of nodes are no faults; what follows EOF is not read."""
    plain = by_coordinates("t", "EUC_2D", "0 0 3 0 3 4")
    _, expected = read_tsp(write(tmp_path, plain))
    for text in (
        plain.removesuffix("EOF\n"),
        "\n\n" + plain.replace("\n", "\n\n"),
        plain.replace(" ", "\t").replace("\n", "\r\n"),
        b"\xef\xbb\xbf" + plain.encode(),
        plain.replace("made here", "M\xfcnchen: 20%").encode("latin-1"),
        plain.replace("1 0 0\n2 3 0", "2 3 0\n1 0.0e0 +0"),
        plain.replace("NODE_COORD_SECTION", "Node_Coord_Section :"),
        plain + "\x41 nonsense : \n 7 7 7\n",
    ):
        np.testing.assert_array_equal(read_tsp(write(tmp_path, text))[1], expected)


GOOD = by_coordinates("g", "EUC_2D", "0 0 3 0 3 4 0 4")
MATRIX = explicit("FULL_MATRIX", [[0, 1, 2], [1, 0, 3], [2, 3, 0]], 3)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is empty"),
        (" \n\n", "is empty"),
        (b"\x1f\x8b\x08\x00\x01\x02", "line 1: holds bytes that are no text"),
        (GOOD.replace("4 0 4\n", ""), r"line 9: NODE_COORD_SECTION ends after 3 of 4 rows"),
        (GOOD.replace("DIMENSION: 4", "DIMENSION: 5"), r"line 10: .* ends after 4 of 5 rows"),
        (GOOD.replace("DIMENSION: 4", "DIMENSION: 3"), r"line 10: .* 4 of 3 rows"),
        (GOOD.replace("DIMENSION: 4", "DIMENSION: 1000000000"), r"line 4: DIMENSION is '1000000000'"),
        (GOOD.replace("DIMENSION: 4", "DIMENSION: -4"), r"line 4: DIMENSION is '-4'"),
        (GOOD.replace("DIMENSION: 4", "DIMENSION: four"), r"line 4: 'four' is no number"),
        (GOOD.replace("DIMENSION: 4", "DIMENSION:"), r"line 4: specifies no DIMENSION"),
        (GOOD.replace("DIMENSION: 4\n", ""), "specifies no DIMENSION"),
        (GOOD.replace("2 3 0", "2 3"), r"line 8: has 2 numbers; NODE_COORD rows have 3"),
        (GOOD.replace("2 3 0", "2 x 0"), r"line 8: 'x' is no number"),
        (GOOD.replace("2 3 0", "2 nan 0"), r"line 8: 'nan' is no number"),
        (GOOD.replace("2 3 0", "2 inf 0"), r"line 8: 'inf' is no number"),
        (GOOD.replace("2 3 0", "2 1e300 0"), r"line 8: '1e300' is no number"),
        (GOOD.replace("2 3 0", "2 1_0 0"), r"line 8: '1_0' is no number"),
        (GOOD.replace("2 3 0", "1 3 0"), r"line 8: node 1 stands here for the second time"),
        (GOOD.replace("2 3 0", "7 3 0"), r"line 8: there is no node 7"),
        (GOOD.replace("2 3 0", "2.5 3 0"), r"line 8: there is no node 2.5"),
        (GOOD.replace("TYPE : TSP", "TYPE : ATSP"), r"line 2: TYPE is ATSP"),
        (GOOD.replace("TYPE : TSP\n", ""), "specifies no TYPE"),
        (
            GOOD.replace("DIMENSION: 4", "DIMENSION: 4\nDIMENSION: 3"),
            r"line 5: DIMENSION was specified in line 4",
        ),
        (GOOD.replace("EUC_2D", "XRAY1"), r"line 5: EDGE_WEIGHT_TYPE XRAY1: use one of EUC_2D"),
        (GOOD.replace("NODE_COORD_SECTION", "FIXED_EDGES_SECTION"), "line 6: FIXED_EDGES_SECTION is not"),
        (GOOD.replace("EOF", "NODE_COORD_SECTION"), "line 11: NODE_COORD_SECTION stands here for the second"),
        (GOOD.split("NODE_COORD")[0], "has no NODE_COORD_SECTION"),
        ("hello world\n", "line 1: is neither"),
        ("1 2 3\n", "line 1: is neither"),
        (MATRIX.replace("FULL_MATRIX", "FUNCTION"), "line 5: EDGE_WEIGHT_FORMAT FUNCTION"),
        (MATRIX.replace("1 0 3", "1 0 4"), r"line 9: the distances between nodes 2 and 3 differ"),
        (MATRIX.replace("1 0 3", "-1 0 3"), r"line 8: a distance is negative"),
        (MATRIX.replace("2 3 0\n", ""), r"line 8: EDGE_WEIGHT_SECTION ends after 6 of 9 rows"),
    ],
)
def test_broken_tsplib_files(tmp_path: Path, text: str | bytes, message: str) -> None:
    """Each fault is one line with the file, the line where there is one, and what should be there."""
    path = write(tmp_path, text)
    with pytest.raises(BrokenInstanceFile, match=message) as caught:
        read_tsp(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert "\n" not in str(caught.value)


VRP = """\
NAME : v
TYPE : CVRP
DIMENSION : 4
EDGE_WEIGHT_TYPE : EUC_2D
CAPACITY : 10
NODE_COORD_SECTION
1 0 4
2 0 0
3 3 0
4 3 4
DEMAND_SECTION
1 5
2 0
3 6
4 5
DEPOT_SECTION
 2
 -1
EOF
"""


def test_cvrplib(tmp_path: Path) -> None:
    """The depot comes first, the others in their order; without a solution nothing is known."""
    found = read_vrp(write(tmp_path, VRP, "v.vrp"))
    assert found.distances.tolist() == [[0, 4, 3, 5], [4, 0, 5, 3], [3, 5, 0, 4], [5, 3, 4, 0]]
    assert found.demands.tolist() == [0, 5, 6, 5]
    assert (found.name, found.capacity, found.best) == ("v", 10, None)


def test_solution_beside_a_cvrplib_file(tmp_path: Path) -> None:
    """Its cost is the best known, if its routes have it; it also tells unrounded distances from rounded."""
    path = write(tmp_path, VRP, "v.vrp")
    write(tmp_path, "Route #1: 1 3\nRoute #2: 2\nCost 18\n", "v.sol")
    assert read_vrp(path).best == 18
    moved = VRP.replace("3 3 0\n", "3 3.4 0\n")
    write(tmp_path, moved, "v.vrp")
    assert read_vrp(path).distances[0, 2] == 3
    write(tmp_path, "Route #1: 1 3\nRoute #2: 2\nCost 18.8\n", "v.sol")
    assert read_vrp(path).distances[0, 2] == pytest.approx(3.4)
    for text, message in (
        ("Route #1: 1 3\nRoute #2: 2\nCost 17\n", "do not cost the 17"),
        ("Route #1: 1 3\nCost 18\n", "do not visit each of 3 customers once"),
        ("Route #1: 1 3\nRoute #2: 9\nCost 18\n", "line 2: a customer is '9'"),
        ("Route #1: 1 3\nRoute #2: 2\n", "states no cost"),
        ("Route #1: 1 3\nRoute #2: 2\nCost much\n", "line 3: 'much' is no number"),
        ("Route #1: 1 2 3\nCost 18\n", "loads more than 10"),
    ):
        write(tmp_path, text, "v.sol")
        with pytest.raises(BrokenInstanceFile, match=message):
            read_vrp(path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (VRP.replace("CVRP", "VRPTW"), "line 2: TYPE is VRPTW"),
        (VRP.replace("CAPACITY : 10\n", ""), "specifies no CAPACITY"),
        (VRP.replace("CAPACITY : 10", "CAPACITY : 0"), "line 5: CAPACITY is '0'"),
        (VRP.replace("4 5\n", "4 50\n"), "line 15: demand 50"),
        (VRP.replace("4 5\n", "4 -5\n"), "line 15: demand -5"),
        (VRP.replace("4 5\n", ""), "line 14: DEMAND_SECTION ends after 3 of 4 rows"),
        (VRP.replace("2 0\n3 6", "2 1\n3 6"), "line 13: the depot, node 2, has a demand"),
        (VRP.replace(" 2\n -1", " 2\n 3\n -1"), "line 16: names 2 depots"),
        (VRP.replace(" 2\n -1", " 9\n -1"), "line 17: there is no node 9"),
        (VRP.replace("DEPOT_SECTION\n 2\n -1\n", ""), "names 0 depots"),
        (VRP.replace("CAPACITY", "DISTANCE : 200\nCAPACITY"), "line 5: DISTANCE is not supported"),
    ],
)
def test_broken_cvrplib_files(tmp_path: Path, text: str, message: str) -> None:
    """Faults of a CVRP name their line."""
    with pytest.raises(BrokenInstanceFile, match=message):
        read_vrp(write(tmp_path, text, "v.vrp"))


BINS = "2\n u4\n 150 4 2\n 100\n50\n 60\n90\n t3\n 100.0 3 2\n 36.6\n 26.8\n 36.6\n"


def test_or_library_bins(tmp_path: Path) -> None:
    """Several problems a file, each with its best value; sizes with decimals say what makes them whole."""
    first, second = read_bins(write(tmp_path, BINS))
    assert (first.name, first.capacity, first.best, first.scale) == ("u4", 150, 2, 1)
    assert first.sizes.tolist() == [100, 50, 60, 90]
    assert (second.name, second.capacity, second.best, second.scale) == ("t3", 100, 2, 10)
    assert second.sizes.tolist() == [36.6, 26.8, 36.6]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is empty"),
        (BINS.replace("90\n", "190\n"), "line 7: '190' is no size for u4, above 0 and at most 150"),
        (BINS.replace("90\n", "0\n"), "line 7: '0' is no size"),
        (BINS.replace("90\n", "x\n"), "line 7: 'x' is no number"),
        (BINS.replace("150 4 2", "150 1000000000 2"), "line 3: the number of items is '1000000000'"),
        (BINS.replace("150 4 2", "0 4 2"), "line 3: '0' is no capacity"),
        (BINS.replace("150 4 2", "150 4 9"), "line 3: the number of bins of the best solution is '9'"),
        (BINS.removesuffix(" 36.6\n"), "line 11: the file ends after 2 of 3 numbers"),
        (BINS.replace("2\n u4", "3\n u4"), "line 12: the file ends where the name"),
        (BINS + "7\n", "line 13: '7' follows where the file has to end"),
        (BINS.replace("150 4 2", "150 4 1"), "u4: 1 bins are stated, but the items need 2"),
        (BINS.replace("26.8", "26.81234567"), "t3: sizes have more than 6 decimals"),
    ],
)
def test_broken_bins(tmp_path: Path, text: str, message: str) -> None:
    """Faults of a bin packing file name their line."""
    with pytest.raises(BrokenInstanceFile, match=message):
        read_bins(write(tmp_path, text))


SEVERAL = "2\n3 2 10\n8 10 7\n3 4 2\n1 5 6\n5 6\n2 1 0\n5 6\n3 3\n3\n"
SINGLE = "4 11\n8 4\n10 5\n15 8\n4 3\n0 0 1 1\n"


def test_knapsacks(tmp_path: Path) -> None:
    """OR-Library's layout with several problems of several dimensions, and the one of a single problem."""
    first, second = read_knapsacks(write(tmp_path, SEVERAL, "m.txt"))
    assert (first.name, first.best, first.limits.tolist()) == ("m-1", 10, [5, 6])
    assert first.values.tolist() == [8, 10, 7]
    assert first.weights.tolist() == [[3, 1], [4, 5], [2, 6]]
    assert (second.name, second.best, second.weights.shape) == ("m-2", None, (2, 1))
    (single,) = read_knapsacks(write(tmp_path, SINGLE, "s.txt"))
    assert (single.name, single.best, single.limits.tolist()) == ("s", 19, [11])
    assert single.values.tolist() == [8, 10, 15, 4]
    assert single.weights.tolist() == [[4], [5], [8], [3]]
    (unsolved,) = read_knapsacks(write(tmp_path, SINGLE.removesuffix("0 0 1 1\n")))
    assert unsolved.best is None


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("4 11 3\n", "line 1: has 3 numbers"),
        (SINGLE.replace("15 8\n", "15\n"), "line 4: has 1 numbers"),
        (SINGLE.replace("15 8\n", "15 -8\n"), "line 4: has a negative number"),
        (SINGLE.replace("4 11", "9 11"), "line 6: the file ends after 5 of 9 items"),
        (SINGLE.replace("4 11", "1000000000 11"), "line 1: the number of items is '1000000000'"),
        (SINGLE.replace("0 0 1 1", "0 0 1"), "line 6: there are 3 choices for 4 items"),
        (SINGLE.replace("0 0 1 1", "0 0 1 2"), "line 6: a choice is '2'"),
        (SINGLE.replace("0 0 1 1", "1 1 1 1"), "line 6: the items chosen do not fit"),
        (SEVERAL.replace("5 6\n2 1", "5 x\n2 1"), "line 6: 'x' is no number"),
        (SEVERAL.replace("3 2 10", "3 100000 10"), "line 2: the number of dimensions is '100000'"),
        (SEVERAL.removesuffix("3\n"), "line 9: the file ends after 0 of 1 numbers"),
    ],
)
def test_broken_knapsacks(tmp_path: Path, text: str, message: str) -> None:
    """Faults of a knapsack file name their line."""
    with pytest.raises(BrokenInstanceFile, match=message):
        read_knapsacks(write(tmp_path, text))


@pytest.mark.parametrize("reader", [read_tsp, read_vrp, read_bins, read_knapsacks])
def test_files_that_cannot_be_opened(tmp_path: Path, reader: Callable[[Path], Any]) -> None:
    """A missing file and a folder are one line too."""
    for path in (tmp_path / "none", tmp_path):
        with pytest.raises(BrokenInstanceFile, match="give the path of an instance file"):
            reader(path)


def test_files_beyond_the_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No more of a file is read than may be used; a device, which may not end, not at all."""
    monkeypatch.setattr("evaluators.instance_files.text.MAX_BYTES", 1 << 20)
    with pytest.raises(BrokenInstanceFile, match="has more than 1 MiB"):
        read_tsp(write(tmp_path, " " * ((1 << 20) + 1)))
    with pytest.raises(BrokenInstanceFile, match="no regular file"):
        read_tsp(Path("/dev/zero"))


@given(
    text=st.sampled_from([GOOD, MATRIX, VRP, BINS, SEVERAL, SINGLE]),
    edits=st.lists(st.tuples(st.floats(0, 1), st.binary(max_size=3), st.integers(0, 5)), max_size=4),
)
def test_any_damage_is_read_or_told(
    tmp_path_factory: pytest.TempPathFactory, text: str, edits: list[tuple[float, bytes, int]]
) -> None:
    """However a file is cut and overwritten, a reader returns or raises ``BrokenInstanceFile``."""
    data = text.encode()
    for where, new, cut in edits:
        at = int(where * len(data))
        data = data[:at] + new + data[at + cut :]
    path = write(tmp_path_factory.getbasetemp(), data, "damaged")
    for reader in (read_tsp, read_vrp, read_bins, read_knapsacks):
        with suppress(BrokenInstanceFile):
            reader(path)


@pytest.mark.skipif(not (DATA / "tsplib").is_dir(), reason="needs the shared TSPLIB files")
def test_tsplib_files() -> None:
    """All 14 files read; each has a known optimum, not above what the tour by numbers takes."""
    read = registry.load("tsp").read
    assert read is not None
    files = sorted((DATA / "tsplib").glob("*.tsp"))
    assert len(files) == 14
    for file in files:
        (instance,) = read(file)
        n = instance.array.shape[1]
        assert instance.name == file.stem
        assert instance.best is not None
        assert instance.best.value <= length(instance.array[0], list(range(1, n + 1)))


@pytest.mark.skipif(not (DATA / "cvrplib").is_dir(), reason="needs the shared CVRPLIB files")
def test_cvrplib_files() -> None:
    """All five files read, and the routes beside each cost what is stated, in rounded distances."""
    found = {file.stem: read_vrp(file) for file in (DATA / "cvrplib").glob("*.vrp")}
    assert {name: each.best for name, each in found.items()} == {
        "X-n101-k25": 27591,
        "X-n106-k14": 26362,
        "X-n110-k13": 14971,
        "X-n120-k6": 13332,
        "X-n153-k22": 21220,
    }
    assert all((each.distances == each.distances.round()).all() for each in found.values())


@pytest.mark.parametrize("reader", [read_tsp, read_vrp, read_bins, read_knapsacks])
def test_what_is_no_regular_file_is_not_opened(tmp_path: Path, reader: Callable[[Path], Any]) -> None:
    """A pipe that nobody writes to would be waited for without end."""
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(BrokenInstanceFile, match="no regular file"):
        reader(tmp_path / "pipe")
