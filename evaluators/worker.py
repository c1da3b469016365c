"""The warm parent ("zygote") of candidates: one per worker slot, it forks a process per candidate.

It loads the problem, its instances and the compiled solver loops once and never runs candidate code
itself; of a problem that is ``apart``, its referee loads them. What goes back to the main process is one JSON
line and the candidate's frame, byte for byte.
"""

import contextlib
import gc
import importlib
import json
import os
import signal
import socket
import sys
import sysconfig
import warnings
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from functools import cache
from typing import Any

import numpy as np
from multiprocess.reduction import ForkingPickler

from evaluators import candidate, confine, frames, landlock, referee, seccomp
from evaluators.confine import Confines
from evaluators.descendants import end_descendants, end_group
from evaluators.layers import Layer
from evaluators.pipes import write_all
from evaluators.referee import Referee, RefereeIsGone
from evaluators.task import COMPILE_SECONDS, Task, load_task_file
from evaluators.unforked import Unforked
from evaluators.watch import BEGIN, CONFINED, ROOM, Asker, Ending, MainIsGone, watch

READY = b"+"
"""What comes before the frame that a referee begins with, or else why it does not begin."""

PRELOADED = (
    *(
        "abc",
        "bisect",
        "cmath",
        "collections",
        "collections.abc",
        "contextlib",
        "copy",
        "dataclasses",
        "decimal",
    ),
    *(
        "enum",
        "fractions",
        "functools",
        "heapq",
        "itertools",
        "json",
        "math",
        "mmap",
        "numbers",
        "operator",
        "queue",
    ),
    *("random", "re", "statistics", "string", "time", "typing"),
    *("numpy.fft", "numpy.linalg", "numpy.ma", "numpy.polynomial", "numpy.random"),
)
"""Modules candidates find loaded; others they may be unable to read. Numba joins them when one names it: a
process that holds it is dearer to fork."""


@dataclass(frozen=True)
class Order:
    """What a worker is for.

    ``origin`` is the file of a problem that is not part of the package. ``apart`` has name and arguments of
    the function that candidates define, of a problem whose loop runs in another process than they; else None.
    """

    origin: str
    apart: tuple[str, tuple[str, ...]] | None
    memory_mb: int
    slot: int
    layers: frozenset[Layer]


def packed(task: Task) -> bytes:
    """``task`` as the first message of a connection: nothing where the worker has to read its file."""
    return b"" if task.origin else bytes(ForkingPickler.dumps(task))


