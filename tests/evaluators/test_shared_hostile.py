"""The candidates handed to everyone (``../shared/checks/hostile.json``), where they are present."""

import json
from pathlib import Path
from typing import Any

import pytest

from evaluators import layers
from evaluators.outcome import Status
from evaluators.sandbox import Sandbox
from tests.evaluators.aftermath import NEAREST_LENGTH, assert_unharmed

FILE = Path(__file__).parents[3] / "shared" / "checks" / "hostile.json"
NAMES = {
    "rejected": Status.SYNTAX_ERROR,
    "missing_function": Status.NO_FUNCTION,
    "bad_return": Status.INVALID_SOLUTION,
    "exited": Status.CRASHED,
    "output_limit": Status.CRASHED,
    "protocol_error": Status.CRASHED,
}
"""Their names for outcomes, where they are not ours."""
OTHER_FORMAT = {"forge_empty", "forge_status", "forge_pickle"}
"""Forged in another implementation's format, for its descriptor: malformed here, or there is none."""


def entries() -> list[Any]:
    if not FILE.is_file():
        return []
    return [pytest.param(entry, id=entry["id"]) for entry in json.loads(FILE.read_text())]


@pytest.mark.parametrize("entry", entries())
def test_expected_outcome(tsp_sandbox: Sandbox, entry: dict[str, Any], tmp_path: Path) -> None:
    """Each has an outcome its author calls right; an ``ok`` scores what nearest neighbour scores; a file that
    everyone could write stays as it is."""
    file = tmp_path / "results"
    file.write_text("untouched")
    file.chmod(0o666)
    source = f"RESULT_PATH = {str(file)!r}\n{entry['src']}" if "RESULT_PATH" in entry["src"] else entry["src"]
    if "forbidden" in entry["expect"] and layers.missing():
        pytest.skip("needs Landlock and seccomp")
    allowed = {NAMES.get(name) or Status(name) for name in entry["expect"]}
    if entry["id"] in OTHER_FORMAT:
        allowed = {Status.CRASHED, Status.RUNTIME_ERROR}
    limit = 4.0 if entry["cat"] == "memory" else 0.5
    outcome = tsp_sandbox.submit(source, time_limit=limit).result(timeout=60)
    assert outcome.status in allowed, outcome
    if outcome.ok and entry["id"] != "full_solver":
        assert outcome.objective == NEAREST_LENGTH
    assert file.read_text() == "untouched"
    assert file.stat().st_mode & 0o777 == 0o666
    assert_unharmed(tsp_sandbox)
