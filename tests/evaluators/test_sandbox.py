"""The sandbox as its users see it: futures, limits, restarts, closing."""

import dataclasses
import os
import signal
import subprocess
import sys
import time
from concurrent.futures import CancelledError, wait
from pathlib import Path
from typing import Any

import pytest

from evaluators.outcome import Status
from evaluators.sandbox import Sandbox, SandboxError, describe
from evaluators.task import scaled_limit
from problems.tsp import problem as tsp
from tests.evaluators.aftermath import (
    NEAREST,
    NEAREST_LENGTH,
    assert_unharmed,
    eventually,
    leftovers,
    processes,
)

ROOT = Path(__file__).parents[2]
LOOP = "while True: pass"
SLEEP = "import time\ntime.sleep(1000)"


def child_of(worker: int) -> int:
    """The candidate's process, once it is there."""
    assert eventually(lambda: worker in processes().values())
    return next(pid for pid, parent in processes().items() if parent == worker)


def alive(pid: int) -> bool:
    return pid in processes()


def test_sleeper_is_gone_within_a_second_of_its_deadline(tsp_sandbox: Sandbox) -> None:
    """Time asleep counts towards the limit; the whole process group is dead within 1 s of it."""
    tsp_sandbox.submit(NEAREST).result()
    start = time.monotonic()
    outcome = tsp_sandbox.submit(SLEEP, time_limit=0.5).result()
    took = time.monotonic() - start
    assert outcome.status is Status.TIMEOUT
    assert 0.5 <= outcome.seconds <= took < 1.5
    assert not leftovers(tsp_sandbox.pids)


def test_time_waiting_for_a_core_does_not_count(tsp_sandbox: Sandbox) -> None:
    """A candidate that needs 0.3 s of CPU meets a limit of 1 s although the machine is busy."""
    burners = [subprocess.Popen([sys.executable, "-c", LOOP]) for _ in range(2 * (os.cpu_count() or 1))]
    try:
        busy = "import time\nwhile time.process_time() < 0.3: pass\n" + NEAREST
        outcome = tsp_sandbox.submit(busy, time_limit=1.0).result()
    finally:
        for burner in burners:
            burner.kill()
            burner.wait()
    assert outcome.objective == NEAREST_LENGTH, outcome


def test_worker_killed_in_the_middle_is_crashed_and_replaced() -> None:
    """When the worker dies, its candidate is ``crashed``, dies too, and the next one runs."""
    with Sandbox(tsp) as sandbox:
        assert_unharmed(sandbox)
        worker = sandbox.pids[0]
        future = sandbox.submit(LOOP, time_limit=30)
        child = child_of(worker)
        os.kill(worker, signal.SIGKILL)
        outcome = future.result(timeout=10)
        assert outcome.status is Status.CRASHED
        assert "worker" in outcome.detail
        assert eventually(lambda: not alive(child), 1.0)
        assert_unharmed(sandbox)
        assert sandbox.pids != [worker]


def test_close_cancels_waiting_and_kills_running() -> None:
    """Closing leaves no process and no future that never ends; a closed sandbox takes nothing."""
    sandbox = Sandbox(tsp)
    sandbox.submit(NEAREST).result()
    (worker,) = sandbox.pids
    running = sandbox.submit(LOOP, time_limit=60)
    child = child_of(worker)
    waiting = sandbox.submit(NEAREST)
    sandbox.close()
    assert running.result(timeout=1).status is Status.CRASHED
    with pytest.raises(CancelledError):
        waiting.result(timeout=1)
    assert not alive(worker)
    assert not alive(child)
    with pytest.raises(RuntimeError, match="closed"):
        sandbox.submit(NEAREST)
    sandbox.close()


def test_nothing_survives_a_killed_main_process() -> None:
    """kill -9 of the main process takes the worker and a running candidate with it."""
    script = (
        "from evaluators.sandbox import Sandbox\nfrom problems.tsp import problem\nimport time\n"
        f"sandbox = Sandbox(problem)\nsandbox.submit({NEAREST!r}).result()\n"
        f"sandbox.submit({LOOP!r}, time_limit=60)\nprint(sandbox.pids[0], flush=True)\ntime.sleep(60)\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", script], cwd=ROOT, stdout=subprocess.PIPE, text=True
    ) as main:
        assert main.stdout is not None
        worker = int(main.stdout.readline())
        child = child_of(worker)
        main.kill()
    assert eventually(lambda: not alive(worker) and not alive(child), 2.0)