def serve(order: Order, connection: Any) -> None:
    """Answer jobs from ``connection`` until it closes. The first message is the task (``packed``).

    A job is JSON, ``[source, split, size, first, count, limit, compiled]``: the candidate gets ``count``
    instances from number ``first`` on, and runs compiled or interpreted.

    First sends ``{"failed": reason, "fault": is it the problem's?}``, or that it is ready, its referee (if
    any) and what the simplest heuristic decides on the first training instance, as the ending and frame of a
    job; then for each job ``{"pid": child}`` (0 when there is none) and an ``Ending``, with the size of the
    frame that follows it.

    When the main process dies, so does the worker, even a stopped one. Without a candidate it is
    killed; while it has one it is woken (``SIGCONT``), finds its connection closed, and kills all its
    descendants before it goes.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, _leave)
    confine.die_with_parent()
    confine.adopt_orphans()
    confine.hide_memory()
    confine.close_descriptors(connection.fileno())
    try:
        _work(order, connection)
    except (EOFError, OSError, MainIsGone):
        pass
    finally:
        end_descendants()
        os._exit(0)


def _leave(number: int, frame: object) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    raise MainIsGone


def _work(order: Order, connection: Any) -> None:
    kept = Unforked(ROOM)
    try:
        preload()
        bench, line, frame = _bench(order, connection, kept)
        os.environ.clear()  # here rather than in every child, where it takes longer than all limits
        confines = layered(Confines(0, order.memory_mb << 20, 0.0, order.slot), order.layers)
        gc.collect()
        gc.freeze()
    except (MainIsGone, RefereeIsGone):
        raise
    except BaseException as error:
        _tell(connection, error.told if isinstance(error, _Failed) else failed(error))
        return
    _tell(connection, line, frame, len(READY))
    del frame  # or every candidate would find it here
    while True:
        kept.clear()
        job = _Job(*json.loads(connection.recv_bytes()))
        if "numba" in job.source:
            _warm_numba()
        seconds = job.limit + COMPILE_SECONDS * job.compiled
        used = confine.address_space() - kept.size
        own = replace(confines, used_bytes=used, cpu_seconds=seconds)
        try:
            ending = bench.evaluate(job, own, kept)
        except _NotStarted as error:
            connection.send_bytes(b'{"pid": 0}')
            ending = Ending("fault", text=str(error))
        if ending.how == "frame":
            _tell(connection, asdict(ending), kept, BEGIN)
        else:
            _tell(connection, asdict(ending))


def _bench(
    order: Order, connection: Any, kept: Unforked
) -> "tuple[_Together | _Apart, dict[str, Any], bytes | Unforked]":
    """Where candidates are evaluated, and what to say first: a line, and the frame behind ``READY``.

    Raises:
        RefereeIsGone: it does not start.
        BaseException: whatever the problem raises.
    """

    def load() -> Task:
        given = connection.recv_bytes()
        task: Task = ForkingPickler.loads(given) if given else load_task_file(order.origin)
        return task

    def loaded() -> tuple[Task | None, bytes]:
        try:
            task = load()
            return task, READY + simplest(task, referee.across, order.origin)
        except BaseException as error:
            return None, json.dumps(failed(error)).encode()

    line = {"ready": True, **asdict(Ending("frame"))}
    if order.apart is None:
        together = _Together(load(), connection)
        return together, line, READY + simplest(together.task, file=order.origin)
    confine.stay_on_one_core(order.slot)
    judge = referee.start(loaded, kept)
    if kept.copy(0, len(READY)) != READY:
        raise _Failed(json.loads(kept.copy(0, kept.used)))
    return _Apart(judge, *order.apart, connection), line | {"referee": judge.pid}, kept


class _Failed(Exception):
    """The problem failed where it was loaded, and ``told`` is what was said of it there."""

    def __init__(self, told: dict[str, Any]) -> None:
        super().__init__(told)
        self.told = told


class _Unfit(Exception):
    """What the problem is made of does not work, and the text says what."""


def failed(error: BaseException) -> dict[str, Any]:
    """What to say first when there will be no answers: why, and whether that is a fault of the problem."""
    if isinstance(error, _Unfit):
        return {"failed": frames.clean(str(error)), "fault": True}
    return {"failed": frames.one_line(error), "fault": False}


def _tell(connection: Any, line: dict[str, Any], frame: bytes | Unforked = b"", start: int = 0) -> None:
    """Send a line, with the size of the frame, and the frame, from ``start`` on. It is not copied from where
    no fork sees it."""
    if isinstance(frame, bytes):
        connection.send_bytes(json.dumps({**line, "size": len(frame[start:])}).encode())
        write_all(connection.fileno(), frame[start:])
    else:
        connection.send_bytes(json.dumps({**line, "size": frame.used - start}).encode())
        frame.write(connection.fileno(), start)


@dataclass(frozen=True)
class _Job:
    source: str
    split: str
    size: int
    first: int
    count: int
    limit: float
    compiled: bool


def simplest(
    task: Task,
    across: Callable[[Callable[..., Any]], Callable[..., Any]] | None = None,
    file: str = "",
) -> bytes:
    """The frame of what the simplest heuristic decides on the first training instance, asked by the loop
    itself or ``across`` processes. That also compiles the loops. ``file`` is where the problem is from.

    Raises:
        _Unfit: it decides nothing.
    """
    instances = task.instances("train", task.sizes["train"][0])
    name, source = next(iter(task.heuristics.items()))
    try:
        heuristic = candidate.load(source, task.function, task.arguments)
        decisions = np.asarray(task.run(across(heuristic) if across else heuristic, instances[:1]))
        frame = frames.encode_decisions(decisions)
    except MainIsGone:
        raise
    except BaseException as error:
        raise _Unfit(f"its known heuristic `{name}` {candidate.fault(error, file)}") from error
    sys.modules.pop("candidate", None)
    return frame


def preload() -> None:
    """Load what candidates may use, so that forks have it."""
    for name in PRELOADED:
        importlib.import_module(name)
    warnings.simplefilter("ignore")
    np.seterr(all="ignore")


@cache
def _warm_numba() -> None:
    """Compile something, so that forks find Numba and its compiler loaded."""
    from numba import njit

    for name in ("multiprocessing.synchronize", "numba.np.ufunc.parallel"):
        importlib.import_module(name)
    njit("float64[:](float64[:])")(lambda x: x + 1.0)
    gc.collect()
    gc.freeze()


def _warm_compiler(task: Task) -> None:
    """Compile a known heuristic, so that forks need not load the compiler. Where that fails, they try."""
    from evaluators import compiled

    with contextlib.suppress(Exception):
        compiled.warm(task)
    gc.collect()
    gc.freeze()


def layered(confines: Confines, layers: frozenset[Layer]) -> Confines:
    """``confines`` with what these layers need.

    Raises:
        OSError: the kernel refuses.
    """
    reading = Layer.LANDLOCK in layers
    return replace(
        confines,
        rules=landlock.ruleset(_libraries()) if reading else None,
        filter=seccomp.program(reading) if Layer.SECCOMP in layers else None,
    )


def _libraries() -> list[str]:
    """Where modules may be read from that a candidate imports late: the interpreter's and the installed ones,
    and the loops compiled here. Neither the working directory nor anyone's home as such."""
    installed = [sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")]
    native = [
        "/lib",
        "/lib64",
        "/usr/lib",
        "/usr/lib64",
        "/usr/local/lib",
        os.path.join(sys.base_prefix, "lib"),
    ]
    return [*installed, *native, os.path.dirname(__file__)]


class _NotStarted(Exception):
    """A candidate's process was never there, and the text says why."""


class _Together:
    """Loop and candidate in one process, forked with the instances."""

    def __init__(self, task: Task, connection: Any) -> None:
        self.task = task
        self._connection = connection
        self._instances: dict[tuple[str, int], np.ndarray] = {}
        self._compiles = False

    def evaluate(self, job: _Job, confines: Confines, kept: Unforked) -> Ending:
        given = self._given(job)
        if job.compiled and not self._compiles:
            _warm_compiler(self.task)
            self._compiles = True
        results, sink = os.pipe()
        try:
            child = _fork(lambda: write_all(sink, _frame(self.task, job, given)), sink, confines)
        finally:
            os.close(sink)
        return _collect(child, results, confines.cpu_seconds, self._connection, kept)

    def _given(self, job: _Job) -> np.ndarray:
        try:
            if (job.split, job.size) not in self._instances:
                self._instances[job.split, job.size] = self.task.instances(job.split, job.size)
            return self._instances[job.split, job.size][job.first : job.first + job.count]
        except MainIsGone:
            raise
        except BaseException as error:
            raise _NotStarted(referee.unavailable(job.split, job.size, error)) from None


class _Apart:
    """The candidate in a process that was never given what the loop knows; the referee asks it."""

    def __init__(self, judge: Referee, function: str, arguments: tuple[str, ...], connection: Any) -> None:
        self._referee = judge
        self._function, self._arguments = function, arguments
        self._connection = connection

    def evaluate(self, job: _Job, confines: Confines, kept: Unforked) -> Ending:
        results, sink = os.pipe()
        asking, answering = socket.socketpair()
        channel = answering.fileno()

        def answer() -> None:
            candidate.answer(self._function, self._arguments, job.source, channel)

        def hang_up() -> None:
            with contextlib.suppress(OSError):
                asking.shutdown(socket.SHUT_RDWR)

        with asking:
            with answering, os.fdopen(sink, "wb"):
                child = _fork(answer, channel, confines)
                self._referee.begin((job.split, job.size, job.first, job.count), asking.fileno(), sink)
            who = Asker(self._referee.pid, hang_up)
            ending = _collect(child, results, confines.cpu_seconds, self._connection, kept, who)
            hang_up()  # whoever else may hold the candidate's end
        self._referee.wait()
        return ending


def _frame(task: Task, job: _Job, instances: np.ndarray) -> bytes:
    if not job.compiled:
        return candidate.evaluate(task, job.source, instances)
    from evaluators import compiled

    return compiled.evaluate(task, job.source, instances)


def _fork(body: Callable[[], None], sink: int, confines: Confines) -> int:
    """The process of a candidate. It has no descriptor but ``sink``, and does what ``body`` does.

    Raises:
        _NotStarted: the system refuses.
    """
    parent = os.getpid()
    confine.die_with_parent(signal.SIGCONT)
    gc.disable()
    try:
        child = os.fork()
    except OSError as error:
        raise _NotStarted(f"no process can be started: {frames.one_line(error)}") from None
    if child:
        return child
    try:
        os.setsid()
        try:
            confine.confine(parent, confines, keep=sink)
        except BaseException as error:
            text = f"a process cannot be confined: {frames.one_line(error)}"
            os.write(sink, text.encode("utf-8", "replace"))
        else:
            os.write(sink, CONFINED)
            body()
    finally:
        os._exit(0)


def _collect(
    child: int, results: int, limit: float, connection: Any, kept: Unforked, asking: Asker | None = None
) -> Ending:
    """What comes of a candidate's process; nothing of it is left then but what is ``kept``."""
    try:
        connection.send_bytes(json.dumps({"pid": child}).encode())
        return watch(child, results, limit, connection, kept, asking)
    finally:
        os.close(results)
        end_group(child)
        end_descendants(spared=asking.pid if asking else 0)
        confine.die_with_parent()
