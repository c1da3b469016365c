"""``ahd refs``: computing references, keeping them, comparing them."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from ahd import refs
from ahd.config import ConfigError
from problems import references
from problems.references import Line, Record
from tests.evaluators.aftermath import eventually, processes

ROOT = Path(__file__).parent.parent


@pytest.fixture(autouse=True)
def own_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("AHD_CACHE", str(tmp_path / "cache"))


def line(index: int, value: float, bound: float | None = None, solver: str = "a") -> Line:
    return Line(index, value, bound, solver, "1", 2.0, 0.1, "2026-01-01", "k")


@pytest.mark.slow
def test_knapsack_optima_are_the_shipped_ones(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """The training optima come out proven, equal to what ships; a second call reads them back; --write puts
    them into a file; the table has both."""
    written = tmp_path / "table.json"
    assert refs.run_refs("knapsack", as_json=True, write=written) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["value"] == -40.18899
    assert (facts["status"], facts["proven"], facts["count"]) == ("optimum", 64, 64)
    assert facts["value"] == facts["shipped"]["value"]
    assert json.loads(written.read_text())["knapsack"]["train"]["100"]["value"] == -40.18899
    before = references.cache_file("knapsack", "train", 100).read_bytes()
    start = time.monotonic()
    assert refs.run_refs("knapsack") == 0
    assert time.monotonic() - start < 2.0
    assert references.cache_file("knapsack", "train", 100).read_bytes() == before
    shown = capsys.readouterr().out
    assert "shipped" in shown
    assert "64 of 64" in shown


@pytest.mark.slow
def test_a_stopped_computation_goes_on(tmp_path: Path) -> None:
    """Ctrl-C ends it with code 130 and says what is kept; the next call computes only the rest."""
    command = [sys.executable, "-m", "ahd", "refs", "tsp", "--seconds", "0.2"]
    environment = os.environ | {"AHD_CACHE": str(tmp_path)}
    process = subprocess.Popen(
        command,
        cwd=ROOT,
        env=environment,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(
            signal.SIGINT, signal.default_int_handler
        ),  # not ignored, as in background
    )
    file = tmp_path / "references" / "tsp-train-50.jsonl"
    deadline = time.monotonic() + 100
    while not (file.exists() and len(file.read_text().splitlines()) >= 3) and time.monotonic() < deadline:
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    _, told = process.communicate(timeout=20)
    assert process.returncode == 130
    kept = len(file.read_text().splitlines())
    assert f"{kept} of 64 instances are kept" in told
    assert 3 <= kept < 64
    done = subprocess.run([*command, "--json"], cwd=ROOT, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert len(file.read_text().splitlines()) == 64
    assert json.loads(done.stdout)["value"] == pytest.approx(5.70445, rel=1e-3)


@pytest.mark.slow
def test_solvers_go_with_the_command(tmp_path: Path) -> None:
    """However it ends, here by kill -9, the processes that solve for it end too."""
    command = [sys.executable, "-m", "ahd", "refs", "tsp", "--seconds", "60"]
    process = subprocess.Popen(command, cwd=ROOT, env=os.environ | {"AHD_CACHE": str(tmp_path)})

    def children() -> list[int]:
        return [pid for pid, parent in processes().items() if parent == process.pid]

    deadline = time.monotonic() + 60
    while not children() and time.monotonic() < deadline:
        time.sleep(0.05)
    time.sleep(5)
    solvers = children()
    process.kill()
    process.wait()
    assert solvers
    assert eventually(lambda: not set(solvers) & set(processes()), 20.0)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"name": "admissible-set"}, ["no solver", "tsp"]),
        ({"name": "tsp", "split": "dev"}, ["--split dev", "train"]),
        ({"name": "tsp", "size": 7}, ["--size 7", "50"]),
        ({"name": "tsp", "seconds": 0.0}, ["--seconds 0"]),
        ({"name": "tsp", "seconds": float("nan")}, ["--seconds nan"]),
        ({"name": "tsp", "workers": 0}, ["--workers 0"]),
    ],
)
def test_mistakes_are_one_line(options: dict[str, Any], words: list[str]) -> None:
    """What cannot be used is named before anything is computed."""
    with pytest.raises(ConfigError) as caught:
        refs.run_refs(**options)
    assert "\n" not in str(caught.value)
    assert all(word in str(caught.value) for word in words)


def test_a_solver_that_is_not_installed_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    """The message has the command that installs it."""
    from dataclasses import replace

    absent = replace(refs.SOLVERS["tsp"][0], name="Nothing", package="no-such-distribution")
    monkeypatch.setitem(refs.SOLVERS, "tsp", (absent,))
    with pytest.raises(
        ConfigError, match="Nothing needs the package no-such-distribution: pip install"
    ) as caught:
        refs.run_refs("tsp")
    assert "\n" not in str(caught.value)


def test_a_cache_that_cannot_be_written_is_one_line(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A file where the folder should be gives one line that names AHD_CACHE."""
    (tmp_path / "taken").write_text("")
    monkeypatch.setenv("AHD_CACHE", str(tmp_path / "taken"))
    with pytest.raises(ConfigError, match="set AHD_CACHE"):
        refs.run_refs("knapsack", force=True)


def test_contradictions_are_found() -> None:
    """A solution below another solver's bound, or below a shipped optimum, is told; rounding is not."""
    record = Record(4.0, "b", "1", 2.0, 1, 0, None, "2026-01-01", "k")
    shipped = Record(4.0, "a", "1", 2.0, 1, 1, 4.0, "2026-01-01", "k")
    fine = [line(0, 4.0, 4.0), line(0, 4.0 - 1e-7, None, "b")]
    assert refs.contradictions(fine, record, shipped) == []
    (told,) = refs.contradictions([line(0, 5.0, 5.0), line(0, 4.0, None, "b")], record, None)
    assert "b found 4" in told
    assert "a says that nothing is below 5" in told
    better = Record(3.9, "b", "1", 2.0, 1, 0, None, "2026-01-01", "k")
    assert "ships as the optimum" in refs.contradictions([line(0, 3.9)], better, shipped)[0]
    other = Record(4.0, "a", "1", 2.0, 1, 1, 4.0, "2026-01-01", "other")
    assert "other instances" in refs.contradictions([line(0, 4.0)], record, other)[0]
