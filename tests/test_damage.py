"""A damaged or edited run file is refused in one line, whatever the damage."""

import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from ahd.config import ConfigError, RunConfig
from ahd.confirm import OUTCOMES
from ahd.events import Started
from ahd.finalists import CHOSEN
from ahd.follow import Follower
from ahd.show import best, show
from ahd.store import FILE, Store
from tests.fakes import FakeModel
from tests.test_search import CONFIG, search


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A finished run of the fake problem."""
    store = Store.create(tmp_path / "run", CONFIG)
    search(store).run()
    started = Started(CONFIG, store.folder, "fake", 4, "skeleton", "words", 6, None, "", 5)
    store.set_meta(started_event=json.dumps({**vars(started), "config": {}, "folder": "run"}))
    store.close()
    return tmp_path / "run"


def execute(*statements: str) -> Callable[[Path], None]:
    def damage(path: Path) -> None:
        connection = sqlite3.connect(path)
        with connection:
            for statement in statements:
                connection.execute(statement)
        connection.close()

    return damage


def overwrite(start: float, length: int) -> Callable[[Path], None]:
    def damage(path: Path) -> None:
        data = bytearray(path.read_bytes())
        at = int(start * len(data))
        data[at : at + length] = b"\xa5" * length
        path.write_bytes(bytes(data))

    return damage


def truncate(path: Path) -> None:
    data = path.read_bytes()
    path.write_bytes(data[: len(data) // 3])


DAMAGE = {
    "middle": overwrite(0.4, 9000),
    "header": overwrite(0.0, 40),
    "truncated": truncate,
    "empty": lambda path: path.write_bytes(b""),
    "no proposals": execute("DROP TABLE proposals"),
    "no updates": execute("DROP TABLE updates"),
    "no sessions": execute("DROP TABLE sessions"),
    "no meta": execute("DROP TABLE meta"),
    "no config": execute("DELETE FROM meta WHERE key = 'config'"),
    "config no JSON": execute("UPDATE meta SET value = '{oops' WHERE key = 'config'"),
    "config a list": execute("UPDATE meta SET value = '[]' WHERE key = 'config'"),
    "unknown method": execute("UPDATE meta SET value = replace(value, 'esopt', 'wat') WHERE key = 'config'"),
    "text budget": execute("UPDATE meta SET value = replace(value, '130', '\"x\"') WHERE key = 'config'"),
    "version": execute("UPDATE meta SET value = 'one' WHERE key = 'schema_version'"),
    "column": execute("ALTER TABLE updates RENAME COLUMN seeds TO sids"),
    "seeds no JSON": execute("UPDATE updates SET seeds = 'nope' WHERE id = 1"),
    "parents a number": execute("UPDATE proposals SET parents = '7' WHERE id = 30"),
    "parents lists": execute("UPDATE proposals SET parents = '[[1]]' WHERE id = 30"),
    "parents objects": execute("UPDATE proposals SET parents = '[{\"a\": 1}]' WHERE id = 30"),
    "parents words": execute("UPDATE proposals SET parents = '[\"x\"]' WHERE id = 30"),
    "objective a word": execute("UPDATE proposals SET objective = 'abc' WHERE id = 30"),
    "reward a word": execute("UPDATE proposals SET reward = 'abc' WHERE id = 30"),
}


@pytest.mark.parametrize("kind", DAMAGE)
def test_damage_is_refused_in_one_line(folder: Path, kind: str) -> None:
    """Opening, showing or resuming a damaged file is a one-line error that names it."""
    DAMAGE[kind](folder / FILE)

    def resume() -> None:
        search(Store.open(folder, write=True)).run()

    for use in (lambda: show(folder, True), resume):
        with pytest.raises(ConfigError) as caught:
            use()
        assert "\n" not in str(caught.value)
        assert "run" in str(caught.value)


@pytest.mark.parametrize("key", ["started_event", "finished"])
@pytest.mark.parametrize("value", ["[]", "xx", "{}"])
def test_damaged_summaries_are_refused(folder: Path, key: str, value: str) -> None:
    """What show reads from meta is refused when it is no JSON object of the right form."""
    execute(f"INSERT OR REPLACE INTO meta VALUES ('{key}', '{value}')")(folder / FILE)
    if (key, value) == ("finished", "{}"):
        show(folder, True)
        return
    for use in (show, best):
        if use is best and key == "finished":
            continue
        with pytest.raises(ConfigError):
            use(folder, True)


@pytest.mark.parametrize(
    ("key", "change"),
    [
        *(
            ("finished", {name: value})
            for name in ("test", "gap", "test_reference")
            for value in ("x", [], True)
        ),
        *(("finished", {"test_known": value}) for value in ([1], "x", None, {"a": "b"})),
        *(("finished", {name: 5}) for name in ("status", "test_what", "test_reference_source", "summary")),
        *(("started_event", {name: "x"}) for name in ("reference", "known")),
        ("started_event", {"known": {"a": "b"}}),
    ],
)
def test_records_of_the_wrong_kind_are_refused(folder: Path, key: str, change: dict[str, object]) -> None:
    """A value that is no number where one was written ends showing, watching and reporting in one line."""
    store = Store.open(folder, write=True)
    store.set_meta(**{key: json.dumps((store.meta_record(key) or {}) | change)})
    store.close()
    with pytest.raises(ConfigError, match="damaged"):
        show(folder, False)
    with pytest.raises(ConfigError, match="damaged"), closing(Store.open(folder)) as opened:
        Follower(opened).look()


@pytest.mark.parametrize("change", [{"seed": 4}, {"population": 9}, {"method": "eoh"}, {"parents": 3}])
def test_an_edited_configuration_is_refused(folder: Path, change: dict[str, object]) -> None:
    """A configuration that would not have made the stored proposals cannot go on with them."""
    data = json.loads(CONFIG.to_json()) | change
    store = Store.open(folder, write=True)
    store.set_meta(config=RunConfig.from_json(json.dumps(data)).to_json())
    with pytest.raises(ConfigError, match="is not the one this run would make"):
        search(store).run()


def test_a_smaller_budget_than_was_spent_is_refused(folder: Path) -> None:
    """Rows beyond the schedule are not passed over in silence."""
    store = Store.open(folder, write=True)
    store.set_meta(config=replace(CONFIG, budget=90).to_json())
    with pytest.raises(ConfigError):
        search(store).run()


def test_a_lost_row_is_refused(folder: Path) -> None:
    """A proposal that is missing in the middle cannot be made again unnoticed."""
    execute("DELETE FROM proposals WHERE id = 40")(folder / FILE)
    with pytest.raises(ConfigError):
        search(Store.open(folder, write=True), FakeModel()).run()


@pytest.mark.parametrize("key", OUTCOMES)
def test_dropped_proposals_that_are_no_numbers_are_refused(folder: Path, key: str) -> None:
    """What the end of a run has written is checked as well."""
    execute(f"INSERT OR REPLACE INTO meta VALUES ('{key}', '{{\"x\": 1}}')")(folder / FILE)
    with pytest.raises(ConfigError, match=key):
        show(folder, True)


@pytest.mark.parametrize("value", ["99999", "-1", "x", "9" * 5000])
def test_a_chosen_proposal_that_is_not_there_is_none(
    folder: Path, value: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """The best on the training instances is shown, and nobody as chosen."""
    execute(f"INSERT OR REPLACE INTO meta VALUES ('{CHOSEN}', '{value}')")(folder / FILE)
    show(folder, True)
    facts = json.loads(capsys.readouterr().out)
    assert facts["chosen"] is None
    assert facts["best"]["objective"] == min(each["objective"] for each in facts["population"])
