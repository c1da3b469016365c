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

from evaluators import confine, frames
from evaluators.judge import SandboxError, fault, judge
from evaluators.launch import ALLOWED, CleanProcess
from evaluators.outcome import Outcome, Status
from evaluators.task import MAX_SECONDS, Task, scaled_limit
from evaluators.worker import TICK, serve, wall_cap

MAX_SOURCE = 200_000
"""Most bytes of source a candidate may have."""
MEMORY_MB = (256, 1 << 20)
"""Least and most MiB a candidate can be given."""
START_LIMIT = 120.0
"""Seconds a worker may take to load a problem (the first ever also compiles its loops)."""
MAX_WORKERS = 1024
STARTS = 3
ATTEMPTS = 2
"""How often a candidate is tried when its worker dies under it."""


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

    Raises:
        ValueError: no workers, a time limit that is not above 0 and at most ``MAX_SECONDS``, or memory
            outside ``MEMORY_MB``.
    """

    def __init__(
        self, problem: Task, *, workers: int = 1, memory_mb: int = 2048, time_limit: float | None = None
    ) -> None:
        self.problem = problem
        self.memory_mb = memory_mb
        self.time_limit = _seconds(problem.time_limit if time_limit is None else time_limit)
        if not MEMORY_MB[0] <= memory_mb <= MEMORY_MB[1]:
            raise ValueError(f"memory_mb={memory_mb}: needs a value from {MEMORY_MB[0]} to {MEMORY_MB[1]}")
        if not 1 <= workers <= MAX_WORKERS:
            raise ValueError(f"workers={workers}: needs a value from 1 to {MAX_WORKERS}")
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
            ValueError: the problem has no such split or size, or the time limit is out of range.
            SandboxError: (at once or from the future) the problem or the sandbox does not work.
            RuntimeError: the sandbox is closed.
        """
        if split not in self.problem.sizes:
            raise ValueError(f"{self.problem.name} has no split {split}: use {', '.join(self.problem.sizes)}")
        offered = self.problem.sizes[split]
        size = offered[0] if size is None else size
        if size not in offered:
            sizes = ", ".join(map(str, offered))
            raise ValueError(f"{self.problem.name} has no {split} instances of size {size}: use {sizes}")
        try:
            instances = self.problem.instances(split, size)
            limit = scaled_limit(self.problem, split, size, self.time_limit)
        except (Exception, SystemExit) as error:
            raise fault(self.problem, f"its instances fail with {frames.one_line(error)}") from error
        limit = limit if time_limit is None else _seconds(time_limit)
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


def _seconds(limit: float) -> float:
    if not 0 < limit <= MAX_SECONDS:
        raise ValueError(f"time_limit={limit}: needs a value above 0 and at most {MAX_SECONDS:g}")
    return limit


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
        self._number = number
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
                try:
                    if failure is not None:
                        raise failure
                    outcome = self._evaluate(job)
                except SandboxError as error:
                    job.future.set_exception(error)
                except BaseException as error:  # whoever waits for the future has to be told
                    self._drop_worker()
                    job.future.set_exception(SandboxError(f"the sandbox fails: {frames.one_line(error)}"))
                else:
                    job.future.set_result(outcome)
        finally:
            self._drop_worker()

    def _drop_worker(self) -> None:
        worker, self.worker = self.worker, None
        if worker is not None:
            worker.stop()

    def _start(self) -> SandboxError | None:
        """Make sure there is a worker; what is wrong if there cannot be one."""
        try:
            return self._try_to_start()
        except BaseException as error:
            self._drop_worker()
            return SandboxError(f"the sandbox worker cannot be started: {frames.one_line(error)}")

    def _try_to_start(self) -> SandboxError | None:
        failure: SandboxError | None = None
        for _ in range(STARTS):
            if self.worker is not None or self._sandbox._closed.is_set():
                return None
            worker = _Worker(self._sandbox.problem, self._sandbox.memory_mb, self._number)
            self.worker = worker
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
            self._drop_worker()
        return failure

    def _evaluate(self, job: _Job) -> Outcome:
        """The outcome of a job.

        A worker may die of its candidate or of something else, such as a machine short of memory. So
        the candidate is tried again on a fresh one, and has ``crashed`` only if that dies as well.

        Raises:
            SandboxError: the problem or the sandbox does not work.
        """
        detail, seconds = "", 0.0
        for _ in range(ATTEMPTS):
            failure = self._start()
            if failure is not None:
                raise failure
            worker, start = self.worker, time.monotonic()
            if worker is None or self._sandbox._closed.is_set():
                break
            try:
                answer = worker.run(job)
            except _WorkerDied as error:
                detail, seconds = f"the worker process died: {error}", time.monotonic() - start
                self._drop_worker()
            else:
                status, text, objective = judge(self._sandbox.problem, job.instances, answer)
                return Outcome(status, objective, text, time.monotonic() - start)
        if self._sandbox._closed.is_set():
            detail = "the sandbox was closed"
        return Outcome(Status.CRASHED, None, detail, seconds)


class _Worker:
    """One worker process and the pipe to it. Nothing that comes out of the pipe is unpickled."""

    def __init__(self, problem: Task, memory_mb: int, slot: int) -> None:
        self._connection, theirs = Pipe()
        self._child = 0
        task = None if problem.origin else problem
        self._process: Any = CleanProcess(
            target=serve, args=(task, problem.origin, memory_mb, slot, theirs), daemon=True
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
            # not join(1.0): the worker has closed its sentinel, so that would wait without a limit
            deadline = time.monotonic() + 1.0
            while process.exitcode is None and time.monotonic() < deadline:
                time.sleep(0.005)
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
        "user": f"{confine.NOBODY} minus the worker's number (from 0), because this is root"
        if root
        else "your own, without new privileges",
        "environment": f"empty; the worker keeps {', '.join(ALLOWED)} where set",
        "source": f"at most {MAX_SOURCE // 1000} kB",
        "result": f"one frame of at most {frames.MAX_FRAME >> 20} MiB; "
        f"text at most {frames.MAX_TEXT} characters",
    }
