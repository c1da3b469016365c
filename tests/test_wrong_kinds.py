"""A stored value of another kind than was written is refused in one line, in whatever field, by whatever
reads it: never a traceback, never a figure made from it."""

import json
import shutil
import sqlite3
import typing
from collections.abc import Callable, Iterator
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from ahd.compare.folder import PLAN, Folder
from ahd.compare.plan import Plan, parse_arms
from ahd.compare.result import Comparison
from ahd.config import ConfigError, RunConfig
from ahd.events import Finished, Started
from ahd.follow import Follower
from ahd.report import read as report
from ahd.report.charts import run_charts
from ahd.show import show
from ahd.store import FILE, Proposal, Store, UpdateRow
from tests.display.stored_run import store_run
from tests.report.compared import comparison
from tests.test_cli import ahd

HUGE = 10**400
DEEP = "[" * 100_000


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run with updates."""
    return store_run(tmp_path_factory.mktemp("wrong") / "run", proposals=40)


@pytest.fixture
def folder(run: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(run, tmp_path / "run"))


def watch(folder: Path) -> None:
    with closing(Store.open(folder)) as store:
        Follower(store).look()


READERS: dict[str, Callable[[Path], object]] = {
    "show": lambda folder: show(folder, False),
    "watch": watch,
    "report": report.read,
}


def refused(folder: Path, what: str) -> None:
    """Every reader ends in one line."""
    for name, reader in READERS.items():
        is_refused(partial(reader, folder), f"{name}: {what}")


def is_refused(use: Callable[[], object], what: str) -> None:
    def taken() -> None:
        use()
        pytest.fail(f"taken: {what}")

    with pytest.raises(ConfigError) as caught:
        taken()
    assert "\n" not in str(caught.value)


def wrong(hint: Any) -> Iterator[object]:
    """Values that no field of this kind holds."""
    kinds = set(typing.get_args(hint)) or {hint}
    yield [[1]]
    yield HUGE if float in kinds else True if int in kinds else 5
    if not kinds & {str, dict, Any}:
        yield "x"


def statement(folder: Path, sql: str, *arguments: object) -> None:
    connection = sqlite3.connect(folder / FILE)
    with closing(connection), connection:
        connection.execute("PRAGMA ignore_check_constraints = ON")
        connection.execute(sql, arguments)


def change(folder: Path, key: str, **fields: object) -> None:
    """Give a record of the table meta other fields."""
    with closing(Store.open(folder)) as store:
        record = store.meta_record(key) or {}
    statement(folder, "UPDATE meta SET value = ? WHERE key = ?", json.dumps(record | fields), key)


@pytest.mark.parametrize(("key", "kind"), [("started_event", Started), ("finished", Finished)])
def test_fields_of_a_record(folder: Path, key: str, kind: type) -> None:
    """Every field of the start and of the end of a run, those apart that are taken from elsewhere."""
    with closing(Store.open(folder)) as store:
        record = store.meta_record(key) or {}
    for name, hint in typing.get_type_hints(kind).items():
        if name in ("config", "folder") or (kind is Started and name == "spent"):
            continue
        for value in wrong(hint):
            told = json.dumps(record | {name: value})
            statement(folder, "UPDATE meta SET value = ? WHERE key = ?", told, key)
            refused(folder, f"{key} {name} {value!r:.20}")


@pytest.mark.parametrize("name", ["spent", "validity", "seconds", "outcome_counts", "weights_hash"])
def test_figures_of_the_end(folder: Path, name: str) -> None:
    """Numbers, tables of numbers and the hash."""
    with closing(Store.open(folder)) as store:
        record = store.meta_record("finished") or {}
    record["summary"][name] = [1]
    statement(folder, "UPDATE meta SET value = ? WHERE key = 'finished'", json.dumps(record))
    refused(folder, name)


@pytest.mark.parametrize("decimals", [-1, 13])
def test_decimals_that_no_problem_has(folder: Path, decimals: int) -> None:
    """They would not format a number."""
    change(folder, "started_event", decimals=decimals)
    refused(folder, f"decimals {decimals}")


def test_fields_of_the_configuration(folder: Path) -> None:
    """Every field, whatever it is an option of."""
    with closing(Store.open(folder)) as store:
        config = json.loads(store.config.to_json())
    for name, hint in typing.get_type_hints(RunConfig).items():
        for value in wrong(hint):
            told = json.dumps(config | {name: value})
            statement(folder, "UPDATE meta SET value = ? WHERE key = 'config'", told)
            refused(folder, f"config {name} {value!r:.20}")


@pytest.mark.parametrize("key", ["config", "started_event", "finished", "created"])
@pytest.mark.parametrize("text", ["abc", "1e300", DEEP], ids=["word", "too late", "deep"])
def test_texts_that_are_no_record(folder: Path, key: str, text: str) -> None:
    """Words, a moment that no calendar has, and brackets that no reader goes down."""
    statement(folder, "UPDATE meta SET value = ? WHERE key = ?", text, key)
    if key == "created":
        with pytest.raises(ConfigError, match="created"):
            watch(folder)
    else:
        refused(folder, f"{key} {text[:10]}")


@pytest.mark.parametrize(("table", "kind"), [("proposals", Proposal), ("updates", UpdateRow)])
def test_columns_of_a_table(run: Path, tmp_path: Path, table: str, kind: type) -> None:
    """Every column but the number of the row: words for numbers, bytes for words, lists of something else."""
    for name, hint in typing.get_type_hints(kind).items():
        if name == "id":
            continue
        told = ['["a"]', "7", DEEP] if typing.get_origin(hint) is tuple else [b"\x00\xff"]
        told += [] if hint is str or typing.get_origin(hint) is tuple else ["abc"]
        for number, value in enumerate(told):
            folder = Path(shutil.copytree(run, tmp_path / f"{name}{number}"))
            statement(
                folder, f"UPDATE {table} SET {name} = ? WHERE id = (SELECT MAX(id) FROM {table})", value
            )
            refused(folder, f"{table} {name} {value!r:.20}")


@pytest.mark.parametrize("name", ["started", "ended", "status"])
def test_columns_of_the_sessions(folder: Path, name: str) -> None:
    """When somebody worked on the run."""
    statement(folder, f"UPDATE sessions SET {name} = x'00ff'")
    refused(folder, f"sessions {name}")


def test_an_objective_without_end_is_refused(folder: Path) -> None:
    """A candidate that is ok has a finite one."""
    statement(folder, "UPDATE proposals SET objective = 1e999, outcome = 'ok' WHERE id = 30")
    refused(folder, "an infinite objective")


def _places(record: object) -> Iterator[tuple[object, ...]]:
    """The way to every value within a record."""
    items = (
        record.items() if isinstance(record, dict) else enumerate(record) if isinstance(record, list) else ()
    )
    for key, value in items:
        yield (key,)
        if not (isinstance(record, list) and key):
            yield from ((key, *rest) for rest in _places(value))


def test_every_value_of_a_comparison() -> None:
    """A list of lists in the place of any value, and a number that is too large in that of any number."""
    whole = comparison()
    assert Comparison.from_json(whole.to_json()) == whole
    for place in _places(json.loads(whole.to_json())):
        if "known" in place or place[0] == "version":
            continue
        data = json.loads(whole.to_json())
        at: Any = data
        for key in place[:-1]:
            at = at[key]
        number = isinstance(at[place[-1]], float)
        for value in ([[1]], HUGE) if number else ([[1]],):
            at[place[-1]] = value
            use = partial(Comparison.from_json, json.dumps(data))
            is_refused(use, f"{place} {value!r:.20}")


def test_decimals_of_a_comparison() -> None:
    """They would not format a number."""
    data = json.loads(comparison().to_json())
    data["settings"][0]["decimals"] = -1
    with pytest.raises(ConfigError, match="damaged"):
        Comparison.from_json(json.dumps(data))


def test_control_characters_of_a_run_file_do_not_reach_the_terminal(folder: Path) -> None:
    """What an error quotes is shown as other text is; the mend is that of a run that is there."""
    change(folder, "config", problem_path="/nowhere/\x1b[31mx.py")
    statement(folder, "UPDATE meta SET value = 'interrupted' WHERE key = 'status'")
    for command in ("test", "resume"):
        found = ahd(command, str(folder))
        assert found.returncode == 2
        assert "\x1b" not in found.stderr
        assert found.stderr.count("\n") == 1
        assert "put it back" in found.stderr


def test_a_finished_run_needs_no_problem_file(folder: Path) -> None:
    """Resuming it shows its end again; one whose end lacks fields is refused."""
    change(folder, "config", problem_path="/nowhere/x.py")
    statement(folder, "INSERT OR REPLACE INTO meta VALUES ('status', 'done')")
    assert ahd("resume", str(folder), "--display", "plain").returncode == 0
    statement(folder, "UPDATE meta SET value = '{\"status\": \"done\"}' WHERE key = 'finished'")
    found = ahd("resume", str(folder), "--display", "plain")
    assert (found.returncode, found.stderr.count("\n")) == (2, 1)
    assert "damaged" in found.stderr


def test_a_reference_too_large_to_draw_is_left_out(folder: Path) -> None:
    """The page is made all the same."""
    change(folder, "started_event", reference=1.7e308)
    assert "convergence" in [chart.name for chart in run_charts(report.read(folder))]


@pytest.mark.parametrize(
    "change",
    [{"arms": [5, 6]}, {"seeds": [1e999]}, {"problems": 7}, {"settings": []}, {"settings": {"budget": "x"}}],
)
def test_a_plan_of_the_wrong_kind_is_refused(tmp_path: Path, change: dict[str, object]) -> None:
    """compare.json is read before anything is begun."""
    plan = Plan(("tsp",), parse_arms("esopt,eoh"), (1,), RunConfig(problem="", budget=400))
    (tmp_path / PLAN).write_text(json.dumps(plan.facts() | change))
    is_refused(lambda: Folder.open(tmp_path), str(change))


def test_a_plan_too_deep_is_refused(tmp_path: Path) -> None:
    """As a record of a run is."""
    (tmp_path / PLAN).write_text(DEEP)
    is_refused(lambda: Folder.open(tmp_path), "brackets")
