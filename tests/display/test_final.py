"""The figures of the closing screen."""

from dataclasses import replace

from ahd.display.final import final_rows
from ahd.display.progress import Progress
from ahd.events import Finished
from tests.display.synthetic_run import synthetic


def _told(best: float | None = None, proposals: int = 200, finish: str = "done") -> list[str]:
    progress, now = Progress(), 0.0
    for now, event in synthetic(proposals, finish=finish):
        if isinstance(event, Finished) and best is not None:
            event = replace(event, best=best)
        progress.add(event, now)
    return [" ".join((row.label, row.value, row.rest)).strip() for row in final_rows(progress, now)]


def test_one_as_good_as_a_known_heuristic_is_named() -> None:
    """Beside how far it is from the best known one."""
    rows = _told(best=8.2)
    assert "17.07% worse than nearest neighbour (7.00437)" in rows
    assert "equal to farthest" in rows
    assert not [row for row in _told(best=7.5) if row.startswith("equal")]


def test_nothing_proposed_has_no_share_of_valid_ones() -> None:
    """A run that was stopped before its first proposal did not fail at all of them."""
    assert not [row for row in _told(proposals=0, finish="interrupted") if row.startswith("valid")]
    assert [row for row in _told() if row.startswith("valid")]


def test_what_to_do_next() -> None:
    """A finished run has a page to be made, an interrupted one goes on."""
    assert any(row.startswith("next ahd report results/") for row in _told())
    rows = _told(finish="interrupted")
    assert any(row.startswith("go on ahd resume results/") for row in rows)
    assert not any(row.startswith("next") for row in rows)


def test_the_test_figure_stands_beside_a_known_heuristic() -> None:
    """On the same instances, so that a run that overtook it in training alone is seen to."""
    assert "8.01% better than nearest neighbour (6.95927)" in _told()
    assert not [row for row in _told(finish="interrupted") if "6.95927" in row]


def test_each_gap_names_its_own_reference() -> None:
    """The test instances have another one than the training instances."""
    rows = _told()
    assert any("best, train" in row and "from the reference 5.70400" in row for row in rows)
    assert any("best, test" in row and "+12.81% from the reference 5.67500 (optimum)" in row for row in rows)
