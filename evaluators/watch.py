"""Collecting the result of a candidate's process, and holding it to its deadline."""

import os
import select
import time
from dataclasses import dataclass
from typing import Any

from evaluators import frames
from evaluators.descendants import kill_children

TICK = 0.05
"""Seconds between two looks at a running candidate."""
GRACE = 0.2
"""Seconds a candidate has to exit by itself after closing its result pipe."""
WALL_FACTOR, WALL_EXTRA = 10.0, 10.0
CONFINED = b"\0"
"""What comes before anything of the candidate runs. So a failure to confine is told from whatever a candidate
does, and a candidate cannot pretend that it was one."""


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


def watch(child: int, results: int, limit: float, connection: Any, referee: int = 0) -> tuple[Ending, bytes]:
    """The ending of ``child``, and the frame that came through the pipe ``results``.

    The deadline is on CPU time plus time asleep. Time spent waiting for a core does not count: on a
    busy machine an honest candidate must not fail for it. Nor does time in which ``referee``, the process
    that asks it and writes the results, has work to do: the candidate waits for a question then.

    Raises:
        MainIsGone: ``connection`` was closed.
    """
    handle = os.pidfd_open(child)
    waiting = [results, handle, connection]
    try:
        frame = bytearray()
        expected = frames.HEADER_SIZE
        confined = False
        start = last = time.monotonic()
        cpu = asleep = 0.0
        while True:
            spare = max(0.0, limit - cpu - asleep)
            ready, _, _ = select.select(waiting, [], [], min(TICK, spare + 0.001))
            if handle in ready and results not in ready:  # it may have written before it ended
                ready, _, _ = select.select(waiting, [], [], 0)
            if connection in ready:
                raise MainIsGone
            if results in ready:
                block = os.read(results, 1 << 20)
                if not block:
                    select.select([handle], [], [], GRACE)
                    return _ending(child, frame, confined), b""
                frame += block
                if not confined:
                    if frame[:1] != CONFINED:
                        return Ending("fault", text=frames.clean(frame.decode("utf-8", "replace"))), b""
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
                if not referee:
                    return _ending(child, frame, confined), b""
                waiting.remove(handle)
            if handle not in waiting:  # the referee learns of it when nobody is left that could answer
                kill_children(child, referee)
            now = time.monotonic()
            if ready and now - last < TICK:
                continue
            used, running = _activity(child, cpu)
            if not running and not (referee and _activity(referee, 0.0)[1]):
                asleep += max(0.0, now - last - (used - cpu))
            cpu, last = used, now
            if cpu + asleep >= limit:
                return Ending("timeout", text=f"used its {limit:g} s"), b""
            if now - start >= wall_cap(limit):
                return Ending("starved", text=f"took {now - start:.0f} s of wall time"), b""
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
