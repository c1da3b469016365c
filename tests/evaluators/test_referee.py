"""A loop and its candidate in two processes: the same results, nothing of the loop in reach, clear blame."""

import contextlib
import dataclasses
import os
import signal
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from evaluators import frames, questions
from evaluators.layers import Mode
from evaluators.outcome import Outcome, SandboxError, Status
from evaluators.sandbox import Sandbox
from problems.problem import Problem
from problems.registry import load, names
from problems.tsp import problem as tsp
from tests.evaluators.aftermath import eventually, leftovers

APART = [name for name in names() if load(name, None).apart]
RANDOM = {
    "bin-packing-online": "return np.random.rand(len(bins))",
    "job-shop": "import random\n    return random.randrange(len(times))",
    "tsp-gls": "return edge_distance * (1 + np.random.rand(*edge_distance.shape))",
}
CALL = "import numpy as np\ndef select_next_node(a, b, c, d):\n    "


def evaluate(problem: Problem, sources: list[str]) -> list[Outcome]:
    with Sandbox(problem) as sandbox:
        return [future.result() for future in [sandbox.submit(source) for source in sources]]


@pytest.mark.parametrize("name", APART)
def test_apart_decides_as_together(name: str) -> None:
    """Known heuristics, and one that draws random numbers, score what they score in the loop's process."""
    problem = load(name, None)
    random = (
        f"import numpy as np\ndef {problem.function}({', '.join(problem.arguments)}):\n    {RANDOM[name]}\n"
    )
    sources = [*problem.heuristics.values(), random]
    apart = evaluate(problem, sources)
    together = evaluate(dataclasses.replace(problem, apart=False), sources)
    assert [outcome.objective for outcome in apart] == [outcome.objective for outcome in together]
    assert all(outcome.ok for outcome in apart)


@pytest.mark.parametrize("name", APART)
def test_nothing_of_the_loop_is_in_the_candidate_s_process(name: str) -> None:
    """No module of a problem is loaded, and no array but small ones and the ones the candidate was given."""
    problem = load(name, None)
    search = (
        "import sys, gc\n    import numpy as np\n"
        "    problems = [n for n in sys.modules if n.split('.')[0] == 'problems']\n"
        "    arrays = [a for o in gc.get_objects() for a in [o, *(o.values() if type(o) is dict else o "
        "if type(o) in (list, tuple) else ())] if isinstance(a, np.ndarray) and a.size > 1000]\n"
        f"    mine = [id(a) for a in ({', '.join(problem.arguments)},)]\n"
        "    raise ValueError(problems, sum(id(a) not in mine for a in arrays), 'num' 'ba' in sys.modules)"
    )
    source = f"def {problem.function}({', '.join(problem.arguments)}):\n    {search}\n"
    (outcome,) = evaluate(problem, [source])
    assert "([], 0, False)" in outcome.detail


def told(heuristic: Callable[..., Any], instances: np.ndarray) -> np.ndarray:
    """Calls the heuristic once per instance; rows are its answer and the process of the loop."""
    return np.array([[heuristic(0, 0, each[0], each) + 0.0, os.getpid()] for each in instances])


def slow(heuristic: Callable[..., Any], instances: np.ndarray) -> np.ndarray:
    """Works longer between two calls than a candidate may take."""
    heuristic(0, 0, instances[0, 0], instances[0])
    end = time.process_time() + 1.5
    while time.process_time() < end:
        pass
    return told(heuristic, instances[:1])


def mean(instances: np.ndarray, decisions: np.ndarray) -> float:
    return float(decisions[:, 0].mean())


def of(run: Callable[..., Any]) -> Problem:
    """A problem whose loop is this, and whose objective is the mean answer."""
    known = {"one": CALL + "return 1\n"}
    return dataclasses.replace(
        tsp, heuristics=known, run=run, objective=mean, apart=True, compiled=None, redraw=None
    )


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    with Sandbox(of(told), memory_mb=512) as made:
        made.submit(CALL + "return 1\n").result()
        yield made


