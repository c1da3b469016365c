"""The folder of a comparison: its plan, ordinary run folders, and what was found.

compare.json              the plan
runs/PROBLEM/ARM-SEED/    run folders, for `ahd show`, `ahd resume` and the others
comparison.json           ``ahd.compare.result.Comparison``, once all runs are done
"""

import fcntl
import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from enum import Enum
from pathlib import Path

from ahd.compare.plan import Plan, Planned
from ahd.compare.result import Comparison
from ahd.config import ConfigError, Dtype, RunConfig
from ahd.files import write_whole
from ahd.store import FILE, Store

PLAN = "compare.json"
RESULT = "comparison.json"
PATIENCE = 15.0
"""Seconds to wait for a run whose process is about to end."""
_RESOLVED = {"sigma", "alpha", "scope", "problem_path"}
"""Fields that a run fills in when it starts."""


class State(Enum):
    """How far a run is."""

    NEW = "new"
    STOPPED = "stopped"
    DONE = "done"


@dataclass(frozen=True)
class Folder:
    """A comparison on disk."""

    path: Path
    plan: Plan

    @classmethod
    def open(cls, path: Path) -> "Folder | None":
        """The comparison in ``path``; None: it holds no plan.

        Raises:
            ConfigError: the plan cannot be read.
        """
        file = path / PLAN
        if not file.is_file():
            return None
        try:
            return cls(path, Plan.from_facts(json.loads(file.read_text(encoding="utf-8"))))
        except (ValueError, RecursionError) as error:
            told = str(error) if isinstance(error, ConfigError) else "it is damaged; choose another --out"
            raise ConfigError(f"{file}: {told}") from None

    @classmethod
    def prepare(cls, path: Path, plan: Plan) -> "Folder":
        """Begin a comparison in ``path``, or go on with the one there; only its seeds may be others.

        Raises:
            ConfigError: another comparison or something else is there, or it cannot be written.
        """
        present = cls.open(path)
        if present is None and path.exists() and (not path.is_dir() or any(path.iterdir())):
            raise ConfigError(f"{path} holds something else than a comparison: choose another --out")
        if present is not None and (told := _unlike(present.plan, plan)):
            raise ConfigError(f"{path} holds another comparison ({told}): choose another --out")
        try:
            path.mkdir(parents=True, exist_ok=True)
            if present is None or present.plan.seeds != plan.seeds:
                write_whole(path / PLAN, (json.dumps(plan.facts(), indent=2) + "\n").encode())
        except OSError as error:
            raise ConfigError(
                f"{path}: cannot write there ({error.strerror}); choose another --out"
            ) from None
        return cls(path, plan)

    def place(self, run: Planned) -> Path:
        """The run's folder."""
        return self.path / run.place

    @contextmanager
    def held(self) -> Iterator[None]:
        """Keep other processes from working on this comparison.

        Raises:
            ConfigError: one does.
        """
        with open(self.path / ".lock", "w") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                raise ConfigError(
                    f"{self.path}: another `ahd compare` works on it: wait for it to end"
                ) from None
            yield

    def state(self, run: Planned) -> State:
        """How far a run is.

        Raises:
            ConfigError: its folder holds another run, cannot be read, or is being written by another process.
        """
        folder = self.place(run)
        if not (folder / FILE).is_file():
            return State.NEW
        deadline = time.monotonic() + PATIENCE
        while True:
            store = Store.open(folder)
            try:
                status, config = store.status, store.config
                ended = status == "done" and store.meta_record("finished") is not None
            finally:
                store.close()
            if status != "running":
                break
            if time.monotonic() > deadline:
                raise ConfigError(f"{folder} is being written by another process: wait for it to end")
            time.sleep(0.2)
        if differing := _other_fields(config, run.config):
            raise ConfigError(
                f"{folder} is another run than planned ({', '.join(differing)}): move it away, "
                "or choose another --out"
            )
        return State.DONE if ended else State.STOPPED

    def write(self, found: Comparison) -> Path:
        """Write ``comparison.json``; its path."""
        return write_result(self.path, found)


def write_result(path: Path, found: Comparison) -> Path:
    """Write ``comparison.json`` into a folder of runs; its path.

    Raises:
        OSError: it cannot be written.
    """
    write_whole(path / RESULT, found.to_json().encode())
    return path / RESULT


def read_result(path: Path) -> Comparison:
    """What ``ahd compare`` left in its folder.

    Raises:
        ConfigError: it is not there, or damaged.
    """
    file = path / RESULT
    if not file.is_file():
        raise ConfigError(
            f"{path} has no {RESULT}: `ahd compare --folder {path}` writes it once all runs are done"
        )
    try:
        return Comparison.from_json(file.read_text(encoding="utf-8"))
    except (ConfigError, UnicodeDecodeError) as error:
        raise ConfigError(f"{file}: {error}") from None


def _unlike(present: Plan, wanted: Plan) -> str:
    """Where two plans differ beside their seeds; empty: nowhere."""
    ours, theirs = present.facts(), wanted.facts()
    for name in ("problems", "arms"):
        if ours[name] != theirs[name]:
            return f"its {name} are {', '.join(ours[name])}"
    one, other = asdict(present.base), asdict(wanted.base)
    for name in sorted({*ours["settings"], *theirs["settings"]}):
        if one[name] != other[name]:
            return f"its --{name.replace('_', '-')} is {one[name]}, not {other[name]}"
    return ""


def _other_fields(found: RunConfig, planned: RunConfig) -> list[str]:
    one, other = asdict(found), asdict(planned)
    left_out = _RESOLVED | ({"dtype"} if planned.dtype is Dtype.AUTO else set())
    return [
        f"--{name.replace('_', '-')} {one[name]}, not {other[name]}"
        for name in one
        if name not in left_out and one[name] != other[name]
    ]
