"""One SQLite file per run: every proposal and every update, one transaction each."""

import fcntl
import json
import math
import os
import sqlite3
import time
import typing
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import astuple, dataclass, fields
from pathlib import Path
from typing import IO, Any

from ahd.config import ConfigError, RunConfig
from ahd.migrate import from_version_1
from ahd.nearby import nearby

FILE = "run.sqlite"
SCHEMA_VERSION = 2
_INFINITE = (math.inf, -math.inf)
_LATEST = 1e11
"""Unix seconds that calendars can still write (the year 5138)."""

_SCHEMA = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE proposals (
    id INTEGER PRIMARY KEY, batch INTEGER NOT NULL, slot INTEGER NOT NULL, phase TEXT NOT NULL,
    generation INTEGER NOT NULL, operator TEXT NOT NULL, parents TEXT NOT NULL,
    prompt TEXT NOT NULL, prefill TEXT NOT NULL, reply TEXT NOT NULL, code TEXT NOT NULL,
    completion TEXT NOT NULL, thought TEXT NOT NULL, outcome TEXT NOT NULL, objective REAL,
    detail TEXT NOT NULL, duplicate_of INTEGER, request_seed INTEGER NOT NULL, direction_seed INTEGER,
    sigma REAL, reward REAL, prompt_tokens INTEGER NOT NULL, completion_tokens INTEGER NOT NULL,
    model_seconds REAL NOT NULL, es_seconds REAL NOT NULL, evaluation_seconds REAL NOT NULL,
    created REAL NOT NULL,
    UNIQUE (batch, slot), CHECK ((outcome = 'ok') = (objective IS NOT NULL))
);
CREATE TABLE updates (
    id INTEGER PRIMARY KEY, batch INTEGER NOT NULL UNIQUE, operator TEXT NOT NULL,
    seeds TEXT NOT NULL, rewards TEXT NOT NULL, weights TEXT NOT NULL, sigma REAL NOT NULL,
    alpha REAL NOT NULL, norm REAL NOT NULL, moved REAL NOT NULL, weights_hash TEXT NOT NULL,
    seconds REAL NOT NULL, created REAL NOT NULL,
    step_seeds TEXT NOT NULL, step_weights TEXT NOT NULL, rollback_to INTEGER, note TEXT NOT NULL
);
CREATE TABLE sessions (
    id INTEGER PRIMARY KEY, started REAL NOT NULL, ended REAL NOT NULL, status TEXT NOT NULL
);
CREATE TABLE behaviours (proposal INTEGER PRIMARY KEY, behaviour TEXT NOT NULL);
"""


@dataclass(frozen=True)
class Proposal:
    """One row of ``proposals``. ``parents`` are proposal ids, None for a known heuristic;
    ``duplicate_of`` is the earlier proposal with the same code or objective."""

    id: int
    batch: int
    slot: int
    phase: str
    generation: int
    operator: str
    parents: tuple[int | None, ...]
    prompt: str
    prefill: str
    reply: str
    code: str
    completion: str
    thought: str
    outcome: str
    objective: float | None
    detail: str
    duplicate_of: int | None
    request_seed: int
    direction_seed: int | None
    sigma: float | None
    reward: float | None
    prompt_tokens: int
    completion_tokens: int
    model_seconds: float
    es_seconds: float
    evaluation_seconds: float
    created: float

    @property
    def evaluated(self) -> bool:
        """Whether it was evaluated itself: its objective is not that of another, whose code or behaviour it
        has."""
        return self.evaluation_seconds > 0 and not (self.objective is not None and self.detail)


@dataclass(frozen=True)
class UpdateRow:
    """One row of ``updates``: enough to repeat it (seeds, weights, alpha) and to check it (hash).

    ``step_seeds`` and ``step_weights`` are the batch's own step, one entry per direction; ``seeds`` and
    ``weights`` are what was issued: that step with momentum, each seed once, or zero weights when nothing
    was to move. ``rollback_to``: instead of a step the weights went back to those after that update (0: the
    base model's). ``note`` says why there was no step, else it is empty."""

    id: int
    batch: int
    operator: str
    seeds: tuple[int, ...]
    rewards: tuple[float, ...]
    weights: tuple[float, ...]
    sigma: float
    alpha: float
    norm: float
    moved: float
    weights_hash: str
    seconds: float
    created: float
    step_seeds: tuple[int, ...] = ()
    step_weights: tuple[float, ...] = ()
    rollback_to: int | None = None
    note: str = ""


_JSON_FIELDS = {"parents", "seeds", "rewards", "weights", "step_seeds", "step_weights"}


def _kinds(row: type) -> dict[str, set[type]]:
    """Types of stored values by field, of the items where they are stored as JSON."""
    found = {}
    for name, hint in typing.get_type_hints(row).items():
        hint = typing.get_args(hint)[0] if name in _JSON_FIELDS else hint
        kinds = set(typing.get_args(hint)) or {hint}
        found[name] = kinds | {int} if float in kinds else kinds
    return found


_PROPOSAL, _UPDATE = _kinds(Proposal), _kinds(UpdateRow)


def _decoded(name: str, kinds: set[type], value: Any) -> Any:
    """A stored value.

    Raises:
        TypeError, ValueError: it is none that was written under this name.
    """
    values = tuple(json.loads(value)) if name in _JSON_FIELDS else (value,)
    if any(type(each) not in kinds for each in values) or (name == "objective" and value in _INFINITE):
        raise TypeError(name)
    return values if name in _JSON_FIELDS else value


def _insert(connection: sqlite3.Connection, table: str, row: Proposal | UpdateRow) -> None:
    names = [each.name for each in fields(row)]
    values = [
        json.dumps(value) if name in _JSON_FIELDS else _storable(value)
        for name, value in zip(names, astuple(row), strict=True)
    ]
    marks = ", ".join("?" * len(names))
    connection.execute(f"INSERT INTO {table} ({', '.join(names)}) VALUES ({marks})", values)


def _storable(value: Any) -> Any:
    """Text that SQLite can hold: lone surrogates from a hostile reply become question marks."""
    return value.encode("utf-8", "replace").decode("utf-8") if isinstance(value, str) else value


class Store:
    """The run file. Every method that writes commits before it returns."""

    def __init__(self, folder: Path, connection: sqlite3.Connection, lock: IO[str] | None) -> None:
        self.folder = folder
        self._connection = connection
        self._lock = lock
        self._session_id: int | None = None

    @staticmethod
    def check_free(folder: Path) -> None:
        """Refuse a folder that holds a run or cannot be written.

        Raises:
            ConfigError: it does, or cannot.
        """
        place = next(path for path in (folder, *folder.absolute().parents) if path.exists())
        if not place.is_dir() or not os.access(place, os.W_OK | os.X_OK):
            raise ConfigError(f"{folder}: cannot write there; choose another --out")
        if (folder / FILE).exists():
            raise ConfigError(
                f"{folder} holds a run already: go on with `ahd resume {folder}`, or choose another --out"
            )

    @classmethod
    def create(cls, folder: Path, config: RunConfig) -> "Store":
        """Start a run file in a new folder: it is whole from the moment it is there.

        Raises:
            ConfigError: if the folder cannot be made, or holds a run already.
        """
        cls.check_free(folder)
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise ConfigError(
                f"{folder}: cannot make the run folder ({error.strerror}); choose another --out"
            ) from None
        lock = _take_lock(folder)
        draft = folder / (FILE + ".new")
        for left in ("", "-wal", "-shm"):
            Path(f"{draft}{left}").unlink(missing_ok=True)
        connection = sqlite3.connect(draft)
        connection.execute(
            "PRAGMA journal_mode = WAL"
        )  # before anyone can read it: the change needs it alone
        connection.executescript("BEGIN;" + _SCHEMA + "COMMIT;")
        with connection:
            meta = {
                "schema_version": str(SCHEMA_VERSION),
                "config": config.to_json(),
                "created": repr(time.time()),
                "status": "running",
            }
            connection.executemany("INSERT INTO meta VALUES (?, ?)", meta.items())
        connection.close()
        os.replace(draft, folder / FILE)
        return cls(folder, _connect(folder / FILE), lock)

    @classmethod
    def open(cls, folder: Path, *, write: bool = False) -> "Store":
        """Open the run file of a folder, for writing by one process at a time. A file of version 1 is
        brought up to date: itself when it is opened for writing, else a copy in memory.

        Raises:
            ConfigError: if it is not a run folder, is from a newer version, or another process is
                writing to it.
        """
        path = folder / FILE
        if not path.is_file():
            raise ConfigError(f"{folder} is not a run folder: it has no {FILE}; {nearby(FILE)}")
        lock = _take_lock(folder) if write else None
        try:
            connection = _connect(path, read_only=not write)
            store = cls(folder, connection, lock)
            version = int(store.meta("schema_version") or 0)
            if version == 1:
                store._check_intact()
                store._migrate()
                version = SCHEMA_VERSION
            if version == SCHEMA_VERSION:
                store._check_intact()
                store._check_columns()
        except (sqlite3.Error, ValueError) as error:
            raise ConfigError(
                f"{path} cannot be read as a run file ({error}); restore it from a copy"
            ) from None
        if version != SCHEMA_VERSION:
            raise ConfigError(
                f"{path} has schema version {version}, this ahd reads {SCHEMA_VERSION}: update ahd"
            )
        return store

    def _migrate(self) -> None:
        if self._lock is None:
            copy = sqlite3.connect(":memory:")
            copy.row_factory = sqlite3.Row
            self._connection.backup(copy)
            self._connection.close()
            self._connection = copy
        from_version_1(self._connection)

    def _check_intact(self) -> None:
        """Refuse a damaged file before anything is built on it."""
        answer = self._connection.execute("PRAGMA quick_check(1)").fetchone()[0]
        if answer != "ok":
            raise sqlite3.DatabaseError(answer.splitlines()[0])

    def _check_columns(self) -> None:
        for table, row in (("proposals", Proposal), ("updates", UpdateRow), ("sessions", None)):
            found = {column[1] for column in self._connection.execute(f"PRAGMA table_info({table})")}
            wanted = {each.name for each in fields(row)} if row else {"id", "started", "ended", "status"}
            if missing := sorted(wanted - found):
                raise sqlite3.DatabaseError(f"table {table} lacks {', '.join(missing)}")

    @property
    def resumable(self) -> bool:
        """False for a run that made updates with an ahd that took hashes of weights in another way."""
        return self.meta("begun_with") is None

    def close(self) -> None:
        if self._lock is not None:
            self._settle()
        self._connection.close()
        if self._lock is not None:
            self._lock.close()

    def _settle(self) -> None:
        """Bring everything into the run file itself, which SQLite leaves undone while somebody reads it."""
        with suppress(sqlite3.Error):
            self._connection.execute("PRAGMA busy_timeout = 1000")
            self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """What is read inside is of one moment, whatever another process writes meanwhile."""
        self._connection.execute("BEGIN")
        try:
            yield
        finally:
            self._connection.rollback()

    def meta(self, key: str) -> str | None:
        row = self._connection.execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchone()
        return None if row is None else str(row[0])

    @property
    def status(self) -> str:
        """``running``, ``done``, ``interrupted``, or ``stopped`` for a run that was killed."""
        status = self.meta("status") or "unknown"
        if status == "running" and self._lock is None and not is_being_written(self.folder):
            return "stopped"
        return status

    def meta_record(self, key: str) -> dict[str, Any] | None:
        """A value of ``meta`` that is a JSON object.

        Raises:
            ConfigError: it is there but damaged.
        """
        text = self.meta(key)
        try:
            record = None if text is None else json.loads(text)
            if record is None or isinstance(record, dict):
                return record
        except (ValueError, RecursionError):
            pass
        raise self.damaged(f"{key} in table meta")

    @property
    def created(self) -> float:
        """When the run began, Unix seconds; 0 where that is not stored.

        Raises:
            ConfigError: it is damaged.
        """
        try:
            created = float(self.meta("created") or 0.0)
        except ValueError:
            created = -1.0
        if not 0 <= created < _LATEST:
            raise self.damaged("created in table meta")
        return created

    def damaged(self, what: str) -> ConfigError:
        """What to raise where ``what`` in the run file cannot be what was written."""
        return ConfigError(f"{self.folder / FILE}: {what} is damaged; restore it from a copy")

    def set_meta(self, **values: str) -> None:
        with self._connection:
            self._connection.executemany("INSERT OR REPLACE INTO meta VALUES (?, ?)", values.items())

    @property
    def config(self) -> RunConfig:
        text = self.meta("config")
        if text is None:
            raise ConfigError(
                f"{self.folder / FILE} holds no configuration: the run never started; start a new one"
            )
        try:
            return RunConfig.from_json(text)
        except ConfigError as error:
            raise ConfigError(f"{self.folder / FILE}: {error}") from None

    def add_proposal(self, proposal: Proposal, behaviour: str = "") -> None:
        """Add a row, and how the candidate behaved if that is to be known again."""
        with self._connection:
            _insert(self._connection, "proposals", proposal)
            if behaviour:
                self._connection.execute("INSERT INTO behaviours VALUES (?, ?)", (proposal.id, behaviour))

    def behaviours(self, batch: int) -> dict[str, float]:
        """Objectives of the proposals of a batch by their behaviour, the first one's of each. Only files of
        runs with a probe (``evaluators.probe``) have any; older files lack the table."""
        rows = self._connection.execute(
            "SELECT behaviour, objective FROM behaviours JOIN proposals ON id = proposal "
            "WHERE batch = ? AND objective IS NOT NULL ORDER BY id DESC",
            (batch,),
        )
        return {row["behaviour"]: row["objective"] for row in rows}

    def add_update(self, update: UpdateRow) -> None:
        with self._connection:
            _insert(self._connection, "updates", update)

    def set_rewards(self, rewards: dict[int, float]) -> None:
        """Write the rewards of proposals by id, once their batch is complete."""
        with self._connection:
            self._connection.executemany(
                "UPDATE proposals SET reward = ? WHERE id = ?",
                [(value, key) for key, value in rewards.items()],
            )

    def proposals(self, batch: int | None = None, after: int = 0) -> list[Proposal]:
        """All proposals with a number above ``after``, or those of one batch, in the order they were made."""
        where, arguments = ("WHERE id > ?", [after])
        if batch is not None:
            where, arguments = f"{where} AND batch = ?", [after, batch]
        rows = self._connection.execute(f"SELECT * FROM proposals {where} ORDER BY id", arguments)
        return [Proposal(**self._read("proposal", _PROPOSAL, row)) for row in rows]

    def next_id(self) -> int:
        """The number of the next proposal."""
        return 1 + (self._connection.execute("SELECT MAX(id) FROM proposals").fetchone()[0] or 0)

    def updates(self, after: int = 0, most: int | None = None) -> list[UpdateRow]:
        """All updates with a number above ``after``, in the order they were made, or the first ``most``."""
        limit = -1 if most is None else most
        rows = self._connection.execute(
            "SELECT * FROM updates WHERE id > ? ORDER BY id LIMIT ?", (after, limit)
        )
        return [UpdateRow(**self._read("update", _UPDATE, row)) for row in rows]

    def _read(self, what: str, kinds: dict[str, set[type]], row: sqlite3.Row) -> dict[str, Any]:
        try:
            return {name: _decoded(name, each, row[name]) for name, each in kinds.items()}
        except (ValueError, TypeError, RecursionError):
            raise self.damaged(f"{what} {row['id']}") from None

    def weights_hash(self) -> str:
        """Hash of the weights after the last update, or of the base model; empty before it is known."""
        row = self._connection.execute("SELECT weights_hash FROM updates ORDER BY id DESC LIMIT 1").fetchone()
        return str(row[0]) if row is not None else self.meta("base_hash") or ""

    def update(self, batch: int) -> UpdateRow | None:
        row = self._connection.execute("SELECT * FROM updates WHERE batch = ?", (batch,)).fetchone()
        return None if row is None else UpdateRow(**self._read("update", _UPDATE, row))

    def wall_seconds(self) -> float:
        """Wall time of all sessions; one that was killed counts to its last committed row, this
        process's own to now."""
        return sum((max(0.0, span.ended - span.started) for span in self.spans()), 0.0)

    def spans(self) -> list["Span"]:
        """When which session worked on the run. One that was killed, or that another process is in the middle
        of, ends with its last committed row, this process's own now."""
        found = []
        rows = self._connection.execute("SELECT * FROM sessions ORDER BY id").fetchall()
        starts = [row["started"] for row in rows[1:]] + [float("inf")]
        for row, following in zip(rows, starts, strict=False):
            if not (type(row["started"]) is type(row["ended"]) is float and type(row["status"]) is str):
                raise self.damaged(f"row {row['id']} of table sessions")
            last = self._connection.execute(
                "SELECT MAX(created) FROM proposals WHERE created >= ? AND created < ?",
                (row["started"], following),
            ).fetchone()[0]
            ended = time.time() if row["id"] == self._session_id else max(row["ended"], last or 0.0)
            found.append(Span(row["started"], ended, row["status"]))
        return found

    @contextmanager
    def session(self) -> Iterator["Session"]:
        """The time this process works on the run, written down also when it is interrupted."""
        session = Session()
        with self._connection:
            key = self._connection.execute(
                "INSERT INTO sessions (started, ended, status) VALUES (?, ?, 'running')", (time.time(),) * 2
            ).lastrowid
        self._session_id = key
        try:
            yield session
        finally:
            self._session_id = None
            with self._connection:
                self._connection.execute(
                    "UPDATE sessions SET ended = ?, status = ? WHERE id = ?",
                    (time.time(), session.status, key),
                )
                self._connection.execute(
                    "INSERT OR REPLACE INTO meta VALUES ('status', ?)", (session.status,)
                )


@dataclass
class Session:
    status: str = "interrupted"


@dataclass(frozen=True)
class Span:
    """Unix seconds of one session; ``status`` is ``running`` for one that goes on or was killed."""

    started: float
    ended: float
    status: str


def _connect(path: Path, read_only: bool = False) -> sqlite3.Connection:
    """Open in WAL mode. Threads: one, the run's own."""
    uri = f"{path.absolute().as_uri()}?mode={'ro' if read_only else 'rwc'}"
    connection = sqlite3.connect(uri, uri=True, timeout=30)
    connection.row_factory = sqlite3.Row
    if read_only and not os.access(path.parent, os.W_OK) and not Path(f"{path}-wal").exists():
        connection.close()
        connection = sqlite3.connect(uri + "&immutable=1", uri=True)
        connection.row_factory = sqlite3.Row
    if not read_only:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = NORMAL")
    return connection


LOCK = ".lock"
PATIENCE = 0.5
"""Seconds until a lock that is held counts as another writer's: who only asks has it for a moment."""


def is_being_written(folder: Path) -> bool:
    """Whether a process has the run folder open for writing. Asking changes nothing and stops nobody."""
    try:
        lock = open(folder / LOCK)  # noqa: SIM115 - closed below
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError:
        return True
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except OSError:
            return True
    return False


def _take_lock(folder: Path) -> IO[str]:
    """Hold the run folder for writing until the returned file is closed or the process ends."""
    try:
        lock = open(folder / LOCK, "w")  # noqa: SIM115 - held for the life of the store
    except OSError as error:
        raise ConfigError(f"{folder}: cannot write there ({error.strerror}); use a writable place") from None
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return lock
        except OSError:
            if time.monotonic() >= deadline:
                break
        time.sleep(0.02)
    lock.close()
    raise ConfigError(f"{folder} is being written by another process: wait for it to end")
