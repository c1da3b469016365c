"""``ahd weights``: the weights of a run, rebuilt from the base model's files and the log of updates alone.

No engine is loaded. Updates are repeated on float32 masters, and the hash is compared with the log after
each.
"""

import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Protocol

from ahd import __version__
from ahd.config import ConfigError, Dtype, RunConfig
from ahd.display.text import complain
from ahd.es.perturbation import perturbation_of
from ahd.learning import lineage
from ahd.models import runtime
from ahd.models.folder import check_free, write_model
from ahd.models.weights import Masters
from ahd.store import Store, UpdateRow
from operators.model import UpdateRefused


class Differs(RuntimeError):
    """The log does not lead to the weights it names. The message is one line that says where."""


@dataclass(frozen=True)
class Log:
    """What a run's file says about its weights up to one update: ``hashes[n]`` is the one after update n,
    ``hashes[0]`` the base model's; ``rows`` are the updates that lead to update ``number``, in order."""

    folder: Path
    config: RunConfig
    number: int
    dtype: str
    """The number format of the run's engine."""
    hashes: Mapping[int, str]
    rows: Sequence[UpdateRow]


@dataclass(frozen=True)
class Rebuilt:
    """Weights that are as logged: ``updates`` were repeated to get those after ``update``."""

    run: str
    update: int
    updates: int
    weights_hash: str
    seconds: float

    def __str__(self) -> str:
        return f"weights of {self.run} after {f'update {self.update}' if self.update else 'no update'}"


class Weights(Protocol):
    """What updates are repeated on."""

    def update(self, seeds: Sequence[int], weights: Sequence[float], alpha: float) -> object: ...

    def weights_hash(self) -> str: ...


class Stored:
    """The weights in the files of a base model.

    Args:
        config: says which tensors directions move, and how.
        dtype: number format that the files are rounded to first, as the engine does.
        model: the default model's name, a local folder or a Hugging Face id.
    """

    def __init__(self, config: RunConfig, dtype: str, model: str) -> None:
        runtime.set_environment()
        import torch

        from ahd.models.resolve import resolve_model

        self.folder = Path(resolve_model(model, trusted=True))  # only its tensors are read
        self.masters = Masters.load(self.folder, getattr(torch, dtype), perturbation_of(config))

    def update(self, seeds: Sequence[int], weights: Sequence[float], alpha: float) -> object:
        return self.masters.update(seeds, weights, alpha)

    def weights_hash(self) -> str:
        return self.masters.hash()


def read(folder: Path, number: int | None = None) -> Log:
    """Read the log of a run up to update ``number`` (None: the last one now). The run may be going on.

    Raises:
        ConfigError: not a run folder, no such update, or nothing to compare with.
        Differs: a row is lost or damaged.
    """
    with closing(Store.open(folder)) as store:
        config, base_hash = store.config, store.meta("base_hash")
        try:
            updates = store.updates(most=number)
        except ConfigError as error:
            raise Differs(str(error)) from None
        resumable, dtype = store.resumable, store.meta("dtype") or config.dtype
    if dtype == Dtype.AUTO:
        dtype = runtime.number_format()
    if not resumable:
        raise ConfigError(
            f"{folder} was begun with an older ahd: its weights cannot be rebuilt; start a new run"
        )
    if base_hash is None:
        raise ConfigError(f"{folder} stopped before it had weights: go on with `ahd resume {folder}`")
    last = len(updates) if number is None else number
    if not 0 <= last <= len(updates):
        raise ConfigError(
            f"--update {last}: {folder} has {len(updates)} updates: give 0, the base model, to {len(updates)}"
        )
    hashes = {0: base_hash}
    for place, row in enumerate(updates[:last], 1):
        if row.id != place:
            raise Differs(f"{folder}: update {place} is lost: restore the run file from a copy")
        hashes[place] = str(row.weights_hash)
        if row.rollback_to is not None and hashes.get(row.rollback_to) != row.weights_hash:
            raise Differs(
                f"{folder}: update {place} goes back to other weights: restore the run file from a copy"
            )
    try:
        return Log(folder, config, last, str(dtype), hashes, lineage(updates, last))
    except ConfigError as error:
        raise Differs(f"{folder}: {error}") from None


