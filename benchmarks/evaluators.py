"""What scoring a candidate costs: our evaluators beside plain ones, and the sandbox around them.

    python benchmarks/evaluators.py [--tasks tsp,tsp-aco] [--repeats 5] [--seconds 60] [--json FILE]

For each task, CPU seconds of one evaluation of a simple vectorised heuristic on the training instances, ours
and that of ``benchmarks/plain``, in turn, in one process on one core; medians. The solver is timed apart
where the candidate only guides it. Tasks that compile candidates have lines for the test instances as well:
with the candidate interpreted, and compiled, once it is compiled; the time for that is a column of its own.

Then the sandbox: evaluations per second with one worker and with two, and what it adds to an evaluation
(process, restrictions, frame, verification), measured with a candidate that is never called. CPU time is
that of all processes together; wall time is what a search waits for, and means little on a busy machine.
"""

import argparse
import dataclasses
import os
import sys
import time
from collections.abc import Callable, Iterable
from importlib import import_module
from pathlib import Path
from statistics import median
from typing import Any

EVALUATION_MS = 50.0
"""The evaluation beside which the cost of isolation is told."""
ISOLATED = ("tsp", "job-shop")
"""One whose loop around the candidate needs no Numba, and one whose loop does: its process is larger."""
COLUMNS = {"ours": 10, "plain": 10, "ratio": 8, "solver": 10, "plain's": 10, "ratio ": 8, "compiling": 11}
LEAN = {
    "tsp": "import numpy as np\n"
    "def select_next_node(current_node, destination_node, unvisited_nodes, distance_matrix):\n"
    "    return unvisited_nodes[np.argmin(distance_matrix[current_node][unvisited_nodes])]\n",
    "knapsack": "import numpy as np\n"
    "def select_next_item(remaining_capacity, weights, values):\n"
    "    return np.argmax(np.where(weights <= remaining_capacity, values / weights, -1.0))\n",
}
"""For tasks whose known heuristics do more than they need to. Others: the simplest known one."""


@dataclasses.dataclass(frozen=True)
class Row:
    """CPU seconds of an evaluation; ``solver`` is the part of it that is not the candidate's, if apart."""

    task: str
    ours: float
    plain: float
    solver: float | None = None
    plain_solver: float | None = None
    compiling: float | None = None

    def cells(self) -> list[float | None]:
        apart = None if self.solver is None or self.plain_solver is None else self.plain_solver / self.solver
        ratio = self.plain / self.ours
        return [self.ours, self.plain, ratio, self.solver, self.plain_solver, apart, self.compiling]

    def line(self) -> str:
        texts = [
            "" if cell is None else f"{cell:.0f}" if cell >= 100 else f"{cell:.3g}" for cell in self.cells()
        ]
        return padded(self.task, texts)


def padded(name: str, texts: Iterable[str]) -> str:
    """A line of the table."""
    return f"{name:30}" + "".join(f"{text:>{w}}" for text, w in zip(texts, COLUMNS.values(), strict=True))


def medians(repeats: int, seconds: float, jobs: dict[str, Callable[[], object]]) -> dict[str, float]:
    """Median CPU seconds of jobs done in turn; one that has taken ``seconds`` in all is not repeated.

    Each is done once before, which counts only where it takes 1 s or more and so hides no warming up.
    """
    found: dict[str, list[float]] = {name: [] for name in jobs}
    for name, job in jobs.items():
        first = cpu(job)
        if first >= 1.0:
            found[name].append(first)
    for turn in range(repeats):
        for name, job in jobs.items():
            if len(found[name]) <= turn and (not found[name] or sum(found[name]) < seconds):
                found[name].append(cpu(job))
    return {name: median(taken) for name, taken in found.items()}


def cpu(job: Callable[[], object]) -> float:
    """CPU seconds of this process."""
    started = time.process_time()
    job()
    return time.process_time() - started


def rows(name: str, repeats: int, seconds: float) -> Iterable[Row]:
    """What a task costs."""
    from evaluators import candidate, compiled
    from problems import registry

    problem = registry.load(name)
    plain = import_module(f"benchmarks.plain.{name.replace('-', '_')}")
    source = LEAN.get(name, problem.simplest[1])
    heuristic = candidate.load(source, problem.function, problem.arguments)
    seed = [0] if problem.seeded else []

    def whole(form: Callable[..., Any], called: Any, given: Any) -> Callable[[], object]:
        return lambda: problem.objective(given, form(called, given), *seed)

    train = problem.instances("train", problem.sizes["train"][0])
    jobs = {
        "ours": whole(problem.run, heuristic, train),
        "plain": lambda: plain.evaluate(heuristic, train),
    }
    if hasattr(plain, "solve"):
        decisions = problem.run(heuristic, train)
        jobs["solver"] = lambda: problem.objective(train, decisions, *seed)
        jobs["plain_solver"] = lambda: plain.solve(decisions, train, 0)
    yield Row(f"{name} train", **medians(repeats, seconds, jobs))
    if problem.compiled is None:
        return
    test = problem.instances("test", problem.sizes["test"][0])
    compiled.warm(problem)
    fast = compiled.jitted(compiled.rewritten(source), problem.function, problem.arguments)
    first = cpu(whole(problem.compiled, fast, test[:1]))
    found = medians(
        repeats,
        seconds,
        {
            "ours": whole(problem.run, heuristic, test),
            "plain": lambda: plain.evaluate(heuristic, test),
            "compiled": whole(problem.compiled, fast, test),
        },
    )
    yield Row(f"{name} test, interpreted", found["ours"], found["plain"])
    yield Row(f"{name} test, compiled", found["compiled"], found["plain"], compiling=first)


