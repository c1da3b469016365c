"""Reference values: what ships, what is computed here, and where each comes from."""

import dataclasses
import json
import math
from pathlib import Path

import numpy as np
import pytest

from evaluators.references.solved import Solved
from problems import references
from problems.references import Line, Record, known
from problems.registry import load, packaged
from problems.solvers import SOLVERS


@pytest.fixture(autouse=True)
def own_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("AHD_CACHE", str(tmp_path))


def line(index: int, value: float, bound: float | None = None, solver: str = "a", key: str = "k") -> Line:
    return Line(index, value, bound, solver, "1", 2.0, 0.1, "2026-01-01", key)


def test_what_ships_belongs_to_the_instances() -> None:
    """Every shipped record names a size on offer and carries the hash and the number of its instances."""
    assert references.shipped()
    for (name, split, size), record in references.shipped().items():
        instances = load(name).instances(split, size)
        assert record.digest == references.digest(instances), (name, split, size)
        assert record.count == len(instances)
        assert 0 <= record.proven <= record.count
        assert record.bound is None or record.bound <= record.value + 1e-5
        assert record.date
        assert record.solver


def test_the_shipped_file_is_in_order(tmp_path: Path) -> None:
    """Writing every record again gives the file, byte for byte, in whatever order."""
    copy = tmp_path / "copy.json"
    for (name, split, size), record in sorted(references.shipped().items(), reverse=True):
        references.write_shipped(name, split, size, record, copy)
    assert copy.read_text() == references.SHIPPED.read_text()
    json.loads(copy.read_text())


def test_problems_use_what_ships() -> None:
    """Every shipped value is what its problem gives, with its origin."""
    for (name, split, size), record in references.shipped().items():
        found = load(name).reference(split, size)
        assert found is not None
        assert found.value == record.value, (name, split, size)
        assert record.solver in found.source


def test_measured_references_of_the_design() -> None:
    """The values that runs were measured against so far stay within their last digits."""
    assert known("tsp", "train", 50) is not None
    for name, split, size, value in (
        ("tsp", "train", 50, 5.70445),
        ("tsp", "test", 50, 5.675),
        ("knapsack", "train", 100, -40.18899),
    ):
        found = known(name, split, size)
        assert found is not None
        assert found.value == pytest.approx(value, abs=6e-4)


def test_solvers_are_for_problems_there_are() -> None:
    """The table of solvers names packaged problems, each solver differently."""
    assert set(SOLVERS) <= set(packaged())
    for solvers in SOLVERS.values():
        assert len({solver.name for solver in solvers}) == len(solvers)


def test_the_best_line_of_an_instance_counts() -> None:
    """The lower value wins, among equals the one with a bound; a gap in the instances gives no record."""
    lines = [line(0, 5.0), line(0, 4.0, 4.0, "b"), line(1, 6.0), line(1, 6.0, 5.0, "b")]
    record = references.summarise(lines, 2)
    assert record is not None
    assert (record.value, record.proven, record.bound, record.solver) == (5.0, 1, 4.5, "b")
    assert record.status == "best found"
    assert references.summarise(lines, 3) is None
    mixed = references.summarise([line(0, 4.0, solver="x"), line(1, 2.0)], 2)
    assert mixed is not None
    assert mixed.solver == "a or x"
    assert mixed.bound is None


def test_computed_values_fill_gaps_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """Values of this machine are used where nothing ships, once complete and of the right instances."""
    problem = load("tsp")
    split, size = "train", 50
    instances = problem.instances(split, size)
    key, file = references.digest(instances), references.cache_file("tsp", split, size)
    monkeypatch.setattr(references, "shipped", dict)
    assert known("tsp", split, size) is None
    for index in range(len(instances)):
        references.append_line(file, line(index, 1.0 + index, key="of other instances"))
    assert known("tsp", split, size) is None
    for index in range(len(instances)):
        references.append_line(file, line(index, 2.0 + index, key=key))
    found = known("tsp", split, size)
    assert found is not None
    assert found.value == pytest.approx(2.0 + np.mean(range(len(instances))))
    assert "best found" in found.source
    monkeypatch.undo()
    monkeypatch.setenv("AHD_CACHE", str(file.parents[1]))
    kept = known("tsp", split, size)
    assert kept is not None
    assert kept.value == references.shipped()["tsp", split, size].value


def test_torn_lines_are_passed_over() -> None:
    """A cache file that was cut, or holds anything else, gives the whole lines it has."""
    file = references.cache_file("tsp", "train", 50)
    references.append_line(file, line(0, 1.0))
    with file.open("ab") as out:
        out.write(b'{"index": 1, "val\n\xff\xfe\n[]\n{"index": 2}\n')
        good = dataclasses.asdict(line(1, 1.0))
        wrong = {
            "index": [0],
            "value": None,
            "bound": "1",
            "seconds": math.nan,
            "took": math.inf,
            "solver": 3,
        }
        for field, value in wrong.items():
            out.write(json.dumps(good | {field: value}).encode() + b"\n")
    references.append_line(file, line(3, 1.0))
    assert [each.index for each in references.read_lines(file, "k")] == [0, 3]


def test_sources_say_how() -> None:
    """Proven values are optima; others name the solver and its time."""
    proven = Record(1.0, "S", "9", 2.0, 3, 3, 1.0, "2026-01-01", "k")
    assert proven.reference.source == "optimum, S 9"
    searched = Record(1.0, "S", "9", 2.0, 3, 1, None, "2026-01-01", "k")
    assert searched.reference.source == "best found, S 9, 2 s an instance"
    assert Solved(1.0, 1.0).proven


def test_indices_beyond_the_instances_do_not_count() -> None:
    """A line of an instance that is not there changes nothing."""
    lines = [line(0, 1.0), line(1, 3.0), line(99, 0.0)]
    record = references.summarise(lines, 2)
    assert record is not None
    assert record.value == 2.0


@pytest.mark.parametrize("text", ["not json", "[]", '{"tsp": {"dev": {}}}', '{"tsp": {"test": {"50": {}}}}'])
def test_only_tables_of_references_are_added_to(tmp_path: Path, text: str) -> None:
    """Any other file is refused and stays as it was."""
    file = tmp_path / "table.json"
    file.write_text(text)
    record = references.summarise([line(0, 1.0)], 1)
    assert record is not None
    with pytest.raises(references.BadTable, match="holds no table"):
        references.write_shipped("tsp", "test", 50, record, file)
    assert file.read_text() == text
