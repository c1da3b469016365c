"""``ahd show`` and ``ahd best`` on a stored run."""

import json
from pathlib import Path

import pytest

from ahd.config import ConfigError
from ahd.show import best, show
from ahd.store import Store
from tests.display.stored_run import store_run
from tests.display.synthetic_run import HOSTILE


def test_show_json_agrees_with_the_store(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Counts, best and hashes printed are those in the run file."""
    folder = store_run(tmp_path / "run")
    show(folder, True)
    facts = json.loads(capsys.readouterr().out)
    store = Store.open(folder)
    rows, updates = store.proposals(), store.updates()
    assert facts["spent"] + facts["init_spent"] == len(rows)
    assert facts["best"]["objective"] == min(row.objective for row in rows if row.objective is not None)
    assert sum(outcome["count"] for outcome in facts["outcomes"]) == len(rows)
    assert sum(tally["proposals"] for tally in facts["operators"].values()) == len(rows)
    assert facts["weights_hash"] == updates[-1].weights_hash
    assert len(facts["updates"]) == len(updates)
    assert facts["config"]["method"] == "esopt"
    assert [update["rollback_to"] for update in facts["updates"]] == [row.rollback_to for row in updates]
    assert facts["rollbacks"] == 1
    assert sum(facts["shares"].values()) == pytest.approx(1.0)
    assert len(facts["population"]) == 10


def test_show_prints_every_section(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The tables name schedule, population, operators, outcomes with reasons, and updates."""
    show(store_run(tmp_path / "run"), False)
    text = capsys.readouterr().out
    for part in (
        "schedule",
        "population",
        "operators",
        "outcomes",
        "updates",
        "name 'x'",
        "weights",
        "best, test",
        "directions",
        "1 of them rolled back",
        "3 batches in a row below 5.0% valid",
    ):
        assert part in text, part


def test_shares_better_than_the_parents(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Of the proposals of an operator whose parents are stored: those below all their parents' objectives."""
    folder = store_run(tmp_path / "run")
    store = Store.open(folder, write=True)
    rows = store.proposals()
    valid = [row for row in rows if row.objective is not None]
    first, second, third = sorted(valid, key=lambda row: row.objective or 0.0)[:3]
    with store._connection as connection:
        for operator, child, parents in (
            ("good", first.id, f"[{second.id}]"),
            ("bad", second.id, f"[{first.id}, {second.id}]"),
            ("orphan", third.id, "[null]"),
        ):
            connection.execute(
                "UPDATE proposals SET operator = ?, parents = ? WHERE id = ?", (operator, parents, child)
            )
    store.close()
    show(folder, True)
    operators = json.loads(capsys.readouterr().out)["operators"]
    assert [operators[name]["over_parents"] for name in ("good", "bad", "orphan")] == [1.0, 0.0, None]


def test_hostile_run_is_inert(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Control characters from candidates reach neither tables nor code listings."""
    folder = store_run(tmp_path / "run", HOSTILE)
    for command in (show, best):
        for as_json in (False, True):
            command(folder, as_json)
            text = capsys.readouterr().out
            assert "\x1b" not in text
            assert "\x07" not in text
            assert "\u202e" not in text


def test_best_prints_the_code_of_the_best(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Text output is Python with the objective in its head; JSON has code and objective."""
    folder = store_run(tmp_path / "run")
    best(folder, True)
    facts = json.loads(capsys.readouterr().out)
    best(folder, False)
    text = capsys.readouterr().out
    compile(text, "best", "exec")
    assert text.startswith("# tsp: objective ")
    assert f"{facts['objective']:.5f}" in text.splitlines()[0]
    assert f"a * {facts['proposal']}" in text


def test_a_known_start_counts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """When no initial proposal was valid the known heuristic that started the population is in it."""
    folder = store_run(tmp_path / "run", all_fail=True, proposals=60)
    (folder / "best.py").write_text("known = 1\n")
    show(folder, True)
    facts = json.loads(capsys.readouterr().out)
    assert any(
        member["proposal"] is None and member["objective"] == 7.00437 for member in facts["population"]
    )
    best(folder, False)
    text = capsys.readouterr().out
    assert "known heuristic nearest neighbour" in text
    assert "known = 1" in text


def test_a_folder_that_is_no_run_is_named(tmp_path: Path) -> None:
    """A missing folder, an empty one and a damaged file each give one line with a mend."""
    (tmp_path / "empty").mkdir()
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "run.sqlite").write_bytes(b"not a database, surely not one" * 100)
    for name in ("missing", "empty", "broken"):
        for command in (show, best):
            with pytest.raises(ConfigError) as raised:
                command(tmp_path / name, False)
            assert name in str(raised.value)
            assert "\n" not in str(raised.value)


def test_reading_changes_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Showing a run leaves its file as it was."""
    folder = store_run(tmp_path / "run")
    before = (folder / "run.sqlite").read_bytes()
    show(folder, False)
    best(folder, False)
    assert (folder / "run.sqlite").read_bytes() == before
