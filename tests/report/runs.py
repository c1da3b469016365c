"""Run folders to make reports of."""

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from ahd.config import RunConfig
from ahd.run import start
from ahd.store import FILE, Proposal, Store
from tests.fakes import Recorder

CONFIG = RunConfig("tsp", model="scripted", budget=30, seed=3)


def scripted(folder: Path) -> Path:
    """A finished run of the scripted model, made by the real loop."""
    assert start(CONFIG, folder, Recorder()) == "done"
    return folder


def changed(source: Path, folder: Path, change: Callable[[sqlite3.Connection], None]) -> Path:
    """A copy of a run folder whose file was changed."""
    folder.mkdir()
    with (
        closing(sqlite3.connect(source / FILE)) as old,
        closing(sqlite3.connect(folder / FILE)) as new,
    ):
        old.backup(new)
        with new:
            change(new)
    return folder


def rows(folder: Path) -> list[Proposal]:
    """The stored proposals."""
    with closing(Store.open(folder)) as store:
        return store.proposals()
