"""A worker process (``evaluators.worker``) as the main process holds it."""

import contextlib
import json
import os
import signal
import threading
import time
from typing import Any

from multiprocess.connection import Pipe

from evaluators import frames
from evaluators.job import Job
from evaluators.launch import CleanProcess
from evaluators.layers import Layer
from evaluators.task import COMPILE_SECONDS, Task
from evaluators.watch import wall_cap
from evaluators.worker import Order, packed, serve

START_LIMIT = 120.0
"""Seconds a worker may take to load a problem (the first ever also compiles its loops)."""


class WorkerDied(Exception):
    """It has ended, stopped answering, or talks nonsense."""


class WorkerProcess:
    """One worker process and the pipe to it. Nothing that comes out of the pipe is unpickled."""

    def __init__(self, problem: Task, memory_mb: int, layers: frozenset[Layer], slot: int) -> None:
        self._connection, theirs = Pipe()
        self._child = 0
        self._referee = 0
        apart = (problem.function, problem.arguments) if problem.apart else None
        order = Order(problem.origin, apart, memory_mb, slot, layers)
        self._process: Any = CleanProcess(target=serve, args=(order, theirs), daemon=True)
        self._process.start()
        self.pid: int = self._process.pid
        theirs.close()
        self._lock = threading.Lock()
        with contextlib.suppress(OSError):  # who waits for its first answer will learn that it is gone
            self._connection.send_bytes(packed(problem))

    @property
    def pids(self) -> list[int]:
        """Its process, and its referee's where it has one."""
        return [self.pid] + [self._referee] * (self._referee > 0)

    def ready(self) -> bytes:
        """Its first answer.

        Raises:
            WorkerDied: there is none.
        """
        answer = self._answer(START_LIMIT)
        self._referee = int(json.loads(answer.partition(b"\n")[0]).get("referee", 0))
        return answer

    def _answer(self, seconds: float) -> bytes:
        """A line and the frame that belongs to it.

        Raises:
            WorkerDied: they do not come, or talk nonsense.
        """
        line = self.receive(seconds)
        try:
            size = int(json.loads(line)["size"])
        except (ValueError, KeyError, TypeError):
            raise WorkerDied("it talks nonsense") from None
        blocks, left = [line, b"\n"], min(max(size, 0), 2 * frames.MAX_FRAME)
        while left:
            try:
                blocks.append(os.read(self._connection.fileno(), left))
            except OSError as error:
                raise WorkerDied("it hung up") from error
            if not blocks[-1]:
                raise WorkerDied("it hung up")
            left -= len(blocks[-1])
        return b"".join(blocks)

    def receive(self, seconds: float) -> bytes:
        try:
            if not self._connection.poll(seconds):
                raise WorkerDied(f"no answer for {seconds:.0f} s")
            return bytes(self._connection.recv_bytes(2 * frames.MAX_FRAME))
        except (EOFError, OSError) as error:
            self._process.join(1.0)
            code = self._process.exitcode
            raise WorkerDied(f"exit code {code}" if code is not None else "it hung up") from error

    def run(self, job: Job, compiled: bool) -> bytes:
        """Have a job done; the ending and the frame.

        Raises:
            WorkerDied: the worker did not survive it, stopped answering or talks nonsense.
        """
        try:
            order = (job.source, job.split, job.size, job.first, len(job.instances), job.limit, compiled)
            self._connection.send_bytes(json.dumps(order).encode())
        except OSError as error:
            raise WorkerDied("it hung up") from error
        started = self.receive(START_LIMIT)
        try:
            self._child = int(json.loads(started)["pid"])
        except (ValueError, KeyError, TypeError):
            raise WorkerDied("it talks nonsense") from None
        answer = self._answer(wall_cap(job.limit + COMPILE_SECONDS * compiled) + START_LIMIT)
        self._child = 0
        return answer

    def stop(self) -> None:
        """End the worker, its candidate and the candidate's process group. May be called twice."""
        with self._lock:
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