def test_worker_environment_is_scrubbed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither secrets nor LD_PRELOAD reach a worker; its libraries are single-threaded."""
    monkeypatch.setenv("AHD_SECRET_TOKEN", "hidden")
    monkeypatch.setenv("LD_PRELOAD", "")
    monkeypatch.setenv("OMP_NUM_THREADS", "16")

    def checked(heuristic: Any, instances: Any) -> Any:
        if os.environ:  # in the worker; a candidate's own environment is empty
            assert not {"AHD_SECRET_TOKEN", "LD_PRELOAD"} & set(os.environ)
            assert os.environ["OMP_NUM_THREADS"] == "1"
            assert len(os.listdir("/proc/self/task")) == 1
        return tsp.run(heuristic, instances)

    with Sandbox(dataclasses.replace(tsp, run=checked)) as sandbox:
        assert sandbox.submit(NEAREST).result().objective == NEAREST_LENGTH


def test_random_candidates_are_reproducible(tsp_sandbox: Sandbox) -> None:
    """Global random state and hashing are the same for every candidate."""
    source = NEAREST.replace("np.argmin(", "np.random.randint(len(unvisited_nodes)) + 0 * int(")
    source = source.replace("distance_matrix[current_node, unvisited_nodes]", "hash('x') % 2")
    first, second = (tsp_sandbox.submit(source).result() for _ in range(2))
    assert first.ok
    assert first.objective == second.objective


def test_candidates_do_not_see_each_other(tsp_sandbox: Sandbox) -> None:
    """What one candidate leaves in modules is gone for the next."""
    assert tsp_sandbox.submit("import numpy\nnumpy.trace_left = 1\n" + NEAREST).result().ok
    assert tsp_sandbox.submit("import numpy\nassert not hasattr(numpy, 'trace_left')\n" + NEAREST).result().ok


def test_memory_allowance_is_what_was_asked_for() -> None:
    """With an allowance of 256 MiB, 150 MB can be had and 400 MB cannot."""
    with Sandbox(tsp, memory_mb=256) as sandbox:
        assert sandbox.submit("x = bytearray(150 * 10**6)\n" + NEAREST).result().ok
        assert sandbox.submit("x = bytearray(400 * 10**6)\n" + NEAREST).result().status is Status.MEMORY


def test_workers_run_side_by_side() -> None:
    """Two workers overlap: a sleeper does not hold up the other candidates."""
    with Sandbox(tsp, workers=2) as sandbox:
        sleeper = sandbox.submit(SLEEP, time_limit=20)
        others = [sandbox.submit(NEAREST) for _ in range(4)]
        done, _ = wait(others, timeout=15)
        assert len(done) == 4
        assert all(future.result().objective == NEAREST_LENGTH for future in done)
        assert not sleeper.done()
        assert len(set(sandbox.pids)) == 2


def test_unknown_split_and_size_are_value_errors(tsp_sandbox: Sandbox) -> None:
    """Bad splits and sizes are refused at once, naming what there is."""
    with pytest.raises(ValueError, match="train, val, test"):
        tsp_sandbox.submit(NEAREST, split="holdout")
    with pytest.raises(ValueError, match="50"):
        tsp_sandbox.submit(NEAREST, split="train", size=7)


def test_a_problem_that_cannot_run_is_a_sandbox_error() -> None:
    """A defect of the problem itself is no candidate's fault: the future raises."""
    broken = dataclasses.replace(tsp, heuristics={"broken": "def nothing(): pass"})
    with Sandbox(broken) as sandbox, pytest.raises(SandboxError, match="cannot load tsp"):
        sandbox.submit(NEAREST).result(timeout=60)


def test_objective_that_fails_is_typed(tsp_sandbox: Sandbox) -> None:
    """A verifier's surprise is an outcome, not an exception in the run."""

    def surprised(*_: object) -> float:
        raise IndexError("hostile decisions")

    with Sandbox(dataclasses.replace(tsp, objective=surprised)) as sandbox:
        outcome = sandbox.submit(NEAREST).result()
    assert outcome.status is Status.INVALID_SOLUTION
    assert "hostile decisions" in outcome.detail


def test_limits_grow_with_the_work_of_a_split() -> None:
    """The training limit applies to training; 1000 test instances get 1000/64 of it; never less than it."""
    assert scaled_limit(tsp, "train", 50, 2.0) == 2.0
    assert scaled_limit(tsp, "val", 20, 2.0) == 2.0
    assert scaled_limit(tsp, "test", 50, 2.0) == pytest.approx(2.0 * 1000 / 64)
    assert scaled_limit(tsp, "test", 100, 2.0) == pytest.approx(4 * 2.0 * 1000 / 64)


def test_main_process_stays_light() -> None:
    """Using a sandbox loads neither numba nor torch into the main process."""
    script = (
        "import sys\nfrom evaluators.sandbox import Sandbox\nfrom problems import registry\n"
        "import ahd.evaluate\nwith Sandbox(registry.load('tsp')) as sandbox:\n"
        f"    assert sandbox.submit({NEAREST!r}).result().ok\n"
        "assert not {'numba', 'torch', 'vllm', 'rich'} & set(sys.modules)\n"
    )
    subprocess.run([sys.executable, "-c", script], cwd=ROOT, check=True)


def test_limits_can_be_described() -> None:
    """The doctor gets every limit as one line of text."""
    assert {"deadline", "memory", "user", "environment"} <= set(describe())
    assert all(text and "\n" not in text for text in describe().values())
