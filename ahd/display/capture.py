"""A picture of the dashboard from the stored events of a real run.

Run ``python -m ahd.display.capture RUN OUT.svg [WIDTH [HEIGHT [PROPOSALS]]]``.
"""

import io
import re
import sys
import threading
from pathlib import Path

from rich.console import Console
from rich.terminal_theme import TerminalTheme

from ahd.display.dashboard import Dashboard
from ahd.display.progress import Progress
from ahd.display.replay import replay

_THEME = TerminalTheme(
    (24, 26, 31),
    (214, 218, 226),
    [
        (40, 44, 52),
        (240, 113, 120),
        (152, 205, 121),
        (229, 192, 110),
        (97, 160, 240),
        (198, 130, 222),
        (86, 190, 205),
        (190, 196, 206),
    ],
    [
        (112, 120, 134),
        (245, 130, 136),
        (165, 220, 135),
        (240, 205, 125),
        (115, 175, 250),
        (210, 145, 235),
        (100, 205, 220),
        (240, 242, 246),
    ],
)


def export_svg(
    run_folder: Path, out: Path, width: int = 120, height: int = 36, proposals: int | None = None
) -> None:
    """Replay a run folder up to its given proposal (all when None) and write its dashboard as SVG.

    The file refers to no font of another host.

    Raises:
        ConfigError: if ``run_folder`` is not a run folder or the run never began.
    """
    progress, now = Progress(), 0.0
    for now, event in replay(run_folder, proposals):
        progress.add(event, now)
    out.write_text(picture(progress, now, width, height), encoding="utf-8")


def picture(progress: Progress, now: float, width: int, height: int) -> str:
    """The dashboard as SVG text."""
    console = Console(
        width=width,
        height=height,
        record=True,
        file=io.StringIO(),
        force_terminal=True,
        color_system="truecolor",
        legacy_windows=False,
        _environ={},
    )
    console.print(Dashboard(progress, lambda: now, threading.RLock()))
    started = progress.started
    title = f"ahd run {started.config.problem} --budget {started.config.budget}" if started else "ahd"
    svg = console.export_svg(title=title, theme=_THEME, unique_id="ahd")
    svg = re.sub(r"@font-face\s*\{[^}]*\}\s*", "", svg)
    return svg.replace("Fira Code, monospace", "ui-monospace, Menlo, Consolas, DejaVu Sans Mono, monospace")


if __name__ == "__main__":
    export_svg(Path(sys.argv[1]), Path(sys.argv[2]), *map(int, sys.argv[3:]))
