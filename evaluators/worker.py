"""The warm parent ("zygote") of candidates: one per worker slot, it forks a process per candidate.

It loads the problem, its instances and the compiled solver loops once and never runs candidate code
itself. What goes back to the main process is one JSON line and the candidate's frame, byte for byte.
"""

import contextlib
import gc
import importlib
import json
import os
import select
import signal
import sys
import sysconfig
import time
import warnings
from dataclasses import asdict, dataclass, replace
from functools import cache
from typing import Any

import numpy as np

from evaluators import candidate, confine, frames, landlock, seccomp
from evaluators.confine import Confines
from evaluators.layers import Layer
from evaluators.task import COMPILE_SECONDS, Task, load_task_file

TICK = 0.05
"""Seconds between two looks at a running candidate."""
GRACE = 0.2
"""Seconds a candidate has to exit by itself after closing its result pipe."""
WALL_FACTOR, WALL_EXTRA = 10.0, 10.0
_CONFINED = b"\0"
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


def wall_cap(limit: float) -> float:
    """Most wall seconds for a candidate with ``limit`` CPU seconds, however busy the machine is."""
    return WALL_FACTOR * limit + WALL_EXTRA


@dataclass(frozen=True)
class Ending:
    """How a candidate's process ended.

    ``how`` is ``frame`` (it sent a whole frame), ``exit`` or ``signal`` (with ``code``), ``timeout``,
    ``starved`` (the wall cap came first), ``bad`` (``text`` says why the result is none), or
    ``fault`` (the candidate never ran: the problem or the system failed, ``text`` says how, ``code`` is the
    signal that ended its process, if one did).
    """

    how: str
    code: int = 0
    text: str = ""


class _MainIsGone(Exception):
    pass


