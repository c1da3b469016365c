"""The dashboard as it looked when somebody last looked at it."""

from pathlib import Path

import pytest

from tests.display.snapshot import FOLDER, SIZES, snapshots


def test_the_dashboard_looks_as_it_did(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A stored run in its middle, at its end and closed is drawn at 80 and 120 columns as the snapshots have
    it. Where another picture is meant, `python -m tests.display.snapshot` writes them anew."""
    monkeypatch.chdir(tmp_path)
    drawn = dict(snapshots())
    kept = {file.name: file.read_text(encoding="utf-8") for file in FOLDER.glob("*.txt")}
    assert len(drawn) == 3 * len(SIZES)
    assert sorted(kept) == sorted(drawn)
    for name, text in drawn.items():
        width = int(name.removesuffix(".txt").rpartition("-")[2])
        assert max(map(len, text.splitlines())) <= width
        assert text == kept[name], (
            f"{name}: draw it anew with `python -m tests.display.snapshot`, and look at it"
        )
