"""``ahd evaluate --instances``: rows per file, best known values and gaps, errors."""

import dataclasses
import json
from pathlib import Path

import numpy as np
import pytest

from ahd.config import ConfigError
from ahd.evaluate import run_evaluate
from ahd.instances import SPLIT, read_instances, time_limit, with_instances
from evaluators.candidate import load
from problems import registry
from problems.problem import Problem
from tests.evaluators.aftermath import NEAREST
from tests.evaluators.test_instance_files import (
    ATT48,
    BINS,
    DATA,
    GOOD,
    SEVERAL,
    SINGLE,
    ULYSSES16,
    ULYSSES16_TOUR,
    VRP,
    by_coordinates,
    write,
)


def score(problem: Problem, source: str, file: Path) -> list[float]:
    """The objectives of ``source`` on the instances of ``file``, in this process."""
    assert problem.read is not None
    heuristic = load(source, problem.function, problem.arguments)
    found = []
    for instance in problem.read(file):
        decisions = problem.run(heuristic, instance.array)
        found.append(problem.objective(instance.array, decisions, *([0] if problem.seeded else [])))
    return found


def test_optimal_tour_of_a_file(tmp_path: Path) -> None:
    """ulysses16: the optimal tour scores 6859, in the units of the file, and the optimum is known."""
    problem = registry.load("tsp")
    (given,) = read_instances(problem, [str(write(tmp_path, by_coordinates("ulysses16", "GEO", ULYSSES16)))])
    assert given.instance.best is not None
    assert given.instance.best.value == 6859
    assert problem.objective(given.instance.array, np.array([ULYSSES16_TOUR]) - 1) == 6859


def test_a_file_of_the_name_of_another(tmp_path: Path) -> None:
    """A file that calls itself eil51 and has four nodes has no known optimum."""
    (given,) = read_instances(registry.load("tsp"), [str(write(tmp_path, GOOD.replace(" g\n", " eil51\n")))])
    assert given.instance.best is None


@pytest.mark.parametrize("name", ["tsp", "tsp-gls", "tsp-aco"])
def test_problems_that_read_tsplib(tmp_path: Path, name: str) -> None:
    """Every known heuristic finds a tour of att48 of at least the optimum, at most twice as long."""
    problem = registry.load(name)
    file = write(tmp_path, by_coordinates("att48", "ATT", ATT48))
    for source in problem.heuristics.values():
        (value,) = score(problem, source, file)
        assert 10628 <= value <= 2 * 10628
        assert value == int(value)


def test_cvrp_files(tmp_path: Path) -> None:
    """Routes of a CVRPLIB file keep its capacity; the solution beside it is the best known."""
    problem = registry.load("cvrp")
    file = write(tmp_path, VRP, "v.vrp")
    write(tmp_path, "Route #1: 1 3\nRoute #2: 2\nCost 18\n", "v.sol")
    for source in problem.heuristics.values():
        assert score(problem, source, file)[0] in (18.0, 20.0, 22.0, 24.0)
    (given,) = read_instances(problem, [str(tmp_path)])
    assert given.instance.best is not None
    assert given.instance.best.value == 18
    array = given.instance.array
    assert problem.objective(array, np.array([[1, 3, 0, 2, 0, 0]])) == 18
    with pytest.raises(Exception, match="capacity"):
        problem.objective(array, np.array([[1, 2, 0, 3, 0, 0]]))


def test_knapsack_files(tmp_path: Path) -> None:
    """The capacity is that of the file; several dimensions are for mkp-aco."""
    problem = registry.load("knapsack")
    single, several = write(tmp_path, SINGLE, "s.txt"), write(tmp_path, SEVERAL, "m.txt")
    assert score(problem, problem.heuristics["value per weight"], single) == [-18]
    assert score(problem, problem.heuristics["greatest value"], single) == [-19]
    (given,) = read_instances(problem, [str(single)])
    assert given.instance.best is not None
    assert given.instance.best.value == -19
    with pytest.raises(Exception, match="do not fit"):
        problem.objective(given.instance.array, np.array([[0, 1, 2, -1]]))
    with pytest.raises(ConfigError, match="m-1 has 2 dimensions; use mkp-aco"):
        read_instances(problem, [str(several)])
    many = registry.load("mkp-aco")
    for source in many.heuristics.values():
        first, second = score(many, source, several)
        assert -first in (7, 8, 10)
        assert second == -6


