"""What is published of a comparison names no place of one machine, and its rows are those of the page."""

import json

import pytest

from benchmarks.publish import PLACE, ROOT, portable, rows


@pytest.mark.parametrize(
    ("command", "told"),
    [
        ("ahd compare tsp --out /home/me/x --seeds 5", "ahd compare tsp --seeds 5"),
        ("ahd compare tsp --out=/home/me/x --seeds 5 --csv a.csv", "ahd compare tsp --seeds 5"),
        ("ahd compare tsp --seeds 5 --out", "ahd compare tsp --seeds 5"),
    ],
)
def test_places_are_left_out(command: str, told: str) -> None:
    """Wherever they stand."""
    assert portable(command) == told


def test_rows_are_those_of_the_page() -> None:
    """Every arm that is published has the line that the script prints."""
    page = (ROOT / "docs" / "results.md").read_text().splitlines()
    for file in (ROOT / PLACE).glob("*/comparison.json"):
        printed = rows(file.parent.name, json.loads(file.read_text()))
        assert printed
        assert set(printed) <= set(page)
