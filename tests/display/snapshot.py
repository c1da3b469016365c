"""What the dashboard of a stored run looks like, as text.

Written anew, after a change that is meant, by ``python -m tests.display.snapshot``.
"""

import io
import os
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

from rich.console import Console, RenderableType

from ahd.display.dashboard import Dashboard, final_screen
from ahd.display.progress import Progress
from ahd.display.replay import replay
from ahd.events import Finished
from ahd.store import Store
from tests.display.stored_run import store_run

FOLDER = Path(__file__).parent / "snapshots"
SIZES = ((80, 41), (120, 36))
RUN, PROPOSALS, MIDDLE = Path("results/tsp-esopt"), 120, 70


def snapshots() -> Iterator[tuple[str, str]]:
    """File names and texts: the run in its middle, at its end, and its closing figures, at each size. Writes
    a run into the working directory."""
    store_run(RUN, proposals=PROPOSALS)
    store = Store.open(RUN)
    ended = store.meta_record("finished") or {}
    store.close()
    for width, height in SIZES:
        for name, proposals in (("middle", MIDDLE), ("end", None)):
            progress, now = _progress(proposals)
            dashboard = Dashboard(progress, lambda now=now: now, threading.RLock())
            yield f"{name}-{width}.txt", _text(dashboard, width, height)
        progress, now = _progress(None)
        progress.add(Finished(**(ended | {"folder": RUN})), now)
        yield f"closing-{width}.txt", _text(final_screen(progress, now), width, height)


def _progress(proposals: int | None) -> tuple[Progress, float]:
    """The figures of the run up to a proposal, and when that was; the run begins at second 0."""
    progress, now = Progress(), 0.0
    for now, event in replay(RUN, proposals):
        progress.add(event, now if progress.started else 0.0)
    return progress, now


def _text(shown: RenderableType, width: int, height: int) -> str:
    out = io.StringIO()
    console = Console(
        width=width, height=height, file=out, color_system=None, legacy_windows=False, _environ={}
    )
    console.print(shown)
    return "".join(f"{line.rstrip()}\n" for line in out.getvalue().rstrip().splitlines())


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        os.chdir(scratch)
        for name, text in snapshots():
            (FOLDER / name).write_text(text, encoding="utf-8")
