"""Finding problems: in the package, by file, by folder."""

from pathlib import Path

import pytest

from evaluators.outcome import SandboxError
from evaluators.sandbox import Sandbox
from evaluators.task import BrokenProblemFile
from problems import registry
from problems.check import check
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
    with pytest.raises(registry.UnknownProblem, match="defines 'mine', not 'tsp'"):
        registry.load("tsp", path)
    with Sandbox(problem) as sandbox:
        assert sandbox.submit(FIRST).result().objective == 7.00437


def test_dropped_in_names_are_not_the_packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that defines ``tsp`` is refused, and never takes the place of the package's."""
    path = drop(tmp_path, "tsp")
    with pytest.raises(BrokenProblemFile, match="rename") as caught:
        registry.load("tsp", path)
    assert str(path) in str(caught.value)
    monkeypatch.setenv("AHD_PROBLEMS", str(tmp_path))
    assert registry.load("tsp").title != "mine"
    with pytest.raises(BrokenProblemFile, match="rename"):
        registry.names()


def test_a_file_never_changes_the_packages_problem(tmp_path: Path) -> None:
    """Handing on ``problems.tsp.problem`` itself is refused and leaves it as it was."""
    with pytest.raises(BrokenProblemFile):
        registry.load_file(drop(tmp_path, "sly", "from problems.tsp import problem"))
    assert registry.load("tsp").origin == ""


BAD_FIELDS = {
    "name": ("''", "'Mine'", "'a b'", "'a--b'", "'-a'", "'é'", "'a\\n'", "7", "None"),
    "title": ("''", "'two\\nlines'", "'\\x1b[2J'", "7"),
    "description": ("''", "None", "'\\udcff'"),
    "template": ("''", "7"),
    "function": ("''", "'a b'", "'def'", "7"),
    "arguments": ("()", "['a']", "'ab'", "('a', 'a')", "('a b',)", "(7,)", "None"),
    "skeleton": ("None", "'x'", "replace(tsp.skeleton, prefix=7)", "replace(tsp.skeleton, lead=None)"),
    "heuristics": ("dict()", "None", "['x']", "dict(a=7)", "{{7: 'x'}}", "{{'a\\n': 'x'}}", "{{'': 'x'}}"),
    "sizes": (
        "None",
        "dict()",
        "dict(train=(5,))",
        "dict(train=(5,), val=(5,), test=())",
        "dict(train=(5,), val=(5,), test=[5])",
        *(f"dict(train=({bad},), val=(5,), test=(5,))" for bad in ("0", "-1", "5.0", "True", "'5'")),
    ),
    "instances": ("None", "7"),
    "run": ("None",),
    "objective": ("None",),
    "reference": (
        "None",
        "lambda *_: 7",
        "lambda *_: 1 / 0",
        "lambda *_: exit()",
        "lambda *_: Reference('7', 'x')",
        "lambda *_: Reference(float('nan'), 'x')",
        "lambda *_: Reference(10 ** 400, 'x')",
        "lambda *_: Reference(7.0, 'a\\nb')",
    ),
    "time_limit": ("0", "-1.0", "float('nan')", "float('inf')", "1e300", "None", "'1'", "True"),
    "decimals": ("-1", "13", "1.5", "None", "True"),
    "redraw": ("7",),
}


@pytest.mark.parametrize(("field", "values"), BAD_FIELDS.items())
def test_a_field_that_is_not_as_it_should_be(tmp_path: Path, field: str, values: tuple[str, ...]) -> None:
    """Every field is checked on loading; the message is one line with the file and the field."""
    head = "from dataclasses import replace\nfrom problems.problem import Reference\n"
    head += "from problems.tsp import problem as tsp\n"
    for number, value in enumerate(values):
        name = "" if field == "name" else "name='mine', "
        path = drop(tmp_path, f"bad{number}", f"{head}problem = replace(tsp, {name}{field}={value})\n")
        with pytest.raises(BrokenProblemFile) as caught:
            registry.load_file(path)
        assert str(caught.value).startswith(f"{path}: `{field}"), caught.value
        assert str(caught.value).isprintable()


def test_every_packaged_problem_passes_the_check() -> None:
    """What is asked of others is met by the package."""
    for name in registry.packaged():
        check(registry.load(name), name)