@pytest.mark.parametrize(
    ("text", "status", "detail"),
    [
        ("return 2", Status.OK, ""),
        ("return np.float32(2)", Status.OK, ""),
        ("return 1 / 0", Status.RUNTIME_ERROR, "line 3"),
        ("import os; os._exit(3)", Status.CRASHED, "exit code 3"),
        ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", Status.CRASHED, "SIGKILL"),
        ("raise SystemExit", Status.CRASHED, "sys.exit"),
        ("import time; time.sleep(60)", Status.TIMEOUT, "used its"),
        ("while True: pass", Status.TIMEOUT, "used its"),
        ("return 'two'", Status.INVALID_SOLUTION, "str"),
        ("return None", Status.INVALID_SOLUTION, "NoneType"),
        ("return [1, [2]]", Status.INVALID_SOLUTION, "no array"),
        ("return 2**63", Status.INVALID_SOLUTION, "64 bits"),
        ("return np.ma.masked", Status.INVALID_SOLUTION, "masked"),
        ("d[0] = 1; return 1", Status.RUNTIME_ERROR, "read-only"),
        ("return bytearray(10**10)[0]", Status.MEMORY, "memory"),
        ("return np.zeros(9_000_000)", Status.RUNTIME_ERROR, "too large"),
    ],
)
def test_each_failure_has_its_outcome(sandbox: Sandbox, text: str, status: Status, detail: str) -> None:
    """Failures have the outcome that they have in a loop's own process; no process of them is left, and the
    next candidate is as well off as the first."""
    outcome = sandbox.submit(
        CALL + text + "\n", time_limit=0.5 if status is Status.TIMEOUT else 30.0
    ).result()
    assert (outcome.status, detail in outcome.detail) == (status, True), outcome
    assert sandbox.submit(CALL + "return 1\n").result().objective == 1.0
    assert eventually(lambda: not leftovers(sandbox.pids))


HOLDS_ITS_END = """
import array, os, socket, struct, time
one = struct.pack("<4scQ", b"AHD1", b"A", 10) + b"i" + bytes(9)
for fd in range(3, 64):
    try: os.fstat(fd)
    except OSError: continue
    end = socket.socket(fileno=fd)
    os.write(fd, one * 3000)
    time.sleep(0.3)
    end.sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [fd]))])
    os._exit(0)
"""
"""Sends its own end of the channel into the channel, where it stays open, and leaves."""


@pytest.mark.parametrize("mode", [Mode.OFF, Mode.AUTO])
def test_a_channel_that_nobody_can_answer_is_closed(mode: Mode) -> None:
    """However the candidate's end is kept open, the loop ends soon after the candidate."""
    with Sandbox(load("job-shop", None), mode=mode) as sandbox:
        honest = sandbox.problem.heuristics["most work left"]
        expected = sandbox.submit(honest).result().objective
        began = time.monotonic()
        outcome = sandbox.submit(HOLDS_ITS_END, time_limit=1.0).result()
        assert time.monotonic() - began < 15.0
        assert outcome.status in (Status.OK, Status.FORBIDDEN), outcome  # its answers were decisions
        assert sandbox.submit(honest).result().objective == expected


def test_the_loop_s_own_work_is_not_counted() -> None:
    """A candidate that waits for its next question uses nothing of its time."""
    with Sandbox(of(slow)) as sandbox:
        outcome = sandbox.submit(CALL + "return 1\n", time_limit=0.5).result()
    assert outcome.ok, outcome


def test_a_referee_that_dies_costs_its_candidate_nothing(sandbox: Sandbox) -> None:
    """It is started again, and the candidate tried again."""
    worker, referee = sandbox.pids
    future = sandbox.submit(CALL + "import time; time.sleep(0.02); return 1\n")
    time.sleep(0.3)
    os.kill(referee, signal.SIGKILL)
    assert future.result().objective == 1.0
    assert worker not in sandbox.pids
    assert eventually(lambda: not leftovers(sandbox.pids))