def repeat(log: Log, weights: Weights, told: Callable[[str], None] = lambda what: None) -> str:
    """Repeat the updates of a log on the base weights; the hash of the result.

    Args:
        told: is given the name of each step when it begins.

    Raises:
        Differs: the weights are not those in the log, from the start or after an update.
    """
    base = "give the model that the run began with by --model"
    mend = "the log is damaged, or ahd, numba or numpy are other versions than the run's"
    _compare(log, 0, weights.weights_hash(), "the files of the base model give", base)
    for row in log.rows:
        told(f"update {row.id}")
        try:
            weights.update(row.seeds, row.weights, row.alpha)
        except (UpdateRefused, ValueError, TypeError, OverflowError) as error:
            raise Differs(f"{log.folder}: update {row.id} cannot be repeated ({error}): {mend}") from None
        _compare(log, row.id, weights.weights_hash(), f"update {row.id} repeated gives", mend)
    return weights.weights_hash()


def _compare(log: Log, number: int, found: str, what: str, mend: str) -> None:
    if found != log.hashes[number]:
        instead = f"weights {found[:12]} instead of {log.hashes[number][:12]}"
        raise Differs(f"{log.folder}: {what} {instead}: {mend}")


def rebuild(folder: Path, number: int | None, as_json: bool, model: str = "") -> int:
    """Rebuild the weights of a run, and say whether they are as logged: exit code 0, or 1 if not.

    Raises:
        ConfigError: see ``read``; also no such ``model`` (empty: the run's own).
    """
    try:
        log = read(folder, number)
        with _progress(len(log.rows) + 1) as told:
            result, _ = _rebuild(log, model, told)
    except Differs as error:
        if as_json:
            print(json.dumps({"run": str(folder), "equal": False, "fault": str(error)}, indent=2))
        return _failed(error)
    if as_json:
        print(json.dumps(asdict(result) | {"equal": True}, indent=2))
    else:
        print(f"{result}: equal to the log, {result.updates} updates repeated in {result.seconds:.1f} s")
        print(result.weights_hash)
    return 0


def export(folder: Path, out: Path, number: int | None, model: str = "") -> int:
    """Write the rebuilt weights of a run as a model folder: exit code 0, or 1 if they are not as logged.

    Raises:
        ConfigError: see ``rebuild``; also if ``out`` is not free, or the model is the scripted one.
    """
    check_free(out)
    try:
        log = read(folder, number)
        if _is_scripted(log, model):
            raise ConfigError(
                "--model scripted is made for tests: no engine could load it; nothing to export"
            )
        with _progress(len(log.rows) + 2) as told:
            result, weights = _rebuild(log, model, told)
            assert isinstance(weights, Stored)
            told("writing")
            about = {
                "run": folder.resolve().name,
                "update": result.update,
                "weights_hash": result.weights_hash,
                "dtype": log.dtype,
                "ahd": __version__,
            }
            write_model(weights.folder, weights.masters, log.dtype, out, about)
    except Differs as error:
        return _failed(error)
    print(f"{out}: {result}, {log.dtype}")
    print(result.weights_hash)
    return 0


def _rebuild(log: Log, model: str, told: Callable[[str], None]) -> tuple[Rebuilt, Weights]:
    started = time.perf_counter()
    weights = _base(log, model)
    found = repeat(log, weights, told)
    seconds = time.perf_counter() - started
    return Rebuilt(str(log.folder), log.number, len(log.rows), found, seconds), weights


def _base(log: Log, model: str) -> Weights:
    """The weights the run began with."""
    if _is_scripted(log, model):
        from ahd.models.scripted import scripted_tsp

        return scripted_tsp(perturbation_of(log.config))
    return Stored(log.config, log.dtype, model or log.config.model)


def _is_scripted(log: Log, model: str) -> bool:
    return (model or log.config.model) == "scripted"


@contextmanager
def _progress(steps: int) -> Iterator[Callable[[str], None]]:
    """A bar on standard error, where that is a terminal, until the work is done. Gives a function to call
    with the name of each step but the first when it begins."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    console = Console(stderr=True)
    columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn()
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task("base model", total=steps)
        yield lambda what: bar.update(task, description=what, advance=1)


def _failed(error: Differs) -> int:
    complain(error)
    return 1