def per_second(workers: int, count: int) -> float:
    """Evaluations of ``tsp`` on the training instances per second of wall time."""
    from evaluators.sandbox import Sandbox
    from problems.tsp import problem

    source = problem.simplest[1]
    with Sandbox(problem, workers=workers) as sandbox:
        for future in [sandbox.submit(source) for _ in range(4 * workers)]:
            future.result()
        started = time.perf_counter()
        for future in [sandbox.submit(source) for _ in range(count)]:
            future.result()
        return count / (time.perf_counter() - started)


def isolation(name: str, count: int, mode: str = "auto") -> dict[str, float]:
    """Milliseconds that the sandbox adds to an evaluation of a problem, wall and CPU, medians and mean."""
    from evaluators.candidate import load
    from evaluators.layers import Mode
    from evaluators.sandbox import Sandbox
    from problems import registry

    problem = registry.load(name)
    source = problem.simplest[1]
    train = problem.instances("train", problem.sizes["train"][0])
    decisions = problem.run(load(source, problem.function, problem.arguments), train)

    def run(heuristic: Callable[..., Any], instances: Any) -> Any:
        return problem.run(heuristic, instances) if len(instances) == 1 else decisions

    known = dataclasses.replace(problem, run=run)
    wall, verifying = [], []
    with Sandbox(known, mode=Mode(mode)) as sandbox:
        for _ in range(5):
            sandbox.submit(source).result()
        before = _processor(sandbox.pids)
        for _ in range(count):
            started = time.perf_counter()
            outcome = sandbox.submit(source).result()
            wall.append(1000 * (time.perf_counter() - started))
        spent = 1000 * (_processor(sandbox.pids) - before) / count
    assert outcome.ok, outcome
    for _ in range(count):
        verifying.append(1000 * cpu(lambda: problem.objective(train, decisions)))
    return {
        "wall_ms": median(wall),
        "cpu_ms": spent,
        "of_which_verifying_ms": median(verifying),
        "wall_share": median(wall) / EVALUATION_MS,
        "cpu_share": spent / EVALUATION_MS,
    }


def _processor(workers: Iterable[int]) -> float:
    """CPU seconds so far of this process, and of workers with the candidates they have reaped."""
    ticks = 0
    for pid in workers:
        fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
        ticks += sum(map(int, fields[11:15]))
    return ticks / os.sysconf("SC_CLK_TCK") + time.process_time()


def tasks() -> list[str]:
    """Tasks of the suite that have a plain implementation."""
    from problems import registry

    here = Path(__file__).parent / "plain"
    return [name for name in registry.names() if (here / f"{name.replace('-', '_')}.py").is_file()]


def main() -> None:
    from evaluators.launch import FIXED

    if os.environ.get("NUMBA_NUM_THREADS") != "1":  # before numpy is loaded
        os.execve(sys.executable, [sys.executable, *sys.argv], {**os.environ, **FIXED})
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tasks", help="comma-separated; default: all; empty: the sandbox only")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=60.0, help="no more repeats of what has taken this")
    parser.add_argument("--candidates", type=int, default=60, help="to put through the sandbox; 0: none")
    parser.add_argument("--json", type=Path, help="also write the figures to this file")
    options = parser.parse_args()
    from benchmarks.machine import facts, write

    machine, table, sandbox = facts(), [], {}
    print(padded("CPU seconds", COLUMNS))
    chosen = tasks() if options.tasks is None else [name for name in options.tasks.split(",") if name]
    for name in chosen:
        for row in rows(name, options.repeats, options.seconds):
            table.append(dataclasses.asdict(row))
            print(row.line(), flush=True)
    if options.candidates:
        one, two = (per_second(workers, options.candidates * workers) for workers in (1, 2))
        added = {name: isolation(name, options.candidates) for name in ISOLATED}
        sandbox = {"per_second": [one, two], "ratio": two / one, "isolation": added}
        print(f"evaluations per second: {one:.3g} with 1 worker, {two:.3g} with 2: {two / one:.2f} times")
        for name, cost in added.items():
            print(f"isolation, {name}: " + ", ".join(f"{key} {value:.3g}" for key, value in cost.items()))
    write(options.json, machine, repeats=options.repeats, tasks=table, sandbox=sandbox)


if __name__ == "__main__":
    sys.path[0] = str(Path(__file__).resolve().parent.parent)
    main()
