"""The run file: what is written is read back, once, and damage is told in one line."""

import sqlite3
from dataclasses import replace
from pathlib import Path

import pytest

from ahd.config import ConfigError, RunConfig
from ahd.store import FILE, Proposal, Store, UpdateRow

ROW = Proposal(
    id=1, batch=1, slot=0, phase="search", generation=1, operator="m1", parents=(None, 3), prompt="p",
    prefill="", reply="r", code="c", completion="", thought="", outcome="ok", objective=7.25, detail="",
    duplicate_of=None, request_seed=1, direction_seed=2, sigma=0.001, reward=None,
    prompt_tokens=3, completion_tokens=4, model_seconds=0.5,
    es_seconds=0.25, evaluation_seconds=0.1, created=10.0,
)  # fmt: skip
UPDATE = UpdateRow(
    id=1, batch=1, operator="m1", seeds=(5, 6), rewards=(0.1, -1.0), weights=(1.0, -1.0),
    sigma=0.001, alpha=0.0005, norm=0.2, moved=0.01, weights_hash="abc", seconds=0.5, created=11.0,
)  # fmt: skip


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store.create(tmp_path / "run", RunConfig("tsp", budget=100))


def test_rows_come_back_as_written(store: Store) -> None:
    """A proposal and an update survive the round trip, floats to the last bit."""
    awkward = replace(ROW, objective=0.1 + 0.2)
    store.add_proposal(awkward)
    store.add_update(UPDATE)
    store.close()
    again = Store.open(store.folder)
    assert again.proposals() == [awkward]
    assert again.updates() == [UPDATE]
    assert again.update(1) == UPDATE
    assert again.update(2) is None
    assert again.config == RunConfig("tsp", budget=100)


def test_a_slot_is_filled_once(store: Store) -> None:
    """The same slot of the same batch cannot be spent twice, nor a batch update twice."""
    store.add_proposal(ROW)
    store.add_update(UPDATE)
    with pytest.raises(sqlite3.IntegrityError):
        store.add_proposal(replace(ROW, id=2))
    with pytest.raises(sqlite3.IntegrityError):
        store.add_update(replace(UPDATE, id=2))
    assert len(store.proposals()) == 1


def test_only_ok_rows_have_an_objective(store: Store) -> None:
    """The file itself refuses an objective on a failure and an ok without one."""
    with pytest.raises(sqlite3.IntegrityError):
        store.add_proposal(replace(ROW, outcome="timeout"))
    with pytest.raises(sqlite3.IntegrityError):
        store.add_proposal(replace(ROW, objective=None))


def test_hostile_text_is_stored(store: Store) -> None:
    """NUL bytes, lone surrogates and quotes in a reply do not break the file."""
    store.add_proposal(replace(ROW, reply="a\0b\ud800'\";--"))
    assert store.proposals()[0].reply == "a\0b?'\";--"


def test_one_writer_at_a_time(store: Store) -> None:
    """A second writer is refused, a reader is not; after closing, writing is free again."""
    with pytest.raises(ConfigError, match="another process"):
        Store.open(store.folder, write=True)
    assert Store.open(store.folder).proposals() == []
    store.close()
    Store.open(store.folder, write=True).close()


def test_what_is_not_a_run_is_said_in_one_line(tmp_path: Path) -> None:
    """Missing, empty, damaged and newer files: a one-line error naming the file."""
    with pytest.raises(ConfigError, match="is not a run folder"):
        Store.open(tmp_path)
    (tmp_path / FILE).write_bytes(b"not a database at all" * 100)
    with pytest.raises(ConfigError, match="cannot be read"):
        Store.open(tmp_path)
    store = Store.create(tmp_path / "new", RunConfig("tsp"))
    store.set_meta(schema_version="99")
    store.close()
    with pytest.raises(ConfigError, match="schema version 99"):
        Store.open(tmp_path / "new")
    with pytest.raises(ConfigError, match="holds a run already"):
        Store.create(tmp_path / "new", RunConfig("tsp"))


def test_sessions_add_up(store: Store) -> None:
    """Wall time is the sum over sessions; an error inside one still closes it."""
    with store.session() as session:
        session.status = "done"
    with pytest.raises(RuntimeError), store.session():
        raise RuntimeError
    assert store.meta("status") == "interrupted"
    assert 0 <= store.wall_seconds() < 5
