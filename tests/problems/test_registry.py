"""Finding problems: in the package, by file, by folder."""

from pathlib import Path

import pytest

from evaluators.sandbox import Sandbox
from evaluators.task import BrokenProblemFile
from problems import registry
from problems.problem import Problem

DROP_IN = '''
"""Nearest neighbour under another name."""
import dataclasses
from problems.tsp import problem as tsp

problem = dataclasses.replace(tsp, name="{name}", title="mine")
'''
FIRST = "def select_next_node(a, b, c, d): return c[0]"


@pytest.fixture(autouse=True)
def no_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AHD_PROBLEMS", raising=False)


def drop(folder: Path, name: str, text: str = DROP_IN) -> Path:
    path = folder / f"{name}.py"
    path.write_text(text.format(name=name))
    return path


def test_every_packaged_problem_is_whole() -> None:
    """Each loads under its own name; its simplest heuristic and its skeleton are consistent."""
    assert {"tsp", "knapsack"} <= set(registry.packaged())
    for name in registry.packaged():
        problem = registry.load(name)
        assert isinstance(problem, Problem)
        assert problem.name == name
        assert problem.origin == ""
        assert set(problem.sizes) == {"train", "val", "test"}
        assert f"def {problem.function}(" in problem.template
        assert f"def {problem.function}(" in problem.skeleton.prefix
        assert problem.skeleton.prefix.endswith(" =")
        assert problem.skeleton.suffix.startswith("\n")
        compile(problem.template, name, "exec")
        compile(problem.skeleton.prefix + " 1" + problem.skeleton.suffix, name, "exec")


def test_dropped_in_file_runs_in_the_sandbox(tmp_path: Path) -> None:
    """A file outside the package is a problem like any other."""
    path = drop(tmp_path, "mine")
    problem = registry.load("mine", path)
    assert problem.origin == str(path)
    assert "mine" in registry.names(path)
    with Sandbox(problem) as sandbox:
        assert sandbox.submit(FIRST).result().objective == 7.00437


def test_dropped_in_file_is_preferred(tmp_path: Path) -> None:
    """A file that defines ``tsp`` replaces the package's."""
    assert registry.load("tsp", drop(tmp_path, "tsp")).title == "mine"
    assert registry.load("tsp").title != "mine"


def test_folder_of_problems(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files in the folder named by AHD_PROBLEMS are on offer; those with a leading underscore are not."""
    drop(tmp_path, "mine")
    drop(tmp_path, "_helper", "raise RuntimeError")
    monkeypatch.setenv("AHD_PROBLEMS", str(tmp_path))
    assert registry.load("mine").title == "mine"
    assert registry.names() == sorted({*registry.packaged(), "mine"})


@pytest.mark.parametrize(("name", "nearest"), [("tps", "tsp"), ("knapsak", "knapsack"), ("TSP", "tsp")])
def test_unknown_problem_names_the_nearest(name: str, nearest: str) -> None:
    """A typing error is answered with the name that was meant."""
    with pytest.raises(registry.UnknownProblem, match=f"did you mean {nearest}"):
        registry.load(name)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x = 1", "defines no `problem`"),
        ("problem = 7", "is a int"),
        ("import nothing_like_it", "ModuleNotFoundError"),
        ("def (", "SyntaxError"),
    ],
)
def test_broken_files_are_one_line(tmp_path: Path, text: str, message: str) -> None:
    """A file that cannot be used is named, with the mend, in one line."""
    path = drop(tmp_path, "broken", text)
    with pytest.raises(BrokenProblemFile, match=message) as caught:
        registry.load("tsp", path)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_missing_file_and_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Paths that are not there are named."""
    with pytest.raises(BrokenProblemFile, match=r"nowhere\.py"):
        registry.load("tsp", tmp_path / "nowhere.py")
    monkeypatch.setenv("AHD_PROBLEMS", str(tmp_path / "nothing"))
    with pytest.raises(BrokenProblemFile, match="AHD_PROBLEMS"):
        registry.load("tsp")
