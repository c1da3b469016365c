"""A run folder reduced to what a comparison needs of it."""

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from ahd.compare.curves import Trace, trace
from ahd.compare.result import RunResult
from ahd.compare.spend import check_complete, spend
from ahd.config import ConfigError, RunConfig
from ahd.confirm import corrected, dropped
from ahd.display.replay import stored_start
from ahd.ending import stored_end
from ahd.events import Started
from ahd.insights.questions import questions
from ahd.store import FILE, Proposal, Store


@dataclass(frozen=True)
class Run:
    """A finished run. ``base_hash`` is that of the weights it began with, empty for a method that does not
    learn; ``init`` has a digest for every proposal of the initial population, in their order."""

    folder: Path
    config: RunConfig
    started: Started
    dtype: str
    base_hash: str
    init: tuple[str, ...]
    result: RunResult
    trace: Trace
    test_what: str

    @property
    def temperature(self) -> float | None:
        """That of the search; None: the usual one of the style."""
        own = self.config.search_temperature
        return self.config.temperature if own is None else own


def find(root: Path) -> list[Path]:
    """The run folders in ``root`` and below it, sorted.

    Raises:
        ConfigError: there are none.
    """
    found = sorted(file.parent for file in root.rglob(FILE)) if root.is_dir() else []
    if not found:
        raise ConfigError(
            f"{root} holds no run folders: name a folder that `ahd compare` or `ahd run` filled"
        )
    return found


def read(folder: Path, root: Path, mend: str = "") -> Run:
    """Read a finished run; ``root`` is the folder of the comparison. ``mend`` tells how to finish it.

    Raises:
        ConfigError: it is no run, or is damaged.
        UnequalSpend: it has not spent its budget.
    """
    store = Store.open(folder)
    try:
        config, raw = store.config, store.proposals()
        finished = stored_end(store)
        check_complete(folder, config, raw, store.status, finished, mend)
        assert finished is not None, "checked above"
        started, updates = stored_start(store), store.updates()
        rows = corrected(raw, dropped(store))
        best = finished.get("best")
        result = RunResult(
            folder=str(folder.relative_to(root)) if folder.is_relative_to(root) else str(folder),
            seed=config.seed,
            train=best,
            test=finished.get("test"),
            train_gap=finished.get("gap"),
            test_gap=finished.get("test_gap"),
            test_detail=str(finished.get("test_detail", "")),
            spend=spend(rows, updates, store.wall_seconds(), questions(store)),
        )
        return Run(
            folder=folder,
            config=config,
            started=started,
            dtype=store.meta("dtype") or config.dtype.value,
            base_hash=store.meta("base_hash") or "",
            init=tuple(_digests(raw)),
            result=result,
            trace=trace(started, rows, updates, best),
            test_what=str(finished.get("test_what", "")),
        )
    finally:
        store.close()


def read_all(folders: Iterable[Path], root: Path, mend: str = "") -> Iterator[Run]:
    """See ``read``."""
    return (read(folder, root, mend) for folder in folders)


def _digests(rows: Sequence[Proposal]) -> Iterator[str]:
    for row in rows:
        if row.phase == "init":
            told = (row.batch, row.slot, row.request_seed, row.prompt, row.prefill, row.reply)
            yield hashlib.blake2b(repr(told).encode("utf-8", "replace"), digest_size=16).hexdigest()