def test_limits_filled_exactly(tmp_path: Path) -> None:
    """A choice that fills a limit is feasible, whatever dividing by the limit rounds to."""
    text = "1\n6 1 6\n1 1 1 1 1 1\n1 1 1 1 1 1\n6\n"
    many = registry.load("mkp-aco")
    for scale in (1, 3, 7, 49, 1001):
        scaled = text.replace("1 1 1 1 1 1\n6\n", " ".join([str(scale)] * 6) + f"\n{6 * scale}\n")
        assert score(many, next(iter(many.heuristics.values())), write(tmp_path, scaled)) == [-6]


def test_bin_packing_files(tmp_path: Path) -> None:
    """Bins of the capacity of the file are counted; sizes with decimals are exact."""
    problem = registry.load("bin-packing-online")
    file = write(tmp_path, BINS, "b.txt")
    for source in problem.heuristics.values():
        values = score(problem, source, file)
        assert values[0] in (2, 3)
        assert values[1] == 1
    first, second = read_instances(problem, [str(file)])
    assert first.instance.best is not None
    assert (first.instance.name, first.instance.best.value) == ("u4", 2)
    assert second.instance.array[0].tolist() == [[366, 1000], [268, 1000], [366, 1000]]
    with pytest.raises(Exception, match="do not fit"):
        problem.objective(first.instance.array, np.array([[0, 0, 0, 1]]))


def test_rows(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A JSON line, and a row of the table, per heuristic and instance, with gaps where a best is known."""
    files = [str(write(tmp_path, NEAREST, "a.py")), str(write(tmp_path, "def f(: pass", "b.py"))]
    folder = tmp_path / "instances"
    folder.mkdir()
    write(folder, by_coordinates("att48", "ATT", ATT48), "att48.tsp")
    write(folder, GOOD, "good.tsp")
    write(folder, "notes", "README.md")
    write(folder, "tour", "att48.opt.tour")
    assert run_evaluate("tsp", files, as_json=True, instances=[str(folder)]) == 1
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [(row["file"], row["instance"]) for row in rows] == [
        (file, name) for file in files for name in ("att48", "g")
    ]
    att, good, *broken = rows
    assert att["status"] == good["status"] == "ok"
    assert (att["best"], good["best"], good["gap"], good["objective"]) == (10628, None, None, 14.0)
    assert att["gap"] == pytest.approx(att["objective"] / 10628 - 1)
    assert att["instances"] == str(folder / "att48.tsp")
    assert all(
        (row["status"], row["objective"], row["gap"]) == ("syntax_error", None, None) for row in broken
    )
    patterns = [str(folder / "a*.tsp"), str(folder / "good.tsp")]
    assert run_evaluate("tsp", files[:1], instances=patterns) == 0
    shown = capsys.readouterr().out
    assert f"{100 * att['gap']:.2f}%" in shown
    assert "10628" in shown
    assert "2 instances from files" in shown


def test_a_problem_file_that_reads(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A problem of one's own, as a file, can read instances; its sandbox gets them too."""
    text = (
        "import dataclasses\nfrom problems.problem import Instance, Reference\n"
        "from problems.tsp import problem as tsp, read as read_tsp\n"
        "def read(path):\n"
        "    if path.name == 'bad':\n        raise KeyError('oh')\n"
        "    return [Instance('[red]mine', read_tsp(path)[0].array * 2, Reference(20, 'mine'))]\n"
        "problem = dataclasses.replace(tsp, name='reader', read=read)\n"
    )
    problem = str(write(tmp_path, text, "reader.py"))
    file, instance = str(write(tmp_path, NEAREST, "a.py")), str(write(tmp_path, GOOD))
    assert run_evaluate("reader", [file], problem_path=problem, as_json=True, instances=[instance]) == 0
    row = json.loads(capsys.readouterr().out)
    assert (row["instance"], row["objective"], row["gap"]) == ("[red]mine", 28.0, 0.4)
    bad = str(write(tmp_path, GOOD, "bad"))
    with pytest.raises(ConfigError, match=r"reader\.py: `read` fails with KeyError"):
        run_evaluate("reader", [file], problem_path=problem, instances=[bad])


@pytest.mark.parametrize(
    ("problem", "instances", "message"),
    [
        ("tsp", ["missing.tsp"], "--instances missing.tsp: no such file or folder; give one"),
        ("tsp", ["none*.tsp"], "no file fits that pattern"),
        ("tsp", ["empty"], "the folder holds no instance files"),
        ("tsp", ["broken.tsp"], "broken.tsp: line 8: 'x' is no number"),
        ("op-aco", ["good.tsp"], "op-aco reads no files"),
    ],
)
def test_bad_instances_are_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, problem: str, instances: list[str], message: str
) -> None:
    """What cannot be read is told in one line before anything runs."""
    monkeypatch.chdir(tmp_path)
    write(tmp_path, NEAREST, "a.py")
    write(tmp_path, GOOD, "good.tsp")
    write(tmp_path, GOOD.replace("2 3 0", "2 x 0"), "broken.tsp")
    (tmp_path / "empty").mkdir()
    with pytest.raises(ConfigError, match=message) as caught:
        run_evaluate(problem, ["a.py"], instances=instances)
    assert "\n" not in str(caught.value)


