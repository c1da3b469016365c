"""The process that runs the loop of a problem and asks the candidate, which is in another one, call by call.

Where the loop knows more than the candidate may see, such as items still to come, what it knows must not be
in the candidate's memory. So the worker that forks candidates loads neither the problem nor an instance; a
process forked from it at the start, this one, does, and runs the loop. The worker goes on to watch, and to
collect the result, which now comes from here.
"""

import contextlib
import json
import os
import select
import signal
import socket
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np

from evaluators import candidate, confine, frames, questions
from evaluators.outcome import Status
from evaluators.pipes import write_all
from evaluators.task import Task
from evaluators.unforked import Unforked
from evaluators.watch import CONFINED, STUCK, Stuck

_DONE = b"."


class RefereeIsGone(EOFError):
    """The process has ended, which no candidate can be blamed for."""


@dataclass(frozen=True)
class Referee:
    """The worker's side."""

    pid: int
    control: socket.socket

    def begin(self, job: tuple[str, int, int, int], channel: int, results: int) -> None:
        """Have the candidate at the other end of ``channel`` asked about instances, (split, size, first,
        count). What ``watch`` expects is written to the pipe ``results``."""
        socket.send_fds(self.control, [json.dumps(job).encode()], [channel, results])

    def wait(self) -> None:
        """Until it has done with a candidate that has ended.

        Raises:
            RefereeIsGone, Stuck: it will never.
        """
        if not select.select([self.control], [], [], STUCK)[0]:
            raise Stuck
        if self.control.recv(1) != _DONE:
            raise RefereeIsGone


def start(load: Callable[[], tuple[Task | None, bytes]], kept: Unforked) -> Referee:
    """A new one for the problem that ``load`` loads there. What it says of that is put into ``kept``. Without
    a problem, it does not stay.

    Raises:
        RefereeIsGone: it did not get that far.
    """
    control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    answers, answered = os.pipe()
    parent = os.getpid()
    pid = os.fork()
    if pid == 0:
        _run(parent, load, theirs, answered)
    theirs.close()
    os.close(answered)
    while kept.read(answers):
        pass
    os.close(answers)
    if not kept.used:
        raise RefereeIsGone
    return Referee(pid, control)


def _run(
    parent: int, load: Callable[[], tuple[Task | None, bytes]], control: socket.socket, answered: int
) -> NoReturn:
    try:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        confine.die_with_parent()
        if os.getppid() == parent:
            task, first = load()
            write_all(answered, first)
            os.close(answered)
            confine.close_descriptors(control.fileno())
            while task is not None:
                job, passed, _, _ = socket.recv_fds(control, 1 << 12, 2)
                if not job:
                    break
                _referee(task, json.loads(job), *passed)
                control.send(_DONE)
    finally:
        os._exit(0)


def _referee(task: Task, job: list[Any], channel: int, results: int) -> None:
    try:
        write_all(results, result(task, job, channel, results))
    except BrokenPipeError:  # the candidate has been ended, and nobody waits any more
        pass
    finally:
        os.close(channel)
        os.close(results)


def unavailable(split: str, size: int, error: BaseException) -> str:
    """That a problem has failed to give its instances."""
    return f"instances({split!r}, {size}) fails with {frames.one_line(error)}"


def result(task: Task, job: list[Any], channel: int, results: int) -> bytes:
    """What is to be told of the candidate at the other end of ``channel``: the frame of the decisions, or see
    ``Asked.failure``. That it has begun is told at once, through ``results``."""
    split, size, first, count = job
    try:
        instances = task.instances(split, size)[first : first + count]
    except BaseException as error:
        return unavailable(split, size, error).encode("utf-8", "replace")
    stream = questions.Stream(channel)
    try:
        mark = stream.read(len(CONFINED))
        if mark != CONFINED:
            return mark + stream.rest()
    except questions.Closed:
        return b""
    write_all(results, CONFINED)
    asked = Asked(channel, stream)
    decisions = candidate.caught(lambda: frames.encode_decisions(np.asarray(task.run(asked, instances))))
    return decisions if asked.failure is None else asked.failure


def across(heuristic: Callable[..., Any]) -> Callable[..., Any]:
    """``heuristic`` as a loop sees it that asks from another process, and as it sees the loop.

    Raises (when called):
        ValueError: the loop gives what cannot be sent.
        InvalidSolution: the heuristic returns what cannot be sent.
    """
    asking, answering = questions.Asking(), questions.Answering()

    def asked(*arguments: Any) -> Any:
        _, given = answering.unpack(asking.pack(arguments, False))
        return _plain(frames.decode_answer(questions.answer(heuristic(*given))))

    return asked


def _plain(answer: np.ndarray) -> Any:
    return answer if answer.ndim else answer[()]


class Over(BaseException):
    """The candidate has failed."""


class Asked:
    """A heuristic that answers from another process.

    ``failure`` is None, or what is to be told instead of decisions: the frame of a failure, nothing of a
    candidate that has ended, and less than a frame of one that ended in the middle of one. It never has the
    bytes of a candidate's in it but those of a whole frame of failure: decisions are the loop's.
    """

    def __init__(self, channel: int, stream: questions.Stream) -> None:
        self._channel = channel
        self._stream = stream
        self._asking = questions.Asking()
        self._restart = False
        self.failure: bytes | None = None

    def restart(self) -> None:
        """Start the candidate's random state anew before the next call."""
        self._restart = True

    def __call__(self, *arguments: Any) -> Any:
        """What the candidate answers: a number, or an array of numbers of its own choice.

        Raises:
            Over: it has failed, now or before.
        """
        if self.failure is None:
            try:
                return self._ask(self._asking.pack(arguments, self._restart))
            except questions.Closed as error:
                self.failure = b"?" * error.midway
            except frames.BadFrame as error:
                self.failure = frames.encode_error(Status.CRASHED, str(error))
        raise Over

    def _ask(self, question: bytes) -> Any:
        self._restart = False
        with contextlib.suppress(ConnectionError):  # it may have told why it ended
            write_all(self._channel, questions.sized(question))
        frame = questions.read_frame(self._stream)
        if frames.is_error(frame):
            self.failure = frame
            raise Over
        return _plain(frames.decode_answer(frame))
