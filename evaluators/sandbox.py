"""Scores candidates without trusting them: separate processes, typed outcomes, objective outside."""

import contextlib
import json
import os
import queue
import signal
import threading
import time
from concurrent.futures import Future
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self

import numpy as np
from multiprocess.connection import Pipe

from evaluators import frames
from evaluators.launch import ALLOWED, CleanProcess
from evaluators.outcome import InvalidSolution, NonFinite, Outcome, Status
from evaluators.task import Task, scaled_limit
from evaluators.worker import TICK, serve, wall_cap

MAX_SOURCE = 200_000
"""Most bytes of source a candidate may have."""
START_LIMIT = 120.0
"""Seconds a worker may take to load a problem (the first ever also compiles its loops)."""
STARTS = 3


class SandboxError(RuntimeError):
    """The sandbox itself does not work: the worker cannot load the problem or cannot start."""


class _WorkerDied(Exception):
    pass


@dataclass(frozen=True)
class _Job:
    source: str
    split: str
    size: int
    limit: float
    instances: np.ndarray
    future: "Future[Outcome]"


class Sandbox:
    """Runs candidates for one problem.

    ``workers`` candidates run at a time, each with ``memory_mb`` MiB beyond what its warm parent maps.
    ``time_limit`` is CPU seconds on the training instances (default: the problem's own) and grows
    with the work of other splits. Workers start at once, in the background.

    Usable from any thread; a context manager.
    """

    def __init__(
        self, problem: Task, *, workers: int = 1, memory_mb: int = 2048, time_limit: float | None = None
    ) -> None:
        self.problem = problem
        self.memory_mb = memory_mb
        self.time_limit = time_limit or problem.time_limit
        self._jobs: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._closed = threading.Event()
        self._submitting = threading.Lock()
        self._slots = [_Slot(self, number) for number in range(workers)]

    def submit(
        self, source: str, split: str = "train", size: int | None = None, time_limit: float | None = None
    ) -> "Future[Outcome]":
        """Evaluate ``source``; the future never raises for anything the candidate does.

        ``size`` defaults to the split's first; ``time_limit`` is CPU seconds for this evaluation.

        Raises:
            ValueError: the problem has no such split or size.
            SandboxError: (from the future) the worker cannot load the problem.
            RuntimeError: the sandbox is closed.
        """
        if split not in self.problem.sizes:
            raise ValueError(f"{self.problem.name} has no split {split}: use {', '.join(self.problem.sizes)}")
        size = size or self.problem.sizes[split][0]
        instances = self.problem.instances(split, size)
        limit = time_limit or scaled_limit(self.problem, split, size, self.time_limit)
        future: Future[Outcome] = Future()
        rejected = _unreadable(source)
        if rejected:
            future.set_result(Outcome(Status.SYNTAX_ERROR, detail=rejected))
        else:
            with self._submitting:
                if self._closed.is_set():
                    raise RuntimeError("the sandbox is closed")
                self._jobs.put(_Job(source, split, size, limit, instances, future))
        return future

    @property
    def pids(self) -> list[int]:
        """Process ids of the workers alive now."""
        workers = [slot.worker for slot in self._slots]
        return [worker.pid for worker in workers if worker is not None]

    def close(self) -> None:
        """Cancel what waits, kill what runs, end the workers."""
        with self._submitting:
            if self._closed.is_set():
                return
            self._closed.set()
        try:
            while True:
                job = self._jobs.get_nowait()
                if job is not None:
                    job.future.cancel()
        except queue.Empty:
            pass
        for _ in self._slots:
            self._jobs.put(None)
        for slot in self._slots:
            slot.stop()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _unreadable(source: str) -> str:
    """Why ``source`` cannot even be sent to a worker, or nothing."""
    try:
        size = len(source.encode())
    except UnicodeEncodeError:
        return "is not valid Unicode text"
    if size > MAX_SOURCE:
        return f"is longer than {MAX_SOURCE} bytes"
    return "contains null bytes" if "\0" in source else ""


