"""Collecting the result of a candidate's process, and holding it to its deadline."""

import math
import os
import select
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from evaluators import frames
from evaluators.unforked import Unforked

TICK = 0.05
"""Seconds between two looks at a running candidate."""
GRACE = 0.2
"""Seconds a candidate has to exit by itself after closing its result pipe."""
WALL_FACTOR, WALL_EXTRA = 10.0, 10.0
CONFINED = b"\0"
"""What comes before anything of the candidate runs. So a failure to confine is told from whatever a candidate
does, and a candidate cannot pretend that it was one."""
BEGIN = len(CONFINED)
MOST_TEXT = 1 << 12
STUCK = 30.0
"""Seconds that a loop in another process may work after its candidate has ended."""
ROOM = BEGIN + frames.MAX_FRAME + (1 << 12)
"""Bytes of ``Unforked`` memory that hold any result."""


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


class MainIsGone(Exception):
    """Nobody waits for results any more."""


@dataclass(frozen=True)
class Asker:
    """Who asks a candidate call by call and writes its results: a process, and how to make it see that nobody
    answers any more."""

    pid: int
    hang_up: Callable[[], None]


class Stuck(EOFError):
    """The process that asks does not come to an end."""


def watch(
    child: int, results: int, limit: float, connection: Any, kept: Unforked, asking: Asker | None = None
) -> Ending:
    """The ending of ``child``. What comes through the pipe ``results`` is put into ``kept``: ``CONFINED``
    and, where the ending is ``frame``, the frame.

    The deadline is on CPU time plus time asleep. Time spent waiting for a core does not count: on a
    busy machine an honest candidate must not fail for it. Nor does time in which who is ``asking`` has work
    to do: the candidate waits for a question then.

    Raises:
        MainIsGone: ``connection`` was closed.
        Stuck: who asked has not ended ``STUCK`` seconds after the candidate.
    """
    handle = os.pidfd_open(child)
    waiting = [results, handle, connection]
    try:
        expected = 0
        start = last = time.monotonic()
        ended = math.inf
        cpu = asleep = 0.0
        while True:
            spare = max(0.0, limit - cpu - asleep)
            ready, _, _ = select.select(waiting, [], [], min(TICK, spare + 0.001))
            if handle in ready and results not in ready:  # it may have written before it ended
                ready, _, _ = select.select(waiting, [], [], 0)
            if connection in ready:
                raise MainIsGone
            if results in ready:
                if not kept.read(results):
                    select.select([handle], [], [], GRACE)
                    return _ending(child, kept.used)
                if kept.copy(0, len(CONFINED)) != CONFINED:
                    return Ending(
                        "fault", text=frames.clean(kept.copy(0, MOST_TEXT).decode(errors="replace"))
                    )
                if not expected and kept.used >= BEGIN + frames.HEADER_SIZE:
                    header = kept.copy(BEGIN, BEGIN + frames.HEADER_SIZE)
                    try:
                        expected = BEGIN + frames.HEADER_SIZE + frames.payload_size(header)
                    except frames.BadFrame as error:
                        return Ending("bad", text=str(error))
                if kept.used >= expected > 0:
                    return Ending("frame")
            elif handle in ready:
                if asking is None:
                    return _ending(child, kept.used)
                asking.hang_up()
                waiting.remove(handle)
                ended = time.monotonic()
            now = time.monotonic()
            if now - ended > STUCK:
                raise Stuck
            if ready and now - last < TICK:
                continue
            used, running = _activity(child, cpu)
            if not running and not (asking and _activity(asking.pid, 0.0)[1]):
                asleep += max(0.0, now - last - (used - cpu))
            cpu, last = used, now
            if cpu + asleep >= limit:
                return Ending("timeout", text=f"used its {limit:g} s")
            if now - start >= wall_cap(limit):
                return Ending("starved", text=f"took {now - start:.0f} s of wall time")
    finally:
        os.close(handle)


def _activity(process: int, before: float) -> tuple[float, bool]:
    """CPU seconds of a process so far, and whether it runs or waits for a core."""
    try:
        used = time.clock_gettime((~process << 3) | 2)
        with open(f"/proc/{process}/stat", "rb") as file:
            return used, file.read().rsplit(b")", 1)[1].split()[0] in (b"R", b"Z", b"X")
    except OSError:
        return before, True  # it is just exiting: the pidfd tells


def _ending(child: int, received: int) -> Ending:
    """How a child without a whole frame ended; one that still runs has closed its pipe."""
    gone = os.waitid(os.P_PID, child, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    if not received:
        code = 0 if gone is None or gone.si_code == os.CLD_EXITED else gone.si_status
        return Ending("fault", code, "a process ended before it was confined")
    if gone is None:
        return Ending("bad", text="closed its result pipe")
    if gone.si_code != os.CLD_EXITED:
        return Ending("signal", gone.si_status)
    return Ending("bad", text="sent half a result") if received > BEGIN else Ending("exit", gone.si_status)
