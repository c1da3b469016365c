"""The rich terminal dashboard."""

import os
import sys
import threading
import time
from collections.abc import Callable
from typing import TextIO

from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.live import Live
from rich.panel import Panel
from rich.spinner import Spinner
from rich.table import Table
from rich.text import Text

from ahd.display import panels
from ahd.display.final import final_rows
from ahd.display.layout import NARROW_BANDS, NARROWEST, SHORTEST, WIDE, WIDE_BANDS, allot
from ahd.display.panels import ACCENT, DIM, GOOD, WARN, line
from ahd.display.progress import Progress
from ahd.display.text import clean, duration, percent, signed_percent
from ahd.events import Event

INTERVAL = 0.25
"""Seconds between looks at whether something changed."""


class Dashboard:
    """Draws a ``Progress`` into whatever width and height the console offers."""

    def __init__(self, progress: Progress, clock: Callable[[], float], lock: threading.RLock) -> None:
        self._progress = progress
        self._clock = clock
        self._lock = lock
        self._spinner = Spinner("dots", style=ACCENT)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        width, height = options.max_width, options.height or options.max_height
        with self._lock:
            if self._progress.started is None:
                drawn = self._loading(width)
            elif width < NARROWEST or height < SHORTEST:
                drawn = self._bare(height)
            else:
                drawn = self._full(width, height)
        yield drawn

    def _loading(self, width: int) -> RenderableType:
        progress, now = self._progress, self._clock()
        lines: list[RenderableType] = [
            line(("✓ ", GOOD), entry.text) for entry in progress.log if entry.kind == "load"
        ]
        if progress.loading:
            told = line(clean(progress.loading.what), (f"  {now - progress.loading_since:.0f} s", DIM))
            self._spinner.update(text=told)
            lines.append(self._spinner)
        return panels.frame("ahd", Group(*lines), len(lines) + 2) if width >= 20 else Group(*lines)

    def _bare(self, height: int) -> RenderableType:
        progress, now = self._progress, self._clock()
        assert progress.started is not None
        left = progress.left(now)
        lines = [
            line((clean(progress.started.config.problem), "bold"), f" {progress.started.config.method}"),
            line(
                f"{progress.spent}/{progress.budget}, {duration(left)} left"
                if left
                else f"{progress.spent}/{progress.budget}"
            ),
            line(
                ("best ", DIM),
                (progress.number(progress.best), f"bold {GOOD}"),
                f" {signed_percent(progress.gap(progress.best))}",
            ),
            line(("valid ", DIM), percent(progress.validity or 0.0)),
            line(("updates ", DIM), str(len(progress.updates))),
        ]
        return Group(*lines[:height])

    def _full(self, width: int, height: int) -> RenderableType:
        progress, now = self._progress, self._clock()
        wide = width >= WIDE
        lines = allot(WIDE_BANDS if wide else NARROW_BANDS, height)
        half = width // 2
        rows: list[RenderableType] = []
        right: RenderableType
        for name, tall in lines.items():
            match name:
                case "header":
                    rows.append(panels.header(progress, width, now))
                case "best+evolution":
                    left = width * 55 // 100
                    rows.append(
                        _pair(
                            panels.best(progress, left, tall),
                            panels.evolution(progress, width - left, tall),
                            left,
                            width,
                        )
                    )
                case "population":
                    rows.append(panels.population(progress, width, tall))
                case "population+operators":
                    left = width * 55 // 100
                    few = min(8, tall)
                    right = panels.operators(progress, width - left, few)
                    if tall - few >= 4:
                        right = Group(right, panels.outcomes(progress, width - left, tall - few))
                    else:
                        right = panels.operators(progress, width - left, tall)
                    rows.append(_pair(panels.population(progress, left, tall), right, left, width))
                case "operators+outcomes":
                    if "speed+latest" in lines:
                        right = panels.outcomes(progress, width - half, tall)
                    else:
                        right = panels.speed(progress, width - half, tall, now)
                    rows.append(_pair(panels.operators(progress, half, tall), right, half, width))
                case "speed+latest":
                    left = width * (55 if wide else 45) // 100
                    rows.append(
                        _pair(
                            panels.latest(progress, left, tall),
                            panels.speed(progress, width - left, tall, now),
                            left,
                            width,
                        )
                    )
        return Group(*rows)


def _pair(left: RenderableType, right: RenderableType, left_width: int, width: int) -> Table:
    table = Table.grid(padding=0)
    table.add_column(width=left_width, no_wrap=True)
    table.add_column(width=width - left_width, no_wrap=True)
    table.add_row(left, right)
    return table


def final_screen(progress: Progress, now: float) -> Panel:
    """The closing figures as one panel that stays in the terminal."""
    assert progress.finished is not None
    done = progress.finished.status == "done"
    table = Table.grid(padding=(0, 2))
    table.add_column(style=DIM, no_wrap=True)
    table.add_column()
    for row in final_rows(progress, now):
        strong = f"bold {GOOD}" if row.label.startswith("best") else "bold"
        table.add_row(
            Text(row.label), Text.assemble((row.value, strong), ("  " + row.rest, DIM) if row.rest else "")
        )
    if progress.top:
        table.add_row(Text("computes"), Text(progress.top))
    return Panel(
        table,
        title=line((progress.finished.status, f"bold {GOOD if done else WARN}")),
        title_align="left",
        border_style=GOOD if done else WARN,
        padding=(0, 1),
    )


def _own_stdout() -> TextIO | None:
    """A copy of standard output that stays the terminal while the engine's output is sent elsewhere."""
    try:
        return open(os.dup(sys.stdout.fileno()), "w", encoding=sys.stdout.encoding)
    except (OSError, ValueError, AttributeError):
        return None


class RichDisplay:
    """The dashboard on the alternate screen; the final screen and the notes stay behind.

    A thread of its own redraws when an event came in or a second has passed (the spinner: four times
    a second), so that a long wait in the model still shows the time.
    """

    draws = True

    def __init__(
        self,
        console: Console | None = None,
        clock: Callable[[], float] = time.monotonic,
        watching: bool = False,
    ) -> None:
        self.progress = Progress(watching=watching)
        self._console = console or Console(file=_own_stdout())
        self._clock = clock
        self._lock = threading.RLock()
        self._changed = threading.Event()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._redraw, name="display", daemon=True)
        self._dashboard = Dashboard(self.progress, clock, self._lock)
        self._live = Live(
            console=self._console,
            screen=True,
            auto_refresh=False,
            vertical_overflow="crop",
            get_renderable=lambda: self._dashboard,
        )

    def __enter__(self) -> "RichDisplay":
        if self._console.is_terminal:
            self._live.start()
            self._thread.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join()
            self._live.stop()
        self._leave()

    def show(self, event: Event) -> None:
        with self._lock:
            self.progress.add(event, self._clock())
        self._changed.set()

    def _redraw(self) -> None:
        drawn = -1
        while not self._stop.wait(INTERVAL):
            second = int(self._clock() * (1 if self.progress.started else 4))
            if self._changed.is_set() or second != drawn:
                self._changed.clear()
                drawn = second
                self._live.refresh()

    def _leave(self) -> None:
        progress, now = self.progress, self._clock()
        for entry in progress.log:
            if entry.kind == "note":
                self._console.print(line(("note: ", WARN), entry.text), soft_wrap=True)
        if progress.finished:
            self._console.print(final_screen(progress, now))
        elif progress.started:
            self._console.print(line(progress.parting), soft_wrap=True)