class _Slot:
    """A thread that owns one worker process. It is also the thread that the worker dies with."""

    def __init__(self, sandbox: Sandbox, number: int) -> None:
        self._sandbox = sandbox
        self.worker: _Worker | None = None
        self._thread = threading.Thread(target=self._serve, name=f"sandbox-{number}", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        worker = self.worker
        if worker is not None:
            worker.stop()
        if threading.current_thread() is not self._thread:
            self._thread.join()

    def _serve(self) -> None:
        try:
            while not self._sandbox._closed.is_set():
                failure = self._start()
                job = self._sandbox._jobs.get()
                if job is None:
                    return
                if not job.future.set_running_or_notify_cancel():
                    continue
                if failure is not None:
                    job.future.set_exception(failure)
                else:
                    job.future.set_result(self._evaluate(job))
        finally:
            if self.worker is not None:
                self.worker.stop()

    def _start(self) -> SandboxError | None:
        """Make sure there is a worker; what is wrong if there cannot be one."""
        failure = None
        for _ in range(STARTS):
            if self.worker is not None or self._sandbox._closed.is_set():
                return None
            worker = self.worker = _Worker(self._sandbox.problem, self._sandbox.memory_mb)
            try:
                answer = worker.receive(START_LIMIT)
            except _WorkerDied as error:
                failure = SandboxError(f"the sandbox worker does not start: {error}")
            else:
                if b"ready" in answer:
                    return None
                reason = json.loads(answer)["failed"]
                name = self._sandbox.problem.name
                failure = SandboxError(f"the sandbox worker cannot load {name}: {reason}")
            worker.stop()
            self.worker = None
        return failure

    def _evaluate(self, job: _Job) -> Outcome:
        worker = self.worker
        if worker is None:
            return Outcome(Status.CRASHED, detail="the sandbox was closed")
        start = time.monotonic()
        try:
            answer = worker.run(job)
        except _WorkerDied as error:
            worker.stop()
            self.worker = None
            closed = self._sandbox._closed.is_set()
            detail = "the sandbox was closed" if closed else f"the worker process died: {error}"
            status, objective = Status.CRASHED, None
        else:
            status, detail, objective = _judge(self._sandbox.problem, job.instances, answer)
        return Outcome(status, objective, detail, time.monotonic() - start)


class _Worker:
    """One worker process and the pipe to it. Nothing that comes out of the pipe is unpickled."""

    def __init__(self, problem: Task, memory_mb: int) -> None:
        self._connection, theirs = Pipe()
        self._child = 0
        task = None if problem.origin else problem
        self._process: Any = CleanProcess(
            target=serve, args=(task, problem.origin, memory_mb, theirs), daemon=True
        )
        self._process.start()
        self.pid: int = self._process.pid
        theirs.close()
        self._lock = threading.Lock()

    def receive(self, seconds: float) -> bytes:
        try:
            if not self._connection.poll(seconds):
                raise _WorkerDied(f"no answer for {seconds:.0f} s")
            return bytes(self._connection.recv_bytes(2 * frames.MAX_FRAME))
        except (EOFError, OSError) as error:
            self._process.join(1.0)
            code = self._process.exitcode
            raise _WorkerDied(f"exit code {code}" if code is not None else "it hung up") from error

    def run(self, job: _Job) -> bytes:
        """Have a job done; the ending and the frame.

        Raises:
            _WorkerDied: the worker did not survive it, stopped answering or talks nonsense.
        """
        try:
            self._connection.send((job.source, job.split, job.size, job.limit))
        except OSError as error:
            raise _WorkerDied("it hung up") from error
        started = self.receive(START_LIMIT)
        try:
            self._child = int(json.loads(started)["pid"])
        except (ValueError, KeyError, TypeError):
            raise _WorkerDied("it talks nonsense") from None
        answer = self.receive(wall_cap(job.limit) + START_LIMIT)
        self._child = 0
        return answer

    def stop(self) -> None:
        """End the worker, its candidate and the candidate's process group. May be called twice."""
        with self._lock:
            if self._process is None:
                return
            process, self._process = self._process, _Gone()
            if isinstance(process, _Gone):
                return
            process.terminate()
            process.join(1.0)
            if process.exitcode is None:
                process.kill()
                process.join()
            if process.exitcode != 0 and self._child > 0:
                with contextlib.suppress(OSError):
                    os.killpg(self._child, signal.SIGKILL)


class _Gone:
    exitcode = None

    def join(self, timeout: float) -> None:
        return


def _judge(problem: Task, instances: np.ndarray, answer: bytes) -> tuple[Status, str, float | None]:
    """Turn a worker's answer into an outcome; the objective comes from the decisions alone."""
    line, _, frame = answer.partition(b"\n")
    ending = json.loads(line)
    how, code, text = ending["how"], ending["code"], frames.clean(ending["text"])
    if how in ("timeout", "starved"):
        return Status.TIMEOUT, text, None
    if how == "exit":
        return Status.CRASHED, f"left the process with exit code {code}", None
    if how == "signal":
        try:
            name = signal.Signals(code).name
        except ValueError:
            name = str(code)
        return Status.CRASHED, f"was killed by {name}", None
    if how != "frame":
        return Status.CRASHED, text, None
    try:
        result = frames.decode(frame)
    except frames.BadFrame as error:
        return Status.CRASHED, str(error), None
    if isinstance(result, tuple):
        return *result, None
    try:
        objective = float(problem.objective(instances, result))
    except InvalidSolution as error:
        return Status.INVALID_SOLUTION, frames.clean(str(error)), None
    except NonFinite as error:
        return Status.NONFINITE, frames.clean(str(error)), None
    except Exception as error:
        text = frames.clean(f"the decisions cannot be verified: {type(error).__name__}: {error}")
        return Status.INVALID_SOLUTION, text, None
    if not np.isfinite(objective):
        return Status.NONFINITE, f"the objective is {objective}", None
    return Status.OK, "", objective


def describe() -> dict[str, str]:
    """The limits in force, for people: name and what it means."""
    root = os.geteuid() == 0
    return {
        "process": "one per candidate, forked from a warm worker spawned by multiprocess",
        "deadline": "CPU time plus time asleep; "
        f"wall time at most {wall_cap(10.0):.0f} s for a limit of 10 s; looked at every {TICK * 1000:.0f} ms",
        "killed": "the whole process group and every descendant, also after a result",
        "memory": "address space of the warm worker plus --memory-mb",
        "files": "no growth (RLIMIT_FSIZE 0), 64 descriptors, input and output to /dev/null",
        "processes": "none beside its own, no threads (RLIMIT_NPROC 0)",
        "user": "nobody (65534), because this is root" if root else "your own, without new privileges",
        "environment": f"empty; the worker keeps {', '.join(ALLOWED)} where set",
        "source": f"at most {MAX_SOURCE // 1000} kB",
        "result": f"one frame of at most {frames.MAX_FRAME >> 20} MiB; "
        f"text at most {frames.MAX_TEXT} characters",
    }