def test_a_referee_that_dies_at_rest_is_started_again(sandbox: Sandbox) -> None:
    """The next candidate has a new one."""
    os.kill(sandbox.pids[1], signal.SIGKILL)
    assert sandbox.submit(CALL + "return 1\n").result().objective == 1.0


def fails(heuristic: Callable[..., Any], instances: np.ndarray) -> np.ndarray:
    raise LookupError("no loop")


def leaves(heuristic: Callable[..., Any], instances: np.ndarray) -> np.ndarray:
    os._exit(0)


def gives_objects(heuristic: Callable[..., Any], instances: np.ndarray) -> np.ndarray:
    return np.array([heuristic(0, 0, "no number", instances[0])])


@pytest.mark.parametrize(
    ("run", "what"),
    [(fails, "LookupError: no loop"), (gives_objects, "ValueError: a str"), (leaves, "start")],
)
def test_a_problem_that_fails_is_at_fault(run: Callable[..., Any], what: str) -> None:
    """A loop that cannot run the simplest heuristic, or gives what cannot be sent, is the problem's fault, in
    one line."""
    with Sandbox(of(run)) as sandbox, pytest.raises(SandboxError, match=what):
        sandbox.submit(CALL + "return 1\n").result()


def test_many_candidates_leave_nothing_open(sandbox: Sandbox) -> None:
    """Descriptors of worker and referee are as many after two hundred candidates as after two."""

    def open_descriptors() -> list[int]:
        return [len(os.listdir(f"/proc/{pid}/fd")) for pid in sandbox.pids]

    def run(count: int) -> None:
        for text in ["return 1", "raise ValueError", "import os; os._exit(0)"] * count:
            sandbox.submit(CALL + text + "\n").result()

    run(2)
    before = open_descriptors()
    run(66)
    assert open_descriptors() == before


NUMBERS = arrays(
    st.sampled_from([np.int64, np.int32, np.float64, np.float32, np.bool_, np.uint8]),
    array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4),
)


@settings(deadline=None)
@given(
    st.lists(st.tuples(NUMBERS, st.booleans()) | st.integers(-(2**63), 2**63 - 1) | st.floats(), max_size=4)
)
def test_questions_arrive_as_they_were_asked(arguments: list[Any]) -> None:
    """Numbers and arrays of any shape and type, twice; what was read-only stays so."""
    sent = []
    for each in arguments:
        if isinstance(each, tuple):
            array, writable = each
            each = array.copy()
            each.flags.writeable = writable
        sent.append(each)
    asking, answering = questions.Asking(), questions.Answering()
    for restart in (True, False):
        told_restart, got = answering.unpack(asking.pack(tuple(sent), restart))
        assert told_restart is restart
        for before, after in zip(sent, got, strict=True):
            np.testing.assert_array_equal(before, after)
            if isinstance(before, np.ndarray):
                assert (before.dtype, before.shape) == (after.dtype, after.shape)
                assert before.flags.writeable == after.flags.writeable


@given(NUMBERS)
def test_answers_arrive_as_numbers_of_64_bits(array: np.ndarray) -> None:
    """Values and shape are the same; booleans stay booleans."""
    back = frames.decode_answer(questions.answer(array))
    np.testing.assert_array_equal(back, array)
    assert back.dtype.kind == {"u": "i"}.get(array.dtype.kind, array.dtype.kind)


@given(st.binary(max_size=80))
def test_bytes_that_are_no_answer_are_bad_frames(noise: bytes) -> None:
    """Forged answers are an array or a ``BadFrame``."""
    whole = frames._HEADER.pack(b"AHD1", b"A", len(noise)) + noise
    with contextlib.suppress(frames.BadFrame):
        assert isinstance(frames.decode_answer(whole), np.ndarray)
