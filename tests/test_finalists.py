"""The result of a run is the finalist that does best on instances drawn afresh, everywhere it is shown."""

import json
from pathlib import Path

import pytest

from ahd.config import RunConfig
from ahd.display.replay import Member, kept, led, replay
from ahd.events import Evolved, Started
from ahd.finalists import choose, chosen, lead, with_others
from ahd.follow import Follower
from ahd.population import Individual, Population
from ahd.store import Proposal, Store
from tests.fakes import SMALL
from tests.test_cli import ahd


def population() -> Population:
    made = Population(5)
    made.admit(Individual(float(k), f"code {k}", "", "", k, "m1") for k in (1, 2, 3, 4))
    return made


@pytest.mark.parametrize(
    ("fresh", "count", "order"),
    [
        ({1: 5.0, 2: 4.0, 3: 3.0, 4: 1.0}, 3, [3, 1, 2, 4]),
        ({1: 5.0, 2: 4.0, 3: 3.0, 4: 1.0}, 9, [4, 1, 2, 3]),
        ({1: 2.0, 2: 2.0, 3: 2.0, 4: 2.0}, 4, [1, 2, 3, 4]),
        ({1: 5.0, 2: None, 3: 4.0}, 3, [3, 1, 2, 4]),
        ({1: 5.0}, 4, [1, 2, 3, 4]),
        ({}, 4, [1, 2, 3, 4]),
    ],
)
def test_the_best_elsewhere_comes_first(
    tmp_path: Path, fresh: dict[int, float | None], count: int, order: list[int]
) -> None:
    """Of the first ``count``; of equals the better trained; where nothing can be compared, nobody."""
    members, told = population(), []
    store = Store.create(tmp_path / "run", RunConfig("tsp"))
    choose(members, count, lambda each: fresh.get(each.proposal or 0), store, told.append)
    assert [each.proposal for each in members.members] == order
    assert chosen(store) == (order[0] if order[0] != 1 else None)
    assert len(told) == (len([value for value in fresh.values() if value is not None]) > 1)


def test_nobody_chosen_changes_no_order() -> None:
    """Known heuristics, which are no proposals, stay where they are."""
    members = [Member(1.0, "near", None, ""), Member(2.0, "m1", 4, ""), Member(3.0, "e1", 2, "")]
    assert led(members, None) == tuple(members)
    assert [member.proposal for member in led(members, 2)] == [2, None, 4]


def test_the_chosen_is_the_result_wherever_it_is_shown(tmp_path: Path) -> None:
    """A scripted run: best.py, ``ahd best``, ``ahd show``, the dashboard's end and a resumed run agree with
    the run file; the same run without finalists makes the same proposals."""
    command = ["run", *SMALL, "--model", "scripted", "--budget", "60", "--seed", "3", "--display", "plain"]
    folders = {count: tmp_path / f"run{count}" for count in (1, 10)}
    told = {
        count: ahd(*command, "--finalists", str(count), "--out", str(folder)).stdout
        for count, folder in folders.items()
    }
    assert "comparing the 10 best on fresh training sets" in told[10]
    assert "comparing" not in told[1]
    plain, store = Store.open(folders[1]), Store.open(folders[10])
    assert [row.code for row in plain.proposals()] == [row.code for row in store.proposals()]
    first = chosen(store)
    shown = json.loads(ahd("show", str(folders[10]), "--json").stdout)
    best = json.loads(ahd("best", str(folders[10]), "--json").stdout)
    expected = (
        first
        or min(
            (row for row in store.proposals() if row.objective is not None),
            key=lambda row: row.objective or 0.0,
        ).id
    )
    row = next(row for row in store.proposals() if row.id == expected)
    assert shown["best"]["proposal"] == best["proposal"] == expected
    assert shown["best"]["objective"] == best["objective"] == row.objective
    assert shown["chosen"] == first
    assert row.objective is not None
    assert f"{row.objective / shown['known']['farthest insertion'] - 1:.2%} worse" in told[10]
    assert best["code"] in (folders[10] / "best.py").read_text()
    ends = [event for _, event in replay(folders[10]) if isinstance(event, Evolved)]
    assert ends[-1].members[0].proposal == expected
    looked = [event for _, event in Follower(store).look().events if isinstance(event, Evolved)]
    assert looked[-1].members[0].proposal == expected
    again = ahd("resume", str(folders[10]), "--display", "plain").stdout
    assert f"{row.objective:.5f}" in again


def row(number: int, objective: float | None, duplicate_of: int | None = None) -> Proposal:
    code, text = f"code {number}", ""
    outcome = "ok" if objective is not None else "runtime_error"
    return Proposal(
        number, 1, 0, "search", 1, "m1", (), text, text, text, code, text, text, outcome, objective, text,
        duplicate_of, 0, None, None, None, 0, 0, 0.0, 0.0, 0.0, 0.0,
    )  # fmt: skip


def test_more_finalists_than_members_come_from_the_other_proposals() -> None:
    """The best of them with objectives of their own, neither failures nor duplicates; the population is in
    it as a whole, however few are wanted."""
    members = population()  # objectives and numbers 1 to 4
    rows = [
        row(9, 2.5),
        row(10, 2.5),
        row(11, 3.0),
        row(12, 0.5, 1),
        row(13, None),
        row(14, 7.0),
        row(15, 8.0),
    ]
    for count, numbers in (1, []), (4, []), (5, [9]), (6, [9, 14]), (50, [9, 14, 15]):
        pool = with_others(members, rows, count)
        assert {each.proposal for each in pool.members} == {1, 2, 3, 4, *numbers}
        assert pool.members == sorted(pool.members, key=lambda each: each.objective)


@pytest.mark.parametrize(("gone", "first"), [((), 9), ((1, 2), 9), ((1,), 3), ((), 1)])
def test_the_result_leads_what_is_left_of_the_population(
    tmp_path: Path, gone: tuple[int, ...], first: int
) -> None:
    """In the search as in what is replayed from its run file, also where it was no member."""
    config = RunConfig("tsp", population=4)
    store = Store.create(tmp_path / "run", config)
    members = population()
    rows = [*(row(k, float(k)) for k in (1, 2, 3, 4)), row(9, 2.5)]
    members.size = 4
    pool = with_others(members, rows, 5)
    pool.members = [each for each in pool.members if each.proposal not in gone]
    choose(pool, 5, lambda each: float(each.proposal != first), store, lambda text: None)
    lead(members, pool, store)
    assert [each.proposal for each in members.members] == [first, *({1, 2, 3, 4} - {first, *gone})][:4]
    started = Started(config, store.folder, "fake", 4, "skeleton", "", 0, None, "", 5)
    shown = kept(started, rows, gone, chosen(store))
    assert shown[0].proposal == first
    assert len(shown) <= 4
