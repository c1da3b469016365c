"""The sandbox as its users see it: futures, limits, restarts, closing."""

import dataclasses
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import CancelledError, wait
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from evaluators.outcome import SandboxError, Status
from evaluators.sandbox import Sandbox, describe
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
    cores = len(os.sched_getaffinity(0))
    burners = [subprocess.Popen([sys.executable, "-c", LOOP]) for _ in range(2 * cores)]
    try:
        busy = "import time\nwhile time.process_time() < 0.3: pass\n" + NEAREST
        outcome = tsp_sandbox.submit(busy, time_limit=1.0).result()
    finally:
        for burner in burners:
            burner.kill()
            burner.wait()
    assert outcome.objective == NEAREST_LENGTH, outcome


def kill_worker_under_candidate(sandbox: Sandbox, not_worker: int = 0) -> int:
    """Kill the worker, once it has a candidate, which has to go with it; the worker's process id."""
    assert eventually(lambda: [pid for pid in sandbox.pids if pid != not_worker] != [], 20.0)
    (worker,) = sandbox.pids
    assert eventually(lambda: worker in processes().values(), 20.0)
    child = child_of(worker)
    os.kill(worker, signal.SIGKILL)
    assert eventually(lambda: not alive(child), 2.0)
    return worker


def test_a_worker_that_dies_once_costs_its_candidate_nothing() -> None:
    """A candidate whose worker is killed, as by a machine short of memory, is tried on a fresh one."""
    slow = "import time\nend = time.time() + 1\nwhile time.time() < end: pass\n" + NEAREST
    with Sandbox(tsp) as sandbox:
        assert_unharmed(sandbox)
        future = sandbox.submit(slow, time_limit=30)
        worker = kill_worker_under_candidate(sandbox)
        outcome = future.result(timeout=60)
        assert outcome.objective == NEAREST_LENGTH, outcome
        assert sandbox.pids != [worker]


@pytest.mark.parametrize("delay", [0.0, 0.3])
def test_a_candidate_that_is_killed_once_is_tried_again(delay: float) -> None:
    """The same where the machine kills the candidate's own process, before it is confined or later."""
    slow = "import time\nend = time.time() + 1\nwhile time.time() < end: pass\n" + NEAREST
    with Sandbox(tsp) as sandbox:
        assert_unharmed(sandbox)
        future = sandbox.submit(slow, time_limit=30)
        child = child_of(sandbox.pids[0])
        time.sleep(delay)
        os.kill(child, signal.SIGKILL)
        outcome = future.result(timeout=60)
        assert outcome.objective == NEAREST_LENGTH, outcome


