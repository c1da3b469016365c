"""A population that began with a known heuristic has it as its best until a proposal is better, wherever the
best is told."""

import shutil
from contextlib import closing
from pathlib import Path

import pytest

from ahd.report.charts import run_charts
from ahd.report.read import read as read_report
from ahd.run import _best_stored
from ahd.show import read
from ahd.store import Store
from tests.display.stored_run import store_run


@pytest.fixture(scope="module")
def seeded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run none of whose initial proposals is valid, and no other is good enough."""
    folder = store_run(tmp_path_factory.mktemp("seeded") / "run", proposals=40, all_fail=True)
    with closing(Store.open(folder, write=True)) as store, store._connection:
        store._connection.execute("UPDATE proposals SET objective = 9 WHERE objective IS NOT NULL")
    return folder


def test_an_interrupted_run_ends_with_it(seeded: Path) -> None:
    """As the run's dashboard shows it, not with the best of the proposals."""
    with closing(Store.open(seeded)) as store:
        best = _best_stored(store)
        assert all(row.objective in (None, 9) for row in store.proposals())
    assert best == read(seeded).members[0].objective < 9


def test_the_report_begins_with_it(seeded: Path) -> None:
    """In the caption of the convergence as in the population."""
    report = read_report(seeded)
    chart = next(each for each in run_charts(report) if each.name == "convergence")
    told = report.run.number(report.run.members[0].objective)
    assert f"{told} of a known heuristic, {told} after" in chart.caption


def test_a_run_that_has_not_begun_has_no_best(seeded: Path, tmp_path: Path) -> None:
    """Nothing is made up."""
    folder = Path(shutil.copytree(seeded, tmp_path / "run"))
    with closing(Store.open(folder, write=True)) as store, store._connection:
        store._connection.execute("DELETE FROM meta WHERE key = 'started_event'")
        assert _best_stored(store) is None
