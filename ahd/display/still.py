"""One picture of the dashboard, printed where the cursor is."""

import threading
from collections.abc import Callable

from rich.console import Console

from ahd.display.dashboard import Dashboard, final_screen
from ahd.display.panels import WARN, line
from ahd.display.progress import Progress
from ahd.events import Event


class Still:
    """Collects the events of a run that it only watches; at the end it prints the dashboard, or the closing
    figures of a run that has finished."""

    def __init__(self, clock: Callable[[], float], console: Console | None = None) -> None:
        self.progress = Progress(watching=True)
        self._clock = clock
        self._console = console or Console()

    def __enter__(self) -> "Still":
        return self

    def show(self, event: Event) -> None:
        self.progress.add(event, self._clock())

    def __exit__(self, *exc: object) -> None:
        if exc[0] is not None:
            return
        if self.progress.finished:
            self._console.print(final_screen(self.progress, self._clock()))
        else:
            self._console.print(Dashboard(self.progress, self._clock, threading.RLock()))
        for entry in self.progress.log:
            if entry.kind == "note":
                self._console.print(line(("note: ", WARN), entry.text), soft_wrap=True)
