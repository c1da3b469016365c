"""The fold of events into running figures."""

import itertools
import math

import pytest

from ahd.config import Method
from ahd.display.progress import Progress
from ahd.events import Evolved, Member, Proposed, Updated
from tests.display.synthetic_run import synthetic


def _folded(**options: object) -> tuple[Progress, float, list[object]]:
    progress, now = Progress(), 0.0
    events: list[object] = []
    for now, event in synthetic(**options):  # type: ignore[arg-type]
        progress.add(event, now)
        events.append(event)
    return progress, now, events


def test_counts_agree_with_the_events() -> None:
    """Outcomes, operators and tokens each add up to what the events say."""
    progress, _, events = _folded()
    proposed = [event for event in events if isinstance(event, Proposed)]
    assert progress.proposals == len(proposed) == progress.spent + progress.init_spent
    assert sum(tally.proposals for tally in progress.operators.values()) == len(proposed)
    assert sum(tally.proposals for tally in progress.phases.values()) == len(proposed)
    assert sum(tally.valid for tally in progress.operators.values()) == progress.outcomes["ok"]
    assert progress.outcomes["ok"] == sum(event.objective is not None for event in proposed)
    assert progress.tokens == sum(event.completion_tokens for event in proposed)
    assert len(progress.updates) == sum(isinstance(event, Updated) for event in events)


def test_validity_and_duplicates_are_of_the_search() -> None:
    """Initial proposals count until the search has made one, then only its own, as on the closing screen."""
    for count in (20, 90):
        progress, _, events = _folded(proposals=count)
        phase = "search" if count > 30 else "init"
        counted = [event for event in events if isinstance(event, Proposed) and event.phase == phase]
        assert progress.validity == sum(event.outcome == "ok" for event in counted) / len(counted)
        assert progress.duplicates == sum(event.duplicate for event in counted)
    assert len(counted) == 60


def test_history_falls_strictly_and_ends_in_the_best() -> None:
    """The history of the best only improves, and every improvement belongs to one operator."""
    progress, _, events = _folded()
    values = [value for _, value in progress.history]
    assert all(later < earlier for earlier, later in itertools.pairwise(values))
    objectives = [event.objective for event in events if isinstance(event, Proposed) and event.objective]
    assert values[-1] == progress.best == min(objectives)
    assert sum(tally.better for tally in progress.operators.values()) == len(values)


@pytest.mark.parametrize("count", [0, 1, 400])
def test_time_split_adds_to_one_or_is_empty(count: int) -> None:
    """Shares of time add to 1 as soon as there is any work, and never divide by zero before."""
    progress, now, _ = _folded(proposals=count)
    assert math.isclose(sum(progress.split.values()), 1.0 if count else 0.0)
    assert progress.left(now) is None or progress.left(now) >= 0  # type: ignore[operator]


def test_es_time_counts_perturbations_and_updates() -> None:
    """ES seconds are those of the proposals plus those of the updates."""
    progress, _, events = _folded()
    perturbing = sum(event.es_seconds for event in events if isinstance(event, Proposed))
    updating = sum(event.seconds for event in events if isinstance(event, Updated))
    assert progress.es_seconds == pytest.approx(perturbing + updating)
    frozen, _, _ = _folded(method=Method.EOH)
    assert frozen.es_seconds == 0
    assert not frozen.updates


def test_time_left_is_the_pace_times_what_remains() -> None:
    """At a steady pace the estimate is remaining proposals times seconds per proposal."""
    progress, now, _ = _folded(proposals=200, method=Method.EOH)
    remaining = progress.budget - progress.spent
    assert progress.left(now) == pytest.approx(remaining * 0.35, rel=0.02)


def test_replayed_proposals_do_not_count_for_the_pace() -> None:
    """A resumed run reads hundreds of proposals in no time; its pace starts afterwards."""
    progress, now, _ = _folded(proposals=0)
    for number in range(1, 101):
        progress.add(_proposal(number, replayed=True), now)
    assert progress.left(now + 1) is None
    for number in range(101, 111):
        now += 2.0
        progress.add(_proposal(number, replayed=False), now)
    assert progress.left(now) == pytest.approx((500 - 110) * 2.0)


def test_a_known_heuristic_in_the_population_sets_the_best() -> None:
    """A population started from a known heuristic has its objective as best; worse ones do not improve."""
    progress, now, _ = _folded(proposals=0)
    progress.add(Evolved((Member(6.0, "nearest", None, "x"),)), now)
    progress.add(_proposal(1, replayed=False), now)
    assert progress.best == 6.0
    assert progress.best_id is None
    assert progress.operators["m1"].better == 0


def _proposal(number: int, replayed: bool) -> Proposed:
    return Proposed(
        number, "search", 1, "m1", "ok", 7.0, "", False, 10, 0.1, 0.0, 0.1, number, 0, 7.0, replayed
    )