def serve(
    task: Task | None, origin: str, memory_mb: int, slot: int, layers: frozenset[Layer], connection: Any
) -> None:
    """Answer jobs from ``connection`` until it closes.

    A job is JSON, ``[source, split, size, first, count, limit, compiled]``: the candidate gets ``count``
    instances from number ``first`` on, and runs compiled or interpreted.

    First sends ``{"failed": reason}``, or that it is ready and what the simplest heuristic decides on the
    first training instance, as the ending and frame of a job; then for each job ``{"pid": child}`` (0
    when there is none) and an ``Ending`` followed by a newline and the frame.

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
        _work(task, origin, Confines(0, memory_mb << 20, 0.0, slot), layers, connection)
    except (EOFError, OSError, _MainIsGone):
        pass
    finally:
        _end_descendants()
        os._exit(0)


def _leave(number: int, frame: object) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    raise _MainIsGone


def _work(
    task: Task | None, origin: str, confines: Confines, layers: frozenset[Layer], connection: Any
) -> None:
    try:
        task = task or load_task_file(origin)
        instances = {("train", task.sizes["train"][0]): task.instances("train", task.sizes["train"][0])}
        decisions = _warm(task, next(iter(instances.values())))
        os.environ.clear()  # here rather than in every child, where it takes longer than all limits
        ready = json.dumps({"ready": True, **asdict(Ending("frame"))}).encode()
        first = ready + b"\n" + frames.encode_decisions(decisions)
        confines = layered(confines, layers)
    except _MainIsGone:
        raise
    except BaseException as error:
        connection.send_bytes(json.dumps({"failed": frames.one_line(error)}).encode())
        return
    connection.send_bytes(first)
    compiles = False
    while True:
        source, split, size, first, count, limit, compiled = json.loads(connection.recv_bytes())
        try:
            if (split, size) not in instances:
                instances[split, size] = task.instances(split, size)
            given = instances[split, size][first : first + count]
        except _MainIsGone:
            raise
        except BaseException as error:
            connection.send_bytes(b'{"pid": 0}')
            text = f"instances({split!r}, {size}) fails with {frames.one_line(error)}"
            ending, frame = Ending("fault", text=text), b""
        else:
            if compiled and not compiles:
                _warm_compiler(task)
                compiles = True
            if "numba" in source:
                _warm_numba()
            seconds = limit + COMPILE_SECONDS * compiled
            own = replace(confines, used_bytes=confine.address_space(), cpu_seconds=seconds)
            ending, frame = _evaluate(task, source, given, own, compiled, connection)
        connection.send_bytes(json.dumps(asdict(ending)).encode() + b"\n" + frame)


def _warm(task: Task, instances: np.ndarray) -> np.ndarray:
    """Load what candidates will use, so that forks have it: modules and compiled loops.

    Returns:
        What the simplest heuristic decides on the first instance.
    """
    for name in PRELOADED:
        importlib.import_module(name)
    warnings.simplefilter("ignore")
    np.seterr(all="ignore")
    source = next(iter(task.heuristics.values()))
    decisions = np.asarray(task.run(candidate.load(source, task.function, task.arguments), instances[:1]))
    sys.modules.pop("candidate", None)
    gc.collect()
    gc.freeze()
    return decisions


@cache
def _warm_numba() -> None:
    """Compile something, so that forks find Numba and its compiler loaded."""
    from numba import njit

    for name in ("multiprocessing.synchronize", "numba.np.ufunc.parallel"):
        importlib.import_module(name)
    njit("float64[:](float64[:])")(lambda x: x + 1.0)
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


def _warm_compiler(task: Task) -> None:
    """Compile a known heuristic, so that forks need not load the compiler. Where that fails, they try."""
    from evaluators import compiled

    with contextlib.suppress(Exception):
        compiled.warm(task)
    gc.collect()
    gc.freeze()


def _evaluate(
    task: Task, source: str, instances: np.ndarray, confines: Confines, compiled: bool, connection: Any
) -> tuple[Ending, bytes]:
    """Fork a candidate and collect its result.

    Before anything of the candidate runs, its process writes ``_CONFINED``. So a failure to confine
    is told from whatever a candidate does, and a candidate cannot pretend that it was one.
    """
    results, sink = os.pipe()
    parent = os.getpid()
    confine.die_with_parent(signal.SIGCONT)
    gc.disable()
    try:
        child = os.fork()
    except OSError as error:
        os.close(results)
        os.close(sink)
        connection.send_bytes(b'{"pid": 0}')
        return Ending("fault", text=f"no process can be started: {frames.one_line(error)}"), b""
    if child == 0:
        try:
            os.setsid()
            try:
                confine.confine(parent, confines, keep=sink)
            except BaseException as error:
                os.write(sink, frames.one_line(error).encode("utf-8", "replace"))
            else:
                os.write(sink, _CONFINED)
                candidate.write_all(sink, _frame(task, source, instances, compiled))
        finally:
            os._exit(0)
    os.close(sink)
    try:
        connection.send_bytes(json.dumps({"pid": child}).encode())
        return _watch(child, results, confines.cpu_seconds, connection)
    finally:
        os.close(results)
        _end_group(child)
        _end_descendants()
        confine.die_with_parent()


def _frame(task: Task, source: str, instances: np.ndarray, compiled: bool) -> bytes:
    if not compiled:
        return candidate.evaluate(task, source, instances)
    from evaluators import compiled as compiler

    return compiler.evaluate(task, source, instances)


def _watch(child: int, results: int, limit: float, connection: Any) -> tuple[Ending, bytes]:
    """Collect the frame of ``child`` and hold it to its deadline.

    The deadline is on CPU time plus time asleep. Time spent waiting for a core does not count: on a
    busy machine an honest candidate must not fail for it.
    """
    handle = os.pidfd_open(child)
    try:
        frame = bytearray()
        expected = frames.HEADER_SIZE
        confined = False
        start = last = time.monotonic()
        cpu = asleep = 0.0
        while True:
            spare = max(0.0, limit - cpu - asleep)
            ready, _, _ = select.select([results, handle, connection], [], [], min(TICK, spare + 0.001))
            if handle in ready and results not in ready:  # it may have written before it ended
                ready, _, _ = select.select([results, handle, connection], [], [], 0)
            if connection in ready:
                raise _MainIsGone
            if results in ready:
                block = os.read(results, 1 << 20)
                if not block:
                    select.select([handle], [], [], GRACE)
                    return _ending(child, frame, confined), b""
                frame += block
                if not confined:
                    if frame[:1] != _CONFINED:
                        text = frames.clean(frame.decode("utf-8", "replace"))
                        return Ending("fault", text=f"a process cannot be confined: {text}"), b""
                    confined = True
                    del frame[:1]
                if len(frame) >= frames.HEADER_SIZE and expected == frames.HEADER_SIZE:
                    try:
                        expected += frames.payload_size(bytes(frame[: frames.HEADER_SIZE]))
                    except frames.BadFrame as error:
                        return Ending("bad", text=str(error)), b""
                if len(frame) >= expected > frames.HEADER_SIZE:
                    return Ending("frame"), bytes(frame)
            elif handle in ready:
                return _ending(child, frame, confined), b""
            now = time.monotonic()
            if ready and now - last < TICK:
                continue
            used, running = _activity(child, cpu)
            if not running:
                asleep += max(0.0, now - last - (used - cpu))
            cpu, last = used, now
            if cpu + asleep >= limit:
                return Ending("timeout", text=f"used its {limit:g} s"), b""
            if now - start >= wall_cap(limit):
                return Ending("starved", text=f"took {now - start:.0f} s of wall time"), b""
    finally:
        os.close(handle)


def _activity(child: int, before: float) -> tuple[float, bool]:
    """CPU seconds of a child so far, and whether it runs or waits for a core."""
    try:
        used = time.clock_gettime((~child << 3) | 2)
        with open(f"/proc/{child}/stat", "rb") as file:
            return used, file.read().rsplit(b")", 1)[1].split()[0] in (b"R", b"Z", b"X")
    except OSError:
        return before, True  # it is just exiting: the pidfd tells


def _ending(child: int, frame: bytearray, confined: bool) -> Ending:
    """How a child without a whole frame ended; one that still runs has closed its pipe."""
    gone = os.waitid(os.P_PID, child, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    if not confined:
        code = 0 if gone is None or gone.si_code == os.CLD_EXITED else gone.si_status
        return Ending("fault", code, "a process ended before it was confined")
    if gone is None:
        return Ending("bad", text="closed its result pipe")
    if gone.si_code != os.CLD_EXITED:
        return Ending("signal", gone.si_status)
    return Ending("bad", text="sent half a result") if frame else Ending("exit", gone.si_status)


def _end_group(child: int) -> None:
    for end in (os.killpg, os.kill):
        with contextlib.suppress(OSError):
            end(child, signal.SIGKILL)
    os.waitpid(child, 0)


def _end_descendants() -> None:
    """Kill and reap every process that descends from this one, whatever session it is in."""
    while True:
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        except ChildProcessError:
            return
        for pid in _children():
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.001)


def _children() -> list[int]:
    found = []
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                with open(f"/proc/{entry}/stat", "rb") as file:
                    if int(file.read().rsplit(b")", 1)[1].split()[1]) == os.getpid():
                        found.append(int(entry))
            except (OSError, IndexError):
                pass
    return found