def test_one_broken_file_breaks_no_other_problem(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only loading that file's problem, or listing all, tells of it; others load as ever."""
    drop(tmp_path, "mine")
    monkeypatch.setenv("AHD_PROBLEMS", str(tmp_path))
    for text in ("raise SystemExit", "problem = 7", "def (", DROP_IN.replace("{name}", "mine")):
        path = drop(tmp_path, "not_well", text)
        assert registry.load("tsp").name == "tsp"
        assert registry.load("mine").title == "mine"
        for told in (registry.names, lambda: registry.load("not-well")):
            with pytest.raises(BrokenProblemFile) as caught:
                told()
            assert str(path) in str(caught.value)
        with pytest.raises(registry.UnknownProblem, match=r"broken: not_well\.py"):
            registry.load("another")


def test_folder_of_problems(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files in the folder named by AHD_PROBLEMS are on offer; those with a leading underscore are not."""
    drop(tmp_path, "mine")
    drop(tmp_path, "_helper", "raise RuntimeError")
    monkeypatch.setenv("AHD_PROBLEMS", str(tmp_path))
    assert registry.load("mine").title == "mine"
    assert registry.names() == sorted({*registry.packaged(), "mine"})


NEAREST = {
    "tps": "tsp",
    "TSP": "tsp",
    "tsp-aso": "tsp-aco",
    "knapsak": "knapsack",
    "cvpr": "cvrp",
    "vrp": "cvrp",
    "jobshop": "job-shop",
    "binpack": "bin-packing-online",
    "packing": "bin-packing-online",
}
"""Typing errors, parts of names, names without their dashes."""


@pytest.mark.parametrize(("name", "nearest"), NEAREST.items())
def test_unknown_problem_names_the_nearest(name: str, nearest: str) -> None:
    """A typing error is answered with the name that was meant."""
    with pytest.raises(registry.UnknownProblem, match=f"did you mean {nearest}\\?"):
        registry.load(name)


@pytest.mark.parametrize("name", ["nosuch", "mine", "orienteering", "x", "", "sat", "o", "tardiness"])
def test_unknown_problem_that_is_near_none_names_none(name: str) -> None:
    """What resembles no problem is answered with where they are listed and how to give a file."""
    with pytest.raises(registry.UnknownProblem) as caught:
        registry.load(name)
    mend = "`ahd problems` lists them, or give --problem-path FILE"
    assert str(caught.value) == f"unknown problem {name!r}: {mend}"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x = 1", "defines no `problem`"),
        ("problem = 7", "is a int"),
        ("import nothing_like_it", "ModuleNotFoundError"),
        ("def (", "SyntaxError"),
        ("raise SystemExit", "SystemExit"),
        ("import sys; sys.exit(0)", "SystemExit: 0"),
        ("raise KeyboardInterrupt", "KeyboardInterrupt"),
        ("class E(BaseException): pass\nraise E('a\\nb')", "E: a b"),
        ("class E(Exception):\n    def __str__(self): return 7\nraise E", r"E: \?"),
    ],
)
def test_broken_files_are_one_line(tmp_path: Path, text: str, message: str) -> None:
    """A file that cannot be used is named, with the mend, in one line."""
    path = drop(tmp_path, "broken", text)
    with pytest.raises(BrokenProblemFile, match=message) as caught:
        registry.load("tsp", path)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_file_that_leaves_only_in_the_worker(tmp_path: Path) -> None:
    """``sys.exit`` while the worker loads the file is told in one line too."""
    leave = "import multiprocess\nif multiprocess.current_process().name != 'MainProcess': raise SystemExit\n"
    problem = registry.load("mine", drop(tmp_path, "mine", DROP_IN + leave))
    with Sandbox(problem) as sandbox, pytest.raises(SandboxError, match="SystemExit") as caught:
        sandbox.submit(FIRST).result(timeout=60)
    assert str(problem.origin) in str(caught.value)
    assert str(caught.value).isprintable()


def test_missing_file_and_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Paths that are not there are named."""
    with pytest.raises(BrokenProblemFile, match=r"nowhere\.py"):
        registry.load("tsp", tmp_path / "nowhere.py")
    monkeypatch.setenv("AHD_PROBLEMS", str(tmp_path / "nothing"))
    with pytest.raises(BrokenProblemFile, match="AHD_PROBLEMS"):
        registry.load("tsp")
