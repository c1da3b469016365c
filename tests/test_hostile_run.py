"""A run meets hostile replies: each gets its typed outcome and the run goes on to its end."""

from pathlib import Path

import pytest

from ahd.config import Method, RunConfig, Style
from ahd.models.scripted import ScriptedModel
from ahd.schedule import plan
from ahd.search import Search
from ahd.store import Store
from evaluators.sandbox import Sandbox
from problems.registry import load
from tests.fakes import Recorder

HEAD = (
    "import os\nimport numpy as np\n"
    "def select_next_node(current_node, destination_node, unvisited_nodes, distance_matrix):\n"
)
REPLIES = {
    "timeout": "    while True: pass",
    "memory": "    return np.ones(100 * 2**30, dtype=np.uint8)[0]",
    "crashed": "    os._exit(0)",
    "invalid_solution": "    return current_node",
    "runtime_error": "    distance_matrix[:] = 0\n    return unvisited_nodes[0]",
    "nonfinite": "    raise FloatingPointError('not finite')",
    "syntax_error": "    return (",
    "ok": "    return unvisited_nodes[0]",
}
KINDS = list(REPLIES)


@pytest.mark.slow
def test_the_run_goes_on(tmp_path: Path) -> None:
    """An endless loop, 100 GB, os._exit(0), a wrong node and changed inputs each get their own outcome;
    honest candidates among them still score exactly, and the budget is spent to the end."""
    problem = load("tsp")
    config = RunConfig("tsp", method=Method.EOH, budget=16, population=4, timeout=0.5, workers=2)
    written: dict[int, str] = {}

    def write(request: object, weights: object) -> str:
        kind = KINDS[len(written) % len(KINDS)]
        written[len(written)] = kind
        return f"```python\n{HEAD}{REPLIES[kind]}\n```"

    store = Store.create(tmp_path / "run", config)
    with Sandbox(problem, workers=2, time_limit=config.timeout) as sandbox:
        best = Search(
            config,
            Style.FREE,
            problem,
            plan(config.method, config.budget),
            ScriptedModel(write),  # type: ignore[arg-type]
            sandbox,
            store,
            Recorder(),
        ).run()
    rows = store.proposals()
    assert [row.outcome for row in rows] == [written[index] for index in range(len(rows))]
    assert all(row.detail for row in rows if row.outcome != "ok")
    assert {row.objective for row in rows if row.outcome == "ok"} == {7.00437} == {best.objective}
    assert sum(row.phase == "search" for row in rows) == config.budget
