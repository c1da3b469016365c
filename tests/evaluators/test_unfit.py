"""A problem whose known heuristic cannot be run: one line that names file, heuristic and line."""

from pathlib import Path

import pytest

from evaluators.outcome import SandboxError
from evaluators.sandbox import Sandbox
from problems.registry import load_file

CHANGED = """
import dataclasses
from problems.tsp import problem as whole
def run(heuristic, instances):
    return {run}
problem = dataclasses.replace(whole, name="mine", redraw=None, {field})
"""
NAME = "nearest neighbour"
SOURCES = {
    "def select_next_node(*four):\\n    return x": "fails with NameError: name 'x' is not defined (line 2)",
    "def select_next_node(a, b, c, d:": "is rejected: line 1: ",
    "def another(a, b, c, d): pass": "is rejected: defines no function select_next_node",
    "def select_next_node(a, b): pass": "is rejected: select_next_node has to take (current_node, ",
    "1 / 0": "fails with ZeroDivisionError: division by zero (line 1)",
    "raise SystemExit": "fails with SystemExit (line 1)",
    "def select_next_node(a, b, c, d): return 10 ** 6": "fails with InvalidSolution: ",
}
RUNS = {
    "1 / 0": "fails with ZeroDivisionError: division by zero (mine.py, line 5)",
    "exit()": "fails with SystemExit: None (mine.py, line 5)",
    "None": "fails with TypeError: decisions have to be int64 or float64, not object",
    "heuristic(1)": "fails with TypeError: ",
}


@pytest.mark.parametrize("apart", [False, True])
def test_what_is_wrong_with_a_known_heuristic_is_one_line(tmp_path: Path, apart: bool) -> None:
    """Names that are not there, other functions and arguments, errors of the heuristic and of the loop, in
    one process or two: file, heuristic, error and line, in words of no inner part."""
    file = tmp_path / "mine.py"
    cases = [
        (f"heuristics={{'{NAME}': '''{source}'''}}", told, "whole.run(heuristic, instances)")
        for source, told in SOURCES.items()
    ]
    cases += [("run=run", told, run) for run, told in RUNS.items()]
    for field, told, run in cases:
        extra = ", apart=True, compiled=None" if apart else ""
        file.write_text(CHANGED.format(run=run, field=field + extra))
        problem = load_file(file)
        with Sandbox(problem) as sandbox, pytest.raises(SandboxError) as caught:
            sandbox.submit("def select_next_node(a, b, c, d): return c[0]").result(timeout=60)
        assert str(caught.value).startswith(f"problem mine ({file}): its known heuristic `{NAME}` {told}"), (
            field
        )
        assert str(caught.value).isprintable()
