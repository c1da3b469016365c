"""Scores candidates without trusting them: separate processes, typed outcomes, objective outside."""

import contextlib
import json
import math
import os
import queue
import signal
import threading
import time
from collections.abc import Mapping
from concurrent.futures import Future
from dataclasses import dataclass, replace
from types import TracebackType
from typing import Self

import numpy as np

from evaluators import confine, frames, layers
from evaluators.job import Job
from evaluators.judge import decided, fault, judge
from evaluators.launch import ALLOWED
from evaluators.layers import Mode
from evaluators.outcome import Outcome, SandboxError, Status
from evaluators.probe import Probe, behaviour
from evaluators.task import MAX_SECONDS, Task, scaled_limit
from evaluators.watch import TICK, wall_cap
from evaluators.worker_process import WorkerDied, WorkerProcess

MAX_SOURCE = 200_000
"""Most bytes of source a candidate may have."""
MEMORY_MB = (256, 1 << 20)
"""Least and most MiB a candidate can be given."""
MAX_WORKERS = 1024
STARTS = 3
ATTEMPTS = 2
"""How often a candidate is tried when its worker dies under it."""
COMPILED_FROM = 256
"""Fewest instances for which a candidate may be compiled."""
PATIENCE = 5.0
"""CPU seconds a candidate gets interpreted before it is compiled: most need fewer than compiling takes."""


