"""Carries out the runs of a comparison: what is done stays, what was begun goes on, the rest begins."""

import os
import selectors
from collections import deque
from collections.abc import Sequence
from contextlib import ExitStack

from ahd.compare.child import Child
from ahd.compare.folder import Folder, State
from ahd.compare.plan import Planned
from ahd.compare.progress import Progress, Status
from ahd.config import ConfigError, RunConfig
from ahd.models.load import has_engine_here, is_to_be_built
from ahd.models.names import DEFAULT
from ahd.models.runtime import free_memory, has_cuda
from ahd.stop import Stop

TICK = 0.2
"""Seconds between two looks at the processes."""
MOST_FAULTS = 3
"""Runs in a row that fail before the others are left for another time."""
MOST_JOBS = 256
USUAL_JOBS = 8
JOB_MEMORY = 4 << 30
"""Bytes that a run with the default model may need."""


def carry_out(folder: Folder, at_once: int | None = None) -> None:
    """Bring every run of a comparison to its end, ``at_once`` side by side (see ``usual_jobs``), each in a
    process of its own.

    Raises:
        ConfigError: some runs failed; the others are done, or can go on.
        KeyboardInterrupt: somebody asked for a stop; all runs are stored.
    """
    check_jobs(at_once)
    at_once = at_once or usual_jobs(folder.plan.base)
    runs = list(folder.plan.runs())
    with ExitStack() as stack:
        stack.enter_context(folder.held())
        states = [folder.state(run) for run in runs]
        if states.count(State.DONE) == len(runs):
            return
        stop = Stop()
        stop.gently = True
        stack.enter_context(stop.listening())
        crew = _Crew(folder, runs, states, at_once, stop)
        stack.callback(crew.close)
        crew.work()
    if stop.requested:
        raise KeyboardInterrupt
    if crew.faults:
        run, fault = crew.faults[0]
        raise ConfigError(
            f"{len(crew.faults)} of {len(runs)} runs failed, the first in {folder.place(run)}: "
            f"{fault.rstrip('.')}; repeat the command to go on"
        )


def check_jobs(at_once: int | None) -> None:
    """Refuse a number of runs side by side that makes no sense.

    Raises:
        ConfigError: it makes none.
    """
    if at_once is not None and not 1 <= at_once <= MOST_JOBS:
        raise ConfigError(f"--jobs {at_once}: needs a number from 1 to {MOST_JOBS}")


def usual_jobs(config: RunConfig) -> int:
    """Runs side by side where the user names no number: with the default model on processor cores one per
    core, as long as there is memory; else one.

    An engine for so small a model gains little from a second core: on two cores, two runs side by side took
    0.6 of the time that they took one after the other.
    """
    if config.model != DEFAULT or not has_engine_here(config) or has_cuda():
        return 1
    return max(1, min(len(os.sched_getaffinity(0)), free_memory() // JOB_MEMORY, USUAL_JOBS))


def share(cores: Sequence[int], slot: int, at_once: int, config: RunConfig) -> list[int]:
    """The cores of the run in a ``slot``; none: any. Engines that share cores wait for each other, so that
    each gets its own; a run whose engine is elsewhere may use any."""
    if at_once == 1 or config.server or config.replicas > 1 or config.ray_address:
        return []
    return list(cores[slot::at_once]) or [cores[slot % len(cores)]]


class _Crew:
    """The processes at work and the runs that wait for one."""

    def __init__(
        self, folder: Folder, runs: Sequence[Planned], states: Sequence[State], at_once: int, stop: Stop
    ) -> None:
        self.faults: list[tuple[Planned, str]] = []
        self._folder, self._at_once, self._stop = folder, at_once, stop
        self._waiting = deque(
            (Status(run, number), state is State.STOPPED)
            for number, (run, state) in enumerate(zip(runs, states, strict=True), 1)
            if state is not State.DONE
        )
        self._running: dict[Child, Status] = {}
        self._free = deque(range(at_once))
        self._in_a_row = 0
        self._building = is_to_be_built(folder.plan.base.model)
        self._selector = selectors.DefaultSelector()
        done, begun = states.count(State.DONE), states.count(State.STOPPED)
        self._progress = Progress(len(runs), done)
        told = [f"{done} done"] * bool(done) + [f"{begun} to go on with"] * bool(begun)
        text = f"{len(runs)} runs of {folder.plan.base.budget} proposals in {folder.path}"
        self._progress.say(text + (f": {', '.join(told)}" if told else ""))

    def work(self) -> None:
        """Until all runs are done, have failed, or have stored what they had when a stop was asked for."""
        asked = False
        while self._running or (self._waiting and not self._ending):
            while self._waiting and self._has_room():
                self._start(*self._waiting.popleft())
            self._selector.select(TICK)
            for child, status in list(self._running.items()):
                ended = child.code is not None
                self._listen(child, status)
                if ended:
                    self._ended(child, status)
            self._progress.look(list(self._running.values()))
            if self._stop.requested and not asked:
                asked = True
                self._progress.say("stopping: the runs store what they have")
                for child in self._running:
                    child.stop()

    @property
    def _ending(self) -> bool:
        return self._stop.requested or self._in_a_row >= MOST_FAULTS

    def _has_room(self) -> bool:
        """The first run works alone while it builds the model that all of them use."""
        return bool(self._free) and not self._ending and not (self._building and self._running)

    def _start(self, status: Status, begun: bool) -> None:
        slot = self._free.popleft()
        cores = share(sorted(os.sched_getaffinity(0)), slot, self._at_once, status.run.config)
        child = Child(status.run, self._folder.place(status.run), begun, cores, slot)
        self._running[child] = status
        self._selector.register(child.output, selectors.EVENT_READ)
        self._progress.begins(status, begun)

    def _listen(self, child: Child, status: Status) -> None:
        for event in child.events():
            fresh = status.fresh
            status.add(event)
            self._building = self._building and event.get("event") != "started"
            if status.fresh > fresh:
                self._progress.proposed()

    def _ended(self, child: Child, status: Status) -> None:
        self._release(child)
        state = self._folder.state(status.run)
        if state is State.DONE:
            self._in_a_row = 0
            left = sum(each.run.config.budget for each, _ in self._waiting)
            left += sum(each.run.config.budget - each.spent for each in self._running.values())
            self._progress.ends(status, left)
        elif not self._stop.requested:
            again = status.fresh > 0
            fault = child.fault()
            self._progress.fails(status, fault, again)
            if again:
                self._waiting.appendleft((Status(status.run, status.number), state is State.STOPPED))
            else:
                self._in_a_row += 1
                self.faults.append((status.run, fault))

    def _release(self, child: Child) -> None:
        del self._running[child]
        self._selector.unregister(child.output)
        self._free.append(child.slot)
        child.close()

    def close(self) -> None:
        """End what still runs."""
        for child in list(self._running):
            self._release(child)
        self._selector.close()
        self._progress.clear()
