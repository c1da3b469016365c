"""The candidates handed to everyone (``../shared/checks/hostile.json``), where they are present."""

import json
from pathlib import Path
from typing import Any

import pytest

from evaluators.outcome import Status
from evaluators.sandbox import Sandbox
from tests.evaluators.aftermath import NEAREST_LENGTH, assert_unharmed

FILE = Path(__file__).parents[3] / "shared" / "checks" / "hostile.json"
NAMES = {
    "rejected": Status.SYNTAX_ERROR,
    "missing_function": Status.NO_FUNCTION,
    "bad_return": Status.INVALID_SOLUTION,
    "forbidden": Status.RUNTIME_ERROR,
    "exited": Status.CRASHED,
    "output_limit": Status.CRASHED,
    "protocol_error": Status.CRASHED,
}
"""Their names for outcomes, where they are not ours."""
OTHER_FORMAT = {"forge_empty", "forge_status", "forge_pickle"}
"""Forged in another implementation's format, for its descriptor: malformed here, or there is none."""
NEEDS_FILTER = {"files", "network"}
"""Categories that only a filter of system calls can refuse."""
NEEDS_FILTER_TOO = {
    "kill_all",
    "killpg",
    "forkbomb",
    "mem_shm",
    "mem_pipe",
    "vm_write",
    "io_uring",
    "userns",
    "int80",
    "x32",
}


def entries() -> list[Any]:
    if not FILE.is_file():
        return []
    return [
        pytest.param(entry, id=entry["id"])
        for entry in json.loads(FILE.read_text())
        if entry["id"] == "env_secret"
        or (entry["cat"] not in NEEDS_FILTER and entry["id"] not in NEEDS_FILTER_TOO)
    ]


@pytest.mark.parametrize("entry", entries())
def test_expected_outcome(tsp_sandbox: Sandbox, entry: dict[str, Any]) -> None:
    """Each has an outcome its author calls right; an ``ok`` scores what nearest neighbour scores."""
    allowed = {NAMES.get(name) or Status(name) for name in entry["expect"]}
    if entry["id"] in OTHER_FORMAT:
        allowed = {Status.CRASHED, Status.RUNTIME_ERROR}
    if entry["cat"] == "process":
        allowed |= {Status.OK}  # contained rather than refused: the objective is honest, nothing is left
    limit = 4.0 if entry["cat"] == "memory" else 0.5
    outcome = tsp_sandbox.submit(entry["src"], time_limit=limit).result(timeout=60)
    assert outcome.status in allowed, outcome
    if outcome.ok and entry["id"] != "full_solver":
        assert outcome.objective == NEAREST_LENGTH
    assert_unharmed(tsp_sandbox)
