"""Ancestors of the best, and what each step changed."""

from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from ahd.report.charts import _lanes
from ahd.report.lineage import changes, lineage, stored_parents
from ahd.store import Proposal
from tests.report.runs import rows

pytestmark = pytest.mark.slow


def family(source: Proposal, parents: dict[int, tuple[int | None, ...]]) -> list[Proposal]:
    """Proposals with these parents; the code of each names it."""
    return [
        replace(source, id=key, parents=value, code=f"a = {key}\n", completion=str(key), objective=1.0 / key)
        for key, value in parents.items()
    ]


def test_the_main_line_leads_to_the_first_population(run: Path) -> None:
    """Each step starts where the next one ends, parents are older, and its last has no stored parent."""
    found = rows(run)
    best = min((row for row in found if row.objective is not None), key=lambda row: row.objective or 0.0)
    steps = lineage(found, best).steps
    assert steps[0].child.id == best.id
    for step, following in pairwise(steps):
        assert step.parent is not None
        assert step.parent.id == following.child.id < step.child.id
        assert step.parent.id in step.child.parents
        assert step.parent.id not in step.others
    assert steps[-1].parent is None
    assert all(key is None for key in steps[-1].child.parents)


def test_ancestors_are_all_and_only_those_reached(run: Path) -> None:
    """In random families the ancestors are those that following parents reaches, newest first, and each
    drawn lane holds one family line at a time."""
    source, rng = rows(run)[0], np.random.default_rng(4)
    for _ in range(30):
        parents: dict[int, tuple[int | None, ...]] = {1: (), 2: (None,)}
        for key in range(3, 25):
            parents[key] = tuple(int(each) for each in rng.choice(np.arange(1, key), 2, replace=False))
        everyone = family(source, parents)
        found = lineage(everyone, everyone[-1])
        reached, waiting = set(), [24]
        while waiting:
            key = waiting.pop()
            reached.add(key)
            waiting += [each for each in parents[key] if each is not None]
        assert [row.id for row in found.ancestors] == sorted(reached, reverse=True)
        by_id = {row.id: row for row in found.ancestors}
        main = {step.child.id for step in found.steps}
        lanes = _lanes(found.ancestors, by_id, main)
        assert {lanes[key] for key in main} == {0}
        assert not {key for key in by_id if lanes[key] == 0} - main
        for row in found.ancestors:
            newest = max((c.id for c in found.ancestors if row in stored_parents(c, by_id)), default=row.id)
            between = {key for key in by_id if row.id < key < newest and lanes[key] == lanes[row.id]}
            assert not between or row.id in main


def test_a_damaged_file_ends(run: Path) -> None:
    """Proposals that name themselves, later ones or missing ones as parents do not make a circle."""
    source = rows(run)[0]
    everyone = family(source, {1: (3,), 2: (2, 99), 3: (1, 2, None)})
    found = lineage(everyone, everyone[-1])
    assert [row.id for row in found.ancestors] == [3, 2, 1]
    assert found.steps[-1].parent is None


def test_no_best_has_no_lineage() -> None:
    """A run without a valid proposal has neither ancestors nor steps."""
    assert lineage([], None).steps == ()


def test_changes_are_those_lines_that_differ() -> None:
    """The lines after + and - are the new and the old text's own; equal codes have none."""
    before, after = "a = 1\nb = 2\nc = 3\n", "a = 1\nb = 5\nc = 3\n"
    lines = changes(before, after)
    assert [line for line in lines if line[0] in "+-"] == ["-b = 2", "+b = 5"]
    assert changes(before, before) == ()
