"""``ahd evaluate``: rows, exit codes, errors."""

import json
from pathlib import Path
from typing import Any

import pytest

from ahd.config import ConfigError
from ahd.evaluate import evaluate_files, run_evaluate
from evaluators.outcome import Status
from problems import registry
from tests.evaluators.aftermath import NEAREST, NEAREST_LENGTH

DENSITY = """
import numpy as np
def select_next_item(remaining_capacity, weights, values):
    return int(np.argmax(np.where(weights <= remaining_capacity, values / weights, -np.inf)))
"""


def write(folder: Path, name: str, text: str) -> str:
    path = folder / name
    path.write_text(text)
    return str(path)


def test_one_json_line_per_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Each file has its line, in order, with the six fields; a failed file makes the exit code 1."""
    files = [write(tmp_path, "good.py", NEAREST), write(tmp_path, "bad.py", "def f(: pass")]
    assert run_evaluate("tsp", files, as_json=True) == 1
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [row["file"] for row in rows] == files
    assert all({"file", "status", "objective", "gap", "seconds", "detail"} <= set(row) for row in rows)
    good, bad = rows
    assert (good["status"], good["objective"]) == ("ok", NEAREST_LENGTH)
    assert good["gap"] == pytest.approx((NEAREST_LENGTH - 5.70445) / 5.70445)
    assert (bad["status"], bad["objective"], bad["gap"]) == ("syntax_error", None, None)


def test_knapsack_density_rule(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The density rule scores -40.14595 on the training set, shown to five decimals."""
    assert run_evaluate("knapsack", [write(tmp_path, "density.py", DENSITY)]) == 0
    shown = capsys.readouterr().out
    assert "-40.14595" in shown
    assert "ok" in shown


def test_table_escapes_what_candidates_say(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Markup in an error message is text."""
    file = write(tmp_path, "rude.py", "raise ValueError('[bold]boo[/nothing]')")
    assert run_evaluate("tsp", [file]) == 1
    assert "[bold]boo[/nothing]" in capsys.readouterr().out


def test_other_splits_and_sizes(tmp_path: Path) -> None:
    """Validation instances of 20 nodes are scored with their own reference or none."""
    file = write(tmp_path, "good.py", NEAREST)
    (result,) = evaluate_files(registry.load("tsp"), [file], "val", 20)
    assert result.outcome.status is Status.OK
    assert result.outcome.objective is not None
    assert 3.8 < result.outcome.objective < 4.8


@pytest.mark.parametrize(
    ("problem", "files", "split", "size", "message"),
    [
        ("tsq", ["x.py"], "train", None, "did you mean tsp"),
        ("tsp", ["missing.py"], "train", None, "missing.py: no such file"),
        ("tsp", [], "train", None, "no files"),
        ("tsp", ["x.py"], "holdout", None, "--split holdout"),
        ("tsp", ["x.py"], "val", 33, "--size 33"),
    ],
)
def test_bad_input_is_one_line(
    problem: str, files: list[str], split: str, size: int | None, message: str
) -> None:
    """Bad input raises ``ConfigError`` with a single line that names it."""
    with pytest.raises(ConfigError, match=message) as caught:
        run_evaluate(problem, files, split, size)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        *(({"timeout": value}, "--timeout") for value in (-1.0, float("nan"), float("inf"), 1e300, 86401.0)),
        *(({"memory_mb": value}, "--memory-mb") for value in (0, -5, 1, 255, 1 << 40)),
        *(({"size": value}, "--size") for value in (0, -1)),
    ],
)
def test_options_out_of_range_are_one_line(tmp_path: Path, options: dict[str, Any], message: str) -> None:
    """A number that cannot be used is refused before anything runs, in one line naming the option."""
    file = write(tmp_path, "good.py", NEAREST)
    with pytest.raises(ConfigError, match=f"^{message} ") as caught:
        run_evaluate("tsp", [file], **options)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("field", ["objective", "instances", "run"])
def test_a_problem_that_leaves_is_one_line(tmp_path: Path, field: str) -> None:
    """A function of a problem file that calls ``sys.exit`` neither ends the command silently nor hangs it."""
    text = (
        "import dataclasses, sys\nfrom problems.tsp import problem as tsp\n"
        f"problem = dataclasses.replace(tsp, name='leaver', {field}=lambda *_: sys.exit(0))\n"
    )
    problem = write(tmp_path, "leaver.py", text)
    with pytest.raises(ConfigError, match="SystemExit") as caught:
        run_evaluate("leaver", [write(tmp_path, "good.py", NEAREST)], problem_path=problem)
    assert "leaver" in str(caught.value)
    assert problem in str(caught.value)
    assert "doctor" not in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_byte_order_mark_is_no_syntax_error(tmp_path: Path) -> None:
    """A file as some editors save it, with a UTF-8 byte order mark, scores what it does without."""
    path = tmp_path / "marked.py"
    path.write_bytes(b"\xef\xbb\xbf" + NEAREST.encode())
    (result,) = evaluate_files(registry.load("tsp"), [path])
    assert result.outcome.objective == NEAREST_LENGTH


def test_not_utf8_is_a_syntax_error(tmp_path: Path) -> None:
    """Bytes that are no UTF-8 make a typed outcome."""
    path = tmp_path / "latin.py"
    path.write_bytes(NEAREST.encode() + b"# \xff")
    (result,) = evaluate_files(registry.load("tsp"), [path])
    assert result.outcome.status is Status.SYNTAX_ERROR


def rows(capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def test_known_heuristics_come_first(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """``--known`` adds the problem's own under their names; files are not needed then."""
    file = write(tmp_path, "good.py", NEAREST)
    names = list(registry.load("tsp").heuristics)
    assert run_evaluate("tsp", [file], as_json=True, known=True) == 0
    found = rows(capsys)
    assert [row["file"] for row in found] == [*names, file]
    assert found[0]["objective"] == found[-1]["objective"] == NEAREST_LENGTH
    assert run_evaluate("tsp", [], as_json=True, known=True) == 0
    assert [row["file"] for row in rows(capsys)] == names


def test_seeds_are_averaged(capsys: pytest.CaptureFixture[str]) -> None:
    """Over fresh seeds an objective has a standard error; the search's own seed gives one without."""
    assert run_evaluate("tsp-aco", [], as_json=True, known=True) == 0
    single = rows(capsys)[0]
    assert (single["seeds"], single["error"]) == (1, None)
    assert run_evaluate("tsp-aco", [], as_json=True, known=True, seeds=4) == 0
    averaged = rows(capsys)[0]
    assert averaged["seeds"] == 4
    assert averaged["error"] > 0
    assert abs(averaged["objective"] - single["objective"]) < 10 * averaged["error"]


@pytest.mark.parametrize(
    ("problem", "seeds", "message"),
    [
        ("tsp", 3, "tsp has no seed"),
        ("tsp-aco", 0, "--seeds 0"),
        ("tsp-aco", 10**9, "needs a number"),
    ],
)
def test_seeds_that_make_no_sense_are_one_line(problem: str, seeds: int, message: str) -> None:
    """A problem without a seed has nothing to average."""
    with pytest.raises(ConfigError, match=message) as caught:
        run_evaluate(problem, [], known=True, seeds=seeds)
    assert "\n" not in str(caught.value)


def test_a_reference_of_zero_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    """The empty column of gaps has its reason below the table."""
    assert run_evaluate("bin-packing-online", [], known=True, split="train", size=1000) == 0
    shown = capsys.readouterr().out
    assert "no gap: the reference is 0" in shown
    assert "gap to" not in shown