def test_a_pattern_that_the_shell_expanded(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """``--instances *.tsp``: the files that follow the first are instances too, since they are no Python."""
    file, other = str(write(tmp_path, NEAREST, "a.py")), str(write(tmp_path, GOOD, "other.tsp"))
    instance = str(write(tmp_path, GOOD))
    assert run_evaluate("tsp", [file, other], as_json=True, instances=[instance]) == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [(row["file"], row["instances"]) for row in rows] == [(file, instance), (file, other)]


def test_bad_combinations_are_one_line(tmp_path: Path) -> None:
    """--instances goes without --split, --size and --seeds, and needs a heuristic."""
    file, instance = str(write(tmp_path, NEAREST, "a.py")), str(write(tmp_path, GOOD))
    with pytest.raises(ConfigError, match="leave out --split and --size"):
        run_evaluate("tsp", [file], "test", instances=[instance])
    with pytest.raises(ConfigError, match="leave out --split and --size"):
        run_evaluate("tsp", [file], size=50, instances=[instance])
    with pytest.raises(ConfigError, match="solved with one seed"):
        run_evaluate("tsp-aco", [file], seeds=2, instances=[instance])
    with pytest.raises(ConfigError, match="no heuristics"):
        run_evaluate("tsp", [instance], instances=[instance])
    with pytest.raises(ConfigError, match="--timeout"):
        run_evaluate("tsp", [file], instances=[instance], timeout=-1)


def test_time_limits_grow_with_the_instance() -> None:
    """A file of 800 nodes gets 4 times the limit of 64 instances of 50, one of 100 the limit itself."""
    problem = registry.load("tsp")
    assert time_limit(problem, np.zeros((1, 800, 800)), 10.0) == 40.0
    assert time_limit(problem, np.zeros((1, 100, 100)), 10.0) == 10.0


def test_what_candidates_see_of_a_file(tmp_path: Path) -> None:
    """Distances come divided by the largest, so that constants made on the unit square keep their meaning."""
    seen = []

    def spy(current: int, destination: int, nodes: np.ndarray, matrix: np.ndarray) -> int:
        seen.append(matrix)
        return int(nodes[0])

    problem = registry.load("tsp")
    (given,) = read_instances(problem, [str(write(tmp_path, GOOD))])
    problem.run(spy, given.instance.array)
    assert (seen[0] * 5 == given.instance.array[0]).all()


def test_files_are_a_split_beside_the_others() -> None:
    """The other splits stay as they are."""
    tsp = registry.load("tsp")
    matrices = [np.ones((1, 4, 4)), np.ones((1, 5, 5))]
    problem = with_instances(tsp, matrices)
    assert problem.sizes[SPLIT] == (1, 2)
    assert problem.instances(SPLIT, 2) is matrices[1]
    assert problem.instances("train", 50) is tsp.instances("train", 50)
    assert dataclasses.replace(problem, name="x").instances(SPLIT, 1) is matrices[0]


@pytest.mark.skipif(not (DATA / "tsplib").is_dir(), reason="needs the shared TSPLIB files")
def test_gaps_of_the_shared_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The nearest neighbour is 15 to 32% above the optimum on every shared TSPLIB file."""
    file = str(write(tmp_path, NEAREST, "a.py"))
    assert run_evaluate("tsp", [file], as_json=True, instances=[str(DATA / "tsplib")]) == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert len(rows) == 14
    assert all(0.14 < row["gap"] < 0.33 for row in rows)