class Sandbox:
    """Runs candidates for one problem.

    ``workers`` candidates run at a time, each with ``memory_mb`` MiB beyond what its warm parent maps.
    ``time_limit`` is CPU seconds on the training instances (default: the problem's own) and grows
    with the work of other splits. ``mode`` says how much confinement is insisted on; ``layers`` are those in
    force. Workers start at once, in the background.

    Usable from any thread; a context manager.

    Raises:
        ValueError: no workers, a time limit that is not above 0 and at most ``MAX_SECONDS``, or memory
            outside ``MEMORY_MB``.
        LayerMissing: ``mode`` is strict and this machine lacks a layer.
    """

    def __init__(
        self,
        problem: Task,
        *,
        workers: int = 1,
        memory_mb: int = 2048,
        time_limit: float | None = None,
        mode: Mode = Mode.AUTO,
    ) -> None:
        self.problem = problem
        self.layers = layers.chosen(mode)
        self.memory_mb = memory_mb
        self.time_limit = _seconds(problem.time_limit if time_limit is None else time_limit)
        if not MEMORY_MB[0] <= memory_mb <= MEMORY_MB[1]:
            raise ValueError(f"memory_mb={memory_mb}: needs a value from {MEMORY_MB[0]} to {MEMORY_MB[1]}")
        if not 1 <= workers <= MAX_WORKERS:
            raise ValueError(f"workers={workers}: needs a value from 1 to {MAX_WORKERS}")
        self._jobs: queue.SimpleQueue[Job | None] = queue.SimpleQueue()
        self._closed = threading.Event()
        self._submitting = threading.Lock()
        self._slots = [_Slot(self, number) for number in range(workers)]

    def submit(
        self,
        source: str,
        split: str = "train",
        size: int | None = None,
        time_limit: float | None = None,
        seed: int = 0,
        probe: Probe | None = None,
    ) -> "Future[Outcome]":
        """Evaluate ``source``; the future never raises for anything the candidate does.

        ``size`` defaults to the split's first; ``time_limit`` is CPU seconds for this evaluation;
        ``seed`` is that of the solver of a seeded problem. With a ``probe`` a candidate that fails on its
        instances, or that is known by what it decides there, is not evaluated on the others.

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
                self._jobs.put(Job(source, split, size, limit, instances, seed, future, probe=probe))
        return future

    @property
    def pids(self) -> list[int]:
        """Process ids of the workers alive now, and of their referees."""
        workers = [slot.worker for slot in self._slots]
        return [pid for worker in workers if worker is not None for pid in worker.pids]

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


def may_be_compiled(problem: Task, instances: np.ndarray) -> bool:
    """Whether there is a compiled form, and enough to do for it."""
    return problem.compiled is not None and len(instances) >= COMPILED_FROM


def _may_be_the_machines_fault(answer: bytes) -> bool:
    """Whether the candidate's process was ended by SIGKILL, before it ran or after, or got no core."""
    ending = json.loads(answer.partition(b"\n")[0])
    killed = ending["how"] in ("signal", "fault") and ending["code"] == signal.SIGKILL
    return bool(killed or ending["how"] == "starved")


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
        self.worker: WorkerProcess | None = None
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
            sandbox = self._sandbox
            worker = WorkerProcess(sandbox.problem, sandbox.memory_mb, sandbox.layers, self._number)
            self.worker = worker
            try:
                answer = worker.ready()
            except WorkerDied as error:
                failure = SandboxError(f"the sandbox worker does not start: {error}")
            else:
                if b"ready" in answer.partition(b"\n")[0]:
                    self._warm(answer)
                    return None
                told, problem = json.loads(answer.partition(b"\n")[0]), self._sandbox.problem
                if told["fault"]:
                    self._drop_worker()
                    return fault(problem, told["failed"])
                failure = SandboxError(f"the sandbox worker cannot load {problem.name}: {told['failed']}")
            self._drop_worker()
        return failure

    def _warm(self, answer: bytes) -> None:
        """Judge what the worker has decided to warm up: what the objective loads or compiles is there, then,
        before the first candidate is timed. What goes wrong will be told by those that count."""
        problem = self._sandbox.problem
        with contextlib.suppress(Exception):
            judge(problem, problem.instances("train", problem.sizes["train"][0])[:1], answer)

    def _evaluate(self, job: Job) -> Outcome:
        """The outcome of a job: of its parts, the mean objective, or the first failure.

        Raises:
            SandboxError: the problem or the sandbox does not work.
        """
        seconds, objectives, paths, seen = 0.0, [], set(), ""
        if job.probe is not None and (count := job.probe.count(len(job.instances))):
            found = self._look(replace(job, instances=job.instances[:count]), job.probe.known)
            if isinstance(found, Outcome):
                return found
            seen, seconds = found
        for part in job.parts(self._sandbox.problem.chunk):
            outcome = self._in_best_form(part)
            seconds += outcome.seconds
            if outcome.objective is None or len(part.instances) == len(job.instances):
                return replace(outcome, seconds=seconds, behaviour=seen)
            objectives.append(outcome.objective * len(part.instances))
            paths.add(outcome.path)
        path = paths.pop() if len(paths) == 1 else ""
        objective = math.fsum(objectives) / len(job.instances)
        return Outcome(Status.OK, objective, "", seconds, path, seen)

    def _look(self, job: Job, known: Mapping[str, float]) -> Outcome | tuple[str, float]:
        """The outcome of a candidate that fails on the instances of a job, or decides there as a known one;
        else its behaviour and the seconds it took.

        Raises:
            SandboxError: the problem or the sandbox does not work.
        """
        answer = self._answered(job, compiled=False)
        if isinstance(answer, Outcome):
            return answer
        decisions = decided(self._sandbox.problem, answer.frame)
        seconds = time.monotonic() - answer.start
        if isinstance(decisions, tuple):
            return Outcome(decisions[0], None, decisions[1], seconds, "interpreted")
        seen = behaviour(decisions)
        if seen not in known:
            return seen, seconds
        told = f"decides as an earlier candidate on {len(job.instances)} instances"
        return Outcome(Status.OK, known[seen], told, seconds, "interpreted", seen)

    def _in_best_form(self, job: Job) -> Outcome:
        """The outcome of the interpreted form; of the compiled one where that takes long and this is ok."""
        if not may_be_compiled(self._sandbox.problem, job.instances):
            return self._in_form(job, compiled=False)
        seconds = 0.0
        if PATIENCE > 0:
            outcome = self._in_form(replace(job, limit=min(job.limit, PATIENCE)), compiled=False)
            if outcome.status is not Status.TIMEOUT or job.limit <= PATIENCE:
                return outcome
            seconds = outcome.seconds
        for compiled in (True, False):
            outcome = self._in_form(job, compiled)
            seconds += outcome.seconds
            if outcome.ok:
                break
        return replace(outcome, seconds=seconds)

    def _in_form(self, job: Job, compiled: bool) -> Outcome:
        """The outcome of a job in one form.

        Raises:
            SandboxError: the problem or the sandbox does not work.
        """
        answer = self._answered(job, compiled)
        if isinstance(answer, Outcome):
            return answer
        status, text, objective = judge(self._sandbox.problem, job.instances, answer.frame, job.seed)
        path = "compiled" if compiled else "interpreted"
        return Outcome(status, objective, text, time.monotonic() - answer.start, path)

    def _answered(self, job: Job, compiled: bool) -> "_Answer | Outcome":
        """What a worker answers to a job; or the outcome of a candidate that none survives.

        A worker may die of its candidate or of something else, such as a machine short of memory, which
        may also kill the candidate's own process, or so busy that it never runs. So the candidate is tried
        again, on a fresh worker where that died, and has failed only if that happens again.

        Raises:
            SandboxError: the problem or the sandbox does not work.
        """
        detail, seconds = "", 0.0
        for attempt in range(ATTEMPTS):
            failure = self._start()
            if failure is not None:
                raise failure
            worker, start = self.worker, time.monotonic()
            if worker is None or self._sandbox._closed.is_set():
                break
            try:
                answer = worker.run(job, compiled)
            except WorkerDied as error:
                detail, seconds = f"the worker process died: {error}", time.monotonic() - start
                self._drop_worker()
            else:
                if attempt + 1 < ATTEMPTS and _may_be_the_machines_fault(answer):
                    continue
                return _Answer(answer, start)
        if self._sandbox._closed.is_set():
            detail = "the sandbox was closed"
        return Outcome(Status.CRASHED, None, detail, seconds, "compiled" if compiled else "interpreted")


@dataclass(frozen=True)
class _Answer:
    """What a worker answered to a job that was begun at ``start`` (of ``time.monotonic``)."""

    frame: bytes
    start: float


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
        "environment": f"empty; the worker starts with {', '.join(ALLOWED)} where set",
        "source": f"at most {MAX_SOURCE // 1000} kB",
        "result": f"one frame of at most {frames.MAX_FRAME >> 20} MiB; "
        f"text at most {frames.MAX_TEXT} characters",
    }