def test_a_worker_that_is_killed_at_once_is_started_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Even before it has been told what to do."""
    spawn, killed = os.posix_spawn, []

    def spawn_and_kill(*arguments: Any, **options: Any) -> int:
        pid = spawn(*arguments, **options)
        if not killed:
            killed.append(pid)
            os.kill(pid, signal.SIGKILL)
            os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
        return pid

    monkeypatch.setattr(os, "posix_spawn", spawn_and_kill)
    with Sandbox(tsp) as sandbox:
        assert_unharmed(sandbox)
    assert killed
    assert not Path(f"/proc/{killed[0]}").exists()


def test_a_candidate_whose_workers_all_die_is_crashed() -> None:
    """When the second worker dies as well, the candidate is ``crashed``, and the next one runs."""
    with Sandbox(tsp) as sandbox:
        future = sandbox.submit(LOOP, time_limit=60)
        worker = kill_worker_under_candidate(sandbox)
        kill_worker_under_candidate(sandbox, worker)
        outcome = future.result(timeout=60)
        assert outcome.status is Status.CRASHED
        assert "worker" in outcome.detail
        assert_unharmed(sandbox)


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


@pytest.mark.parametrize("stopped", [False, True])
def test_nothing_survives_a_killed_main_process(stopped: bool) -> None:
    """kill -9 of the main process takes its workers, idle or not, and a running candidate with it.

    It does so when the workers are stopped, and when the candidate has asked not to die with its parent.
    """
    stay = "import ctypes\nctypes.CDLL(None).prctl(1, 0, 0, 0, 0)\n" + SLEEP
    script = (
        "from evaluators.sandbox import Sandbox\nfrom problems.tsp import problem\nimport time\n"
        f"sandbox = Sandbox(problem, workers=2)\nsandbox.submit({NEAREST!r}).result()\n"
        "while len(sandbox.pids) < 2: time.sleep(0.01)\n"
        f"sandbox.submit({stay!r}, time_limit=60)\nprint(*sandbox.pids, flush=True)\ntime.sleep(60)\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", script], cwd=ROOT, stdout=subprocess.PIPE, text=True
    ) as main:
        assert main.stdout is not None
        workers = [int(pid) for pid in main.stdout.readline().split()]
        assert eventually(lambda: bool(set(workers) & set(processes().values())), 20.0)
        children = [pid for pid, parent in processes().items() if parent in workers]
        time.sleep(0.3)  # the candidate has done what it asks for
        if stopped:
            for pid in workers:
                os.kill(pid, signal.SIGSTOP)
        main.kill()
    assert len(workers) == 2
    assert len(children) == 1
    assert eventually(lambda: not set(workers + children) & set(processes()), 5.0)


def test_candidates_side_by_side_cannot_signal_each_other() -> None:
    """Started by root, candidates of different workers are different users."""
    if os.geteuid() != 0:
        pytest.skip("only root can give candidates users of their own")
    with Sandbox(tsp, workers=2) as sandbox:

        def side_by_side() -> bool:
            """Whether both workers are there: two candidates take as long as one."""
            start = time.monotonic()
            for future in [sandbox.submit(SLEEP, time_limit=1.0) for _ in range(2)]:
                future.result()
            return time.monotonic() - start < 1.8

        assert eventually(side_by_side, 60.0)
        victim = sandbox.submit(SLEEP, time_limit=5.0)
        assert eventually(lambda: bool(set(sandbox.pids) & set(processes().values())), 20.0)
        (child,) = [pid for pid, parent in processes().items() if parent in sandbox.pids]
        time.sleep(0.3)
        assassin = sandbox.submit(f"import os\nos.kill({child}, 9)\n" + NEAREST).result()
        assert "PermissionError" in assassin.detail, assassin
        assert victim.result().status is Status.TIMEOUT


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
    for size in (7, 0, -1):
        with pytest.raises(ValueError, match="50"):
            tsp_sandbox.submit(NEAREST, split="train", size=size)


def test_a_problem_that_cannot_run_is_a_sandbox_error() -> None:
    """A defect of the problem itself is no candidate's fault: the future raises."""
    broken = dataclasses.replace(tsp, heuristics={"broken": "def nothing(): pass"})
    with Sandbox(broken) as sandbox, pytest.raises(SandboxError, match="`broken` is rejected: defines no"):
        sandbox.submit(NEAREST).result(timeout=60)


def raises(error: BaseException) -> Callable[..., Any]:
    def fail(*_: object, **__: object) -> Any:
        raise error

    return fail


def assert_one_line(error: BaseException, *parts: str) -> None:
    assert str(error).isprintable()
    assert all(part in str(error) for part in parts), error


def test_a_verifier_that_fails_is_a_fault_of_the_problem() -> None:
    """Whatever else a verifier raises or returns reaches who waits, in one line that names the problem."""
    verdict: list[Callable[..., Any]] = [tsp.objective]
    problem = dataclasses.replace(tsp, objective=lambda *arguments: verdict[0](*arguments))
    faults: list[tuple[Callable[..., Any], str]] = [
        (raises(SystemExit(0)), "SystemExit"),
        (raises(KeyboardInterrupt()), "KeyboardInterrupt"),
        (raises(IndexError("two\nlines")), "IndexError: two lines"),
        (raises(MemoryError()), "MemoryError"),
        *((lambda *_, value=value: value, type(value).__name__) for value in ("7", None, True, 1j, [7.0])),
    ]
    with Sandbox(problem) as sandbox:
        for verdict[0], text in faults:
            with pytest.raises(SandboxError) as caught:
                sandbox.submit(NEAREST).result(timeout=60)
            assert_one_line(caught.value, "problem tsp", text)
        for number in (float("nan"), float("inf"), 10**400, np.float64("-inf")):
            verdict[0] = lambda *_, number=number: number
            assert sandbox.submit(NEAREST).result(timeout=60).status is Status.NONFINITE
        for accepted in (7, np.float32(7), np.array(7.0)):
            verdict[0] = lambda *_, number=accepted: number
            assert sandbox.submit(NEAREST).result(timeout=60).objective == 7.0


