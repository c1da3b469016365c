"""``ahd problems``: the listing."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from ahd.problem_list import print_problems
from evaluators.task import BrokenProblemFile
from problems.registry import load, packaged

ROOT = Path(__file__).parent.parent


def test_every_problem_with_its_instances(capsys: pytest.CaptureFixture[str]) -> None:
    """Each packaged problem is listed with the number of instances of each size and its known heuristics, in
    both forms; the gap's basis is what `reference` says."""
    print_problems(True, None)
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
    print_problems(False, None)
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
        "import sys, ahd.problem_list as p; p.print_problems(True, None); "
        "print(sorted({'numba', 'ortools', 'pyvrp', 'scipy', 'torch'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


def test_a_problem_file_is_listed_last(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A problem of one's own comes with its file; a broken recipe is one line naming it."""
    text = (
        "import dataclasses\nfrom problems.tsp import problem as tsp\n"
        "problem = dataclasses.replace(tsp, name='mine', title='mine', reference=lambda *_: None{})\n"
    )
    file = tmp_path / "mine.py"
    file.write_text(text.format(""))
    print_problems(False, str(file))
    shown = capsys.readouterr().out.split("mine: mine\n")[1]
    assert "nothing known" in shown
    assert str(file) in shown
    file.write_text(text.format(", instances=lambda *_: 1 / 0"))
    with pytest.raises(BrokenProblemFile, match="ZeroDivisionError") as caught:
        print_problems(True, str(file))
    assert "\n" not in str(caught.value)
    assert "mine.py" in str(caught.value)
