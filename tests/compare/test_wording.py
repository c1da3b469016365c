"""What the figures of a comparison say in words."""

from dataclasses import replace
from pathlib import Path

import pytest

from ahd.compare.analyse import compare
from ahd.compare.command import Output, analyse_folder
from ahd.compare.result import Setting
from ahd.compare.runs import find, read_all
from ahd.compare.wording import identical
from tests.compare.made import BUDGET, made


def same(root: Path, test: float = 7.0) -> Setting:
    """Two arms with the training objectives of each other; ``test``: that of one of them."""
    for seed in (1, 2, 3):
        made(root / f"eoh-{seed}", "eoh", seed, 6.0 + seed / 10, 7.0)
        made(root / f"esopt-{seed}", "esopt", seed, 6.0 + seed / 10, test)
    (found,) = compare(list(read_all(find(root), root))).settings
    return found


def test_identical_arms_are_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The sentence says on how many seeds, after which proposal nothing got better, and what would help; the
    terminal shows it."""
    (told,) = identical(same(tmp_path))
    assert "On training and test esopt and eoh are identical on all 3 seeds." in told
    assert f"No run got better after proposal {BUDGET - 1}. Take a larger budget" in told
    analyse_folder(tmp_path, "", Output())
    assert told in " ".join(capsys.readouterr().out.split())


def test_runs_that_never_got_better_are_named(tmp_path: Path) -> None:
    """Where the best objective stays what it was at first, the initial population is named."""
    setting = same(tmp_path)
    flat = [
        replace(arm, by_proposals=replace(arm.by_proposals, mean=(8.0,) * len(arm.by_proposals.x)))
        for arm in setting.arms
    ]
    assert "after its initial population." in identical(replace(setting, arms=tuple(flat)))[0]


def test_only_what_is_identical_is_said_to_be(tmp_path: Path) -> None:
    """Equal on training but not on test: only training is named, and nothing is needed to tell them apart."""
    (told,) = identical(same(tmp_path, test=7.5))
    assert told.startswith("On training esopt")
    assert "Take" not in told