def test_instances_that_fail_are_a_fault_of_the_problem() -> None:
    """Whether in the main process or in the worker, the submitter is told in one line."""
    main = os.getpid()

    def instances(split: str, size: int) -> Any:
        if size == 20 or (size == 100 and os.getpid() != main):
            raise SystemExit(0)
        return tsp.instances(split, size)

    with Sandbox(dataclasses.replace(tsp, instances=instances)) as sandbox:
        for size in (20, 100):
            with pytest.raises(SandboxError) as caught:
                sandbox.submit(NEAREST, "val", size).result(timeout=60)
            assert_one_line(caught.value, "problem tsp", "instances", "SystemExit")
        assert sandbox.submit(NEAREST).result(timeout=60).objective == NEAREST_LENGTH


@pytest.mark.parametrize("error", [OverflowError("too\nlarge"), SystemExit(0), OSError("no pipe")])
def test_whatever_fails_around_a_worker_reaches_who_waits(
    monkeypatch: pytest.MonkeyPatch, error: BaseException
) -> None:
    """An exception of any kind in the sandbox's own thread ends the future; the thread goes on."""
    monkeypatch.setattr("evaluators.worker_process.CleanProcess", raises(error))
    with Sandbox(tsp) as sandbox:
        for _ in range(2):
            with pytest.raises(SandboxError) as caught:
                sandbox.submit(NEAREST).result(timeout=10)
            assert_one_line(caught.value, type(error).__name__)


def test_whatever_fails_in_an_evaluation_reaches_who_waits(
    monkeypatch: pytest.MonkeyPatch, tsp_sandbox: Sandbox
) -> None:
    """After an exception of any kind the next candidate has a fresh worker."""
    with monkeypatch.context() as patch:
        patch.setattr("evaluators.worker_process.WorkerProcess.run", raises(SystemExit(0)))
        with pytest.raises(SandboxError) as caught:
            tsp_sandbox.submit(NEAREST).result(timeout=60)
        assert_one_line(caught.value, "SystemExit")
    assert_unharmed(tsp_sandbox)


@pytest.mark.parametrize("limit", [0.0, -1.0, float("nan"), float("inf"), 1e300])
def test_limits_out_of_range_are_value_errors(tsp_sandbox: Sandbox, limit: float) -> None:
    """A time limit that is none is refused before anything starts, wherever it comes from."""
    with pytest.raises(ValueError, match="time_limit"):
        tsp_sandbox.submit(NEAREST, time_limit=limit)
    with pytest.raises(ValueError, match="time_limit"):
        Sandbox(tsp, time_limit=limit)
    with pytest.raises(ValueError, match="time_limit"):
        Sandbox(dataclasses.replace(tsp, time_limit=limit))


def test_memory_and_workers_out_of_range_are_value_errors() -> None:
    """So are an allowance that no candidate can run with, and no workers."""
    for memory in (0, -5, 1, 1 << 40):
        with pytest.raises(ValueError, match="memory_mb"):
            Sandbox(tsp, memory_mb=memory)
    with pytest.raises(ValueError, match="workers"):
        Sandbox(tsp, workers=0)


def test_a_process_that_cannot_be_confined_is_no_candidates_fault() -> None:
    """When a limit cannot be put on, the candidate does not run and the sandbox is to blame."""

    def run(heuristic: Any, instances: Any) -> Any:  # runs first in the worker, when it warms up
        from evaluators import confine

        confine.confine = raises(OSError("no such limit"))
        return tsp.run(heuristic, instances)

    with Sandbox(dataclasses.replace(tsp, run=run)) as sandbox:
        with pytest.raises(SandboxError) as caught:
            sandbox.submit(NEAREST).result(timeout=60)
        assert_one_line(caught.value, "confined", "no such limit")


def test_limits_grow_with_the_work_of_a_split() -> None:
    """The training limit applies to training; 1000 test instances get 1000/64 of it; never less than it."""
    assert scaled_limit(tsp, "train", 50, 2.0) == 2.0
    assert scaled_limit(tsp, "val", 20, 2.0) == 2.0
    assert scaled_limit(tsp, "test", 50, 2.0) == pytest.approx(2.0 * 1000 / 64)
    assert scaled_limit(tsp, "test", 200, 86400.0) == 86400.0
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
