"""``ahd report`` of a comparison, against the shape written down in ``ahd.report.comparison``."""

from pathlib import Path
from typing import Any

import pytest

from ahd.config import ConfigError
from ahd.report.comparison import read
from ahd.report.comparison_charts import comparison_charts
from ahd.report.comparison_page import comparison_page
from ahd.report.make import make
from tests.report.compared import comparison, store_comparison
from tests.report.pages import HOSTILE, Page

DRAWN = ("differences", "curves")


def page_of(folder: Path) -> Page:
    make(folder, None, None, folder / "summary.md")
    return Page((folder / "report.html").read_text(encoding="utf-8"))


def test_a_whole_comparison_shows_everything(tmp_path: Path) -> None:
    """Arms, differences, curves by proposals and by seconds, and every run's objectives are on the page."""
    page = page_of(store_comparison(tmp_path, comparison()))
    assert not page.faults
    assert page.tags.count("svg") == 6
    for word in ("esopt - eoh", "seeds needed", "0.012", "34", "+12.28%", "confidence"):
        assert word in page.words
    assert "| esopt - eoh | train |" in (tmp_path / "summary.md").read_text()


@pytest.mark.parametrize(
    "part", ["differences", "curves", "settings", "reference", "decimals", "problem", "budget"]
)
def test_what_is_missing_or_strange_is_left_out(tmp_path: Path, part: str) -> None:
    """Any part but the arms may be missing or of another shape: the page has the rest."""
    strange: list[Any] = [None, [], {}, "x", 3, [[]], [{}], {"proposals": {"esopt": {"grid": [1]}}}]
    for value in strange:
        data = read(store_comparison(tmp_path, comparison() | {part: value}))
        charts = comparison_charts(data) if part in DRAWN else []
        page = Page(comparison_page(data, charts))
        assert not page.faults
        assert "noise" in page.words


def test_numbers_that_are_none_are_left_out(tmp_path: Path) -> None:
    """Runs without a test objective, spends or seeds, NaN included, are shown as unknown."""
    runs = [{"train": 6.5}, {"seed": 2, "train": float("nan"), "test": None}, {}]
    data = {"arms": [{"name": "one", "runs": runs}, {}]}
    page = page_of(store_comparison(tmp_path, data))
    assert not page.faults
    assert "6.50000" in page.words
    assert "nan" not in page.words


def test_hostile_names_stay_text(tmp_path: Path) -> None:
    """Markup in names of arms and settings makes no element."""
    page = page_of(store_comparison(tmp_path, comparison(HOSTILE)))
    assert not page.faults
    assert "</script></title>" in page.words


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"arms": []}', '{"arms": 3}', "[" * 100_000])
def test_no_comparison_is_one_line(tmp_path: Path, text: str) -> None:
    """A file that is no comparison is named, with the mend."""
    (tmp_path / "comparison.json").write_text(text)
    with pytest.raises(ConfigError, match=r"comparison\.json") as raised:
        read(tmp_path)
    assert "\n" not in str(raised.value)
