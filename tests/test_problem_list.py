"""``ahd problems``: the listing."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from ahd.problem_list import print_problem, print_problems
from evaluators.task import BrokenProblemFile
from problems.registry import load, packaged

ROOT = Path(__file__).parent.parent


def test_every_problem_with_its_instances(capsys: pytest.CaptureFixture[str]) -> None:
    """Each packaged problem is listed with the number of instances of each size and its known heuristics, in
    both forms; the gap's basis is what `reference` says."""
    assert print_problems(True) == 0
    records = {record["name"]: record for record in map(json.loads, capsys.readouterr().out.splitlines())}
    assert sorted(records) == packaged()
    for name, record in records.items():
        problem = load(name)
        assert record["heuristics"] == list(problem.heuristics)
        for split, sizes in problem.sizes.items():
            assert [each["size"] for each in record["splits"][split]] == list(sizes)
            for each in record["splits"][split]:
                assert each["instances"] == len(problem.instances(split, each["size"])) > 0
                reference = problem.reference(split, each["size"])
                assert each["reference"] == (reference.value if reference else None)
                assert each["reference_source"] == (reference.source if reference else None)
    assert print_problems(False) == 0
    shown = capsys.readouterr().out
    for name, record in records.items():
        assert f"{name}: {record['title']}\n" in shown
    assert "64 of size 50" in shown
    assert "1000 of size 50" in shown
    assert "optimum, OR-Tools" in shown
    assert "nearest minus home" in shown


def test_the_listing_needs_no_compiler() -> None:
    """It imports neither numba nor a solver: it starts in a second."""
    code = (
        "import sys, ahd.problem_list as p; p.print_problems(True); "
        "print(sorted({'numba', 'ortools', 'pyvrp', 'scipy', 'torch'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


MINE = (
    "import dataclasses\nfrom problems.tsp import problem as tsp\n"
    "problem = dataclasses.replace(tsp, name='{}', title='mine', reference=lambda *_: None{})\n"
)


def test_a_problem_file_is_shown_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Who names a file gets its problem and no other, with the file and its function, as by its name; a
    broken recipe is one line naming the file."""
    file = tmp_path / "mine.py"
    file.write_text(MINE.format("mine", ""))
    for as_json in (False, True):
        print_problem("", as_json, str(file))
        alone = capsys.readouterr().out
        print_problem("mine", as_json, str(file))
        assert capsys.readouterr().out == alone
        assert alone.count("def select_next_node(") >= 2, "the function and the simplest heuristic"
        assert str(file) in alone
        assert "knapsack" not in alone
        assert ("nothing known" in alone) is not as_json
    file.write_text(MINE.format("mine", ", redraw=None, instances=lambda *_: 1 / 0"))
    with pytest.raises(BrokenProblemFile, match="ZeroDivisionError") as caught:
        print_problem("", True, str(file))
    assert "\n" not in str(caught.value)
    assert "mine.py" in str(caught.value)


@pytest.mark.parametrize("as_json", [False, True])
def test_broken_files_of_the_folder_hide_no_other(
    tmp_path: Path, as_json: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """All problems of the package and all good ones of the folder are listed; every file that cannot be
    loaded, or whose instances fail, is then a line on standard error, and the exit code is 2."""
    unsound = ", redraw=None, instances=lambda split, size: __import__('numpy').random.rand(3, size, 2)"
    files = {
        "a_syntax": "def (",
        "b_leaves": "raise SystemExit",
        "c_bad_field": MINE.format("c", ", decimals=-1"),
        "d_failing": MINE.format("d", ", redraw=None, instances=lambda *_: 1 / 0"),
        "e_unseeded": MINE.format("e", unsound),
        "good": MINE.format("mine", ""),
        "z_good": MINE.format("another", ""),
    }
    for name, text in files.items():
        (tmp_path / f"{name}.py").write_text(text)
    monkeypatch.setenv("AHD_PROBLEMS", str(tmp_path))
    assert print_problems(as_json) == 2
    printed = capsys.readouterr()
    if as_json:
        names = [json.loads(line)["name"] for line in printed.out.splitlines()]
        assert names == sorted([*packaged(), "mine", "another"])
    else:
        for name in [*packaged(), "mine", "another"]:
            assert f"{name}: " in printed.out
        assert printed.out.count("mine: mine\n") == 1
    lines = printed.err.splitlines()
    assert len(lines) == 5
    for name, line in zip(files, lines, strict=False):
        assert line.startswith(f"ahd: {tmp_path / name}.py: ")


def test_why_there_is_no_gap(capsys: pytest.CaptureFixture[str]) -> None:
    """Sizes without a reference come with the command that computes one, those with a reference of 0 say so;
    a size is in one line only."""
    for name in packaged():
        problem = load(name)
        print_problem(name, False, None)
        lines = capsys.readouterr().out.split("\n\n")[0].splitlines()
        for split, sizes in problem.sizes.items():
            for size in sizes:
                reference = problem.reference(split, size)
                (line,) = (each for each in lines if re.search(rf" {split} {size}\b", each))
                assert line.split()[0] == ("gap" if reference and reference.value else "no")
                assert ("the reference is 0" in line) == (reference is not None and reference.value == 0)
                assert ("computes one" in line) == (reference is None)
                assert reference or f"`ahd refs {name} --split " in line
