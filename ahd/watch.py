"""``ahd watch``: the display of a run that another process makes, from its file alone."""

import time
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path

from ahd.config import ConfigError
from ahd.display.choose import choose, resolved
from ahd.display.guard import Guarded
from ahd.display.still import Still
from ahd.events import Event, Loading, Note, Proposed, Updated
from ahd.follow import Follower, State
from ahd.stop import Stop
from ahd.store import FILE, Store, is_being_written

RESULTS = Path("results")
POLL = 0.5
"""Seconds between two looks."""


class WorkClock:
    """The time of the event that is told, and the present where none is (``at`` is None)."""

    def __init__(self) -> None:
        self.at: float | None = None
        self.pauses: Sequence[tuple[float, float]] = ()

    def unix(self) -> float:
        return time.time() if self.at is None else self.at

    def worked(self) -> float:
        """Seconds from any start, without the pauses between the sessions of the run."""
        now = self.unix()
        return now - sum(max(0.0, min(now, end) - begin) for begin, end in self.pauses)


def watch(folder: Path | None, display: str = "auto", *, once: bool = False, wait: float = 10.0) -> int:
    """Show the run in ``folder`` (None: the newest under ``results``) as it goes on, until it ends.

    ``once``: only how it stands. ``wait`` is how many seconds a folder may take to become a run folder.
    The exit code: 0, or 1 for a run that ended before its budget was spent.

    Raises:
        ConfigError: no run there, or one that stopped before it began.
        KeyboardInterrupt: on Ctrl-C, SIGTERM or SIGHUP, after the look that is under way.
    """
    folder = folder or newest(RESULTS)
    clock = WorkClock()
    name = resolved(display)
    shown = (
        Guarded(Still(clock.worked))
        if once and name == "rich"
        else choose(name, clock.worked, clock.unix, watching=True)
    )
    stop = Stop()
    with stop.listening(), shown, closing(_opened(folder, wait, shown.show)) as store:
        stop.gently = True
        state = _follow(Follower(store), shown, clock, stop, once, silent=name == "plain")
        if state is State.GONE:
            shown.show(Note(f"its process is gone without finishing: go on with `ahd resume {folder}`"))
    return int(state in (State.INTERRUPTED, State.GONE))


def _follow(
    follower: Follower, shown: Guarded, clock: WorkClock, stop: Stop, once: bool, silent: bool
) -> State:
    """Show what comes until the run is over; ``silent``: what was there before is counted, not told."""
    while True:
        look = follower.look()
        clock.pauses = look.pauses
        for clock.at, event in look.events:
            shown.show(_stored(event) if silent else event)
        if look.state is State.BEGINNING:
            shown.show(Loading("the run is beginning"))
        else:
            if silent and look.state is State.GOING:
                shown.show(Note("watching: the run is another process's"))
            silent = False
        if once or look.state.over:
            return look.state
        if shown.gone:
            raise BrokenPipeError
        clock.at = None
        stop()
        time.sleep(POLL)
        stop()


def _stored(event: Event) -> Event:
    return replace(event, replayed=True) if isinstance(event, Proposed | Updated) else event


def newest(results: Path) -> Path:
    """The run folder in ``results`` that was written last.

    Raises:
        ConfigError: there is none.
    """
    written = {
        file.parent: max(
            each.stat().st_mtime for each in (file, file.with_name(FILE + "-wal")) if each.exists()
        )
        for file in results.glob(f"*/{FILE}")
    }
    if not written:
        raise ConfigError(f"{results}: no run there; name a run folder, or start a run with `ahd run tsp`")
    return max(written, key=lambda run: written[run])


def _opened(folder: Path, wait: float, show: Callable[[Event], None]) -> Store:
    """The run file, once it is there.

    Raises:
        ConfigError: it is not there within ``wait`` seconds, or cannot be read.
    """
    deadline = time.monotonic() + wait
    while not (folder / FILE).is_file():
        if time.monotonic() >= deadline and not is_being_written(folder):
            break
        show(Loading(f"waiting for a run in {folder}"))
        time.sleep(POLL / 5)
    return Store.open(folder)
