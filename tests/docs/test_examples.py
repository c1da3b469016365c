"""The README and the pages of docs/ tell their reader to type what works."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from ahd.compare.folder import write_result
from problems.registry import load
from tests.docs.examples import INSTEAD, LEFT_OUT, PAGES, ROOT, examples, executed, left_out
from tests.evaluators.test_instance_files import ATT48, ULYSSES16, VRP, by_coordinates
from tests.fakes import SMALL_TSP
from tests.report.compared import comparison

EXECUTED = [page for page in PAGES if any(not left_out(each.text) for each in examples(page))]
SHELL = """set -euo pipefail
ahd() { "$PYTHON" -m ahd "$@"; }
python() { "$PYTHON" "$@"; }
"""
TARDINESS = (ROOT / "docs/tardiness.py").read_text()


def simplest(problem: str) -> str:
    return load(problem).simplest[1]


FILES = {
    "README": {"mine.py": simplest("tsp")},
    "adding-a-problem": {
        "mine.py": TARDINESS.replace('name="tardiness"', 'name="mine"'),
        "a_heuristic.py": "def score_jobs(duration, weight, due):\n    return due\n",
    },
    "evaluation": {"a.py": simplest("tsp"), "b.py": simplest("tsp")},
    "problems": {"mine.py": simplest("tsp"), "routes.py": simplest("cvrp"), "X-n101-k25.vrp": VRP},
    "tutorial": {"mine.py": "def choose_node(seen, free):\n    return (seen + 0.01 * free).argmax()\n"},
}
"""What the reader of a page has made before, or has from elsewhere, beside the files of all pages."""
TSPLIB = {
    "eil51.tsp": by_coordinates("eil51", "EUC_2D", ATT48),
    "kroA100.tsp": by_coordinates("u", "GEO", ULYSSES16),
}


def run(command: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Execute a line of shell in a folder, without network, browser, or the user's cache."""
    environment = {
        **os.environ,
        "PYTHON": sys.executable,
        "PYTHONPATH": str(ROOT),
        "AHD_CACHE": str(folder / "cache"),
        "BROWSER": "true",
        "HF_HUB_OFFLINE": "1",
    }
    return subprocess.run(
        ["bash", "-c", SHELL + command],
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=600,
    )


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run."""
    folder = tmp_path_factory.mktemp("finished")
    done = run("ahd run tsp --model scripted --population 2 --budget 8 --out RUN", folder)
    assert done.returncode == 0, done.stdout
    return folder / "RUN"


@pytest.fixture
def place(tmp_path: Path, finished: Path) -> Path:
    """A folder with what the pages speak of: a run, a comparison, instance files, some of the repository."""
    shutil.copytree(finished, tmp_path / "results/RUN")
    (tmp_path / "results/COMPARISON").mkdir()
    write_result(tmp_path / "results/COMPARISON", comparison())
    (tmp_path / "tsplib").mkdir()
    for name, text in TSPLIB.items():
        (tmp_path / name).write_text(text)
        (tmp_path / "tsplib" / name).write_text(text)
    for name in ("docs", "benchmarks"):
        (tmp_path / name).symlink_to(ROOT / name)
    (tmp_path / SMALL_TSP.name).symlink_to(SMALL_TSP)
    (tmp_path / "problems").mkdir()
    shutil.copy(ROOT / "problems/references.json", tmp_path / "problems")
    return tmp_path


@pytest.mark.slow
@pytest.mark.parametrize("page", EXECUTED, ids=lambda page: page.stem)
def test_the_examples_of_a_page_work(page: Path, place: Path) -> None:
    """In order, in one folder, every command ends with 0 and every piece of Python ends without an error."""
    for name, text in FILES.get(page.stem, {}).items():
        (place / name).write_text(text)
    for example in examples(page):
        if example.language == "python":
            (place / example.file).write_text(example.text)
            command = f"python {example.file}"
        elif left_out(example.text):
            continue
        else:
            command = executed(example.text)
        done = run(command, place)
        assert done.returncode == 0, f"{page.name}:{example.line}: {command}\n{done.stdout}"


def test_every_exception_is_needed() -> None:
    """Each pattern of what is left out, and of what is replaced, fits a command of some page."""
    commands = [each.text for page in PAGES for each in examples(page) if each.language != "python"]
    for start in LEFT_OUT:
        assert any(re.match(start, command) for command in commands), start
    for whole, _ in INSTEAD:
        assert any(re.fullmatch(whole, command) for command in commands), whole
