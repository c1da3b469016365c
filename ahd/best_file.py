"""``best.py``: the best heuristic of a run as a file that a person can read, import and score."""

import shlex
from pathlib import Path

from ahd.config import RunConfig
from ahd.files import write_whole
from ahd.population import Individual
from evaluators.frames import clean
from problems.problem import Problem

FILE = "best.py"


def render(problem: Problem, config: RunConfig, best: Individual) -> str:
    """Source of ``best.py``: a header saying how it was found and how to score it, and the heuristic."""
    if best.proposal is None:
        origin = f"the known heuristic {best.operator}: no valid proposal was better"
    else:
        origin = f"proposal {best.proposal}, written by operator {best.operator}"
    objective = f"{best.objective:.{problem.decimals}f}"
    size = problem.sizes["train"][0]
    evaluate = shlex.join(["ahd", "evaluate", problem.name, FILE, *_option("--problem-path", problem.origin)])
    return f"""\
# Heuristic for {clean(problem.name)} ({clean(problem.title)}).
# Found by: {clean(config.command)}
# Origin: {clean(origin)}.
# Objective on the training instances of size {size}: {objective} (smaller is better).
# Score it again, in the sandbox, from the folder of this file: {clean(evaluate)}

{best.code.strip()}
"""


def _option(name: str, value: str) -> list[str]:
    return [name, value] if value else []


def write_best(folder: Path, problem: Problem, config: RunConfig, best: Individual) -> Path:
    """Replace ``best.py`` in the run folder, all or nothing."""
    path = folder / FILE
    write_whole(path, render(problem, config, best).encode("utf-8", "replace"))
    return path
