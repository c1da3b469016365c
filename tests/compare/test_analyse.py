"""From run folders to a comparison: spends, pairs, curves, JSON, tables."""

import csv
import json
from pathlib import Path

import pytest

from ahd.compare.analyse import compare
from ahd.compare.command import Output, analyse_folder
from ahd.compare.curves import Trace, by_proposals, by_seconds
from ahd.compare.folder import read_result
from ahd.compare.result import Comparison
from ahd.compare.runs import find, read_all
from ahd.compare.spend import UnequalSpend
from ahd.config import ConfigError
from tests.compare.made import BUDGET, made

TRAIN = {"esopt": (6.1, 6.4, 6.0), "eoh": (6.5, 6.5, 6.4)}


def library(root: Path) -> Path:
    """Two methods over three seeds."""
    for method, values in TRAIN.items():
        for seed, value in enumerate(values, 1):
            made(root / f"{method}-{seed}", method, seed, value, value + 1)
    return root


def of(root: Path, against: str = "") -> Comparison:
    return compare(list(read_all(find(root), root)), against)


def test_a_known_difference_is_found(tmp_path: Path) -> None:
    """Means, differences by seed and spends of hand-made runs are those they were made with."""
    found = of(library(tmp_path))
    (setting,) = found.settings
    assert (found.against, found.arms, setting.seeds) == ("eoh", ("eoh", "esopt"), (1, 2, 3))
    assert setting.warnings == ()
    arm = {each.arm: each for each in setting.arms}["esopt"]
    assert arm.train.mean == pytest.approx(18.5 / 3)
    assert arm.test.best == pytest.approx(7.0)
    train, test = setting.differences
    assert train.values == pytest.approx((-0.4, -0.1, -0.4))
    assert test.mean == pytest.approx(-0.3)
    spend = arm.spend
    assert (spend.proposals, spend.init_proposals, spend.updates) == (3 * BUDGET, 6, 3)
    assert spend.completion_tokens == 3 * 5 * (BUDGET + 2)
    assert spend.evaluations == 9
    assert spend.seconds.es == 6.0
    assert [tally.wins for tally in found.tallies] == [1, 1]
    assert arm.runs[0].folder == "esopt-1"


def test_tuning_is_an_arm_of_its_own(tmp_path: Path) -> None:
    """Runs that differ in their share for tuning alone are two arms, paired by seed and without a warning."""
    for seed in (1, 2):
        made(tmp_path / f"plain-{seed}", seed=seed)
        made(tmp_path / f"tuned-{seed}", seed=seed, train=5.5, tune=0.3)
    found = of(tmp_path)
    assert found.arms == ("eoh", "eoh+tune=0.3")
    assert found.settings[0].warnings == ()
    assert found.settings[0].differences[0].values == pytest.approx((-0.5, -0.5))


def test_json_round_trip(tmp_path: Path) -> None:
    """What is written is read back equal; damage and other versions are refused in one line."""
    found = of(library(tmp_path))
    text = found.to_json()
    assert Comparison.from_json(text) == found
    for broken in ("", "[]", "{}", text[:99], text.replace('"version": 1', '"version": 9')):
        with pytest.raises(ConfigError):
            Comparison.from_json(broken)
    lame = json.loads(text)
    lame["settings"][0]["arms"] = 3
    with pytest.raises(ConfigError, match="damaged"):
        Comparison.from_json(json.dumps(lame))


def test_unequal_spends_are_refused(tmp_path: Path) -> None:
    """The message names the odd run, its figure, the usual one and the mend."""
    library(tmp_path)
    made(tmp_path / "esopt-4", "esopt", 4, budget=BUDGET + 3)
    with pytest.raises(UnequalSpend) as caught:
        of(tmp_path)
    text = str(caught.value)
    assert "esopt-4 has spent 15 proposals" in text
    assert "12" in text
    assert "--budget 12" in text
    assert "\n" not in text


@pytest.mark.parametrize(("spent", "words"), [(7, "7 of its 12"), (None, "was not ended")])
def test_unfinished_runs_are_refused(tmp_path: Path, spent: int | None, words: str) -> None:
    """A run that has not spent its budget, or was not ended, is named with what to do."""
    library(tmp_path)
    made(tmp_path / "eoh-4", "eoh", 4, spent=spent, status="interrupted")
    with pytest.raises(UnequalSpend, match=words) as caught:
        of(tmp_path)
    assert f"ahd resume {tmp_path / 'eoh-4'}" in str(caught.value)


def test_two_runs_of_one_seed_are_refused(tmp_path: Path) -> None:
    """Both folders are named."""
    library(tmp_path)
    made(tmp_path / "again", "eoh", 2)
    with pytest.raises(ConfigError, match=r"again.*eoh-2|eoh-2.*again"):
        of(tmp_path)


def test_other_refusals(tmp_path: Path) -> None:
    """An arm that is not there, one arm alone, a folder without runs."""
    with pytest.raises(ConfigError, match="no run folders"):
        find(tmp_path)
    made(tmp_path / "eoh-1", "eoh", 1)
    with pytest.raises(ConfigError, match="two methods"):
        of(tmp_path)
    made(tmp_path / "noise-1", "noise", 1)
    with pytest.raises(ConfigError, match="--against magic"):
        of(tmp_path, "magic")


def test_what_breaks_pairs_is_told(tmp_path: Path) -> None:
    """Other initial populations, options, instances and lone seeds are warned of by name; kinds of learning
    are not held against a frozen arm."""
    made(tmp_path / "a", "eoh", 1)
    made(tmp_path / "b", "eoh", 2)
    made(tmp_path / "c", "esopt", 1, init=("first", "other"), top_p=0.5, sigma=0.3)
    made(tmp_path / "d", "noise", 1, known={"nearest neighbour": 9.5})
    (setting,) = of(tmp_path).settings
    text = "\n".join(setting.warnings)
    assert "esopt and eoh have other initial populations: seed 1 (seed 1 from proposal 2 on)" in text
    assert "esopt and eoh differ in --top-p" in text
    assert "seed 2 of eoh has no partner in esopt" in text
    assert "noise and eoh differ in training instances: seed 1" in text
    assert "--sigma" not in text
    (other,) = of(tmp_path, "noise").settings
    assert "--sigma" in "\n".join(other.warnings)


def test_temperatures_are_arms(tmp_path: Path) -> None:
    """Runs at other temperatures are arms of their own, whichever option made them so."""
    made(tmp_path / "a", "eoh", 1)
    made(tmp_path / "b", "eoh", 1, search_temperature=0.7)
    made(tmp_path / "c", "eoh", 1, temperature=1.2)
    found = of(tmp_path)
    assert found.arms == ("eoh", "eoh@0.7", "eoh@1.2")
    assert [arm.temperature for arm in found.settings[0].arms] == [None, 0.7, 1.2]


def test_a_missing_test_objective_is_told(tmp_path: Path) -> None:
    """Its seed is left out of the test, named, and the training figures stay."""
    library(tmp_path)
    made(tmp_path / "eoh-4", "eoh", 4, test=None)
    made(tmp_path / "esopt-4", "esopt", 4)
    (setting,) = of(tmp_path).settings
    assert "eoh, seed 4 has no test objective: not measured" in setting.warnings
    assert [each.seeds for each in setting.differences] == [(1, 2, 3, 4), (1, 2, 3)]


def test_settings_are_won_and_lost(tmp_path: Path) -> None:
    """A problem each: one won, one lost, one equal."""
    for problem, train in (("tsp", 5.0), ("knapsack", 7.0), ("cvrp", 6.0)):
        for seed in (1, 2):
            made(tmp_path / problem / f"eoh-{seed}", "eoh", seed, 6.0, problem=problem)
            made(tmp_path / problem / f"esopt-{seed}", "esopt", seed, train, problem=problem)
    tally = of(tmp_path).tallies[0]
    assert (tally.arm, tally.metric, tally.wins, tally.ties, tally.losses) == ("esopt", "train", 1, 1, 1)
    assert (tally.significant_wins, tally.significant_losses) == (0, 0)


def test_curves_hold_the_best_so_far(tmp_path: Path) -> None:
    """Against proposals the best of the first population, then the best found, from the proposal that found
    it; curves never rise and end at the objective of the run."""
    found = of(library(tmp_path))
    for arm in found.settings[0].arms:
        for curve in (arm.by_proposals, arm.by_seconds):
            known = [value for value in curve.mean if value is not None]
            assert known == sorted(known, reverse=True)
            assert known[-1] == pytest.approx(arm.train.mean)
            assert len(curve.x) == len(curve.mean) == len(curve.sd) == len(curve.best)
        assert arm.by_proposals.x == tuple(range(BUDGET + 1))
        assert arm.by_proposals.mean[:-2] == (8.0,) * (BUDGET - 1)
    esopt = {arm.arm: arm for arm in found.settings[0].arms}["esopt"]
    assert esopt.by_seconds.x[-1] == pytest.approx(3 * (BUDGET + 2) + 3 * 0.5 + 2.0)


def test_curves_over_runs_of_other_lengths() -> None:
    """Before a seed has anything there is no mean; a run that has ended keeps its last value."""
    traces = [Trace((None, 4.0, 3.0), (1.0, 2.0, 3.0)), Trace((5.0, 5.0, 1.0), (2.0, 4.0, 8.0))]
    found = by_proposals(traces, (0.0, 1.0, 2.0))
    assert found.mean == (None, 4.5, 2.0)
    assert found.best == (None, 4.0, 1.0)
    assert by_seconds(traces, (0.0, 1.0, 2.0, 3.0, 8.0)).mean == (None, None, 4.5, 4.0, 2.0)
    assert by_proposals(traces[1:], (0.0,)).sd == (None,)


def test_tables_fit_80_columns(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Long arms, many seeds and large figures: no line is wider, no cell is cut, every arm is there."""
    for method, value in (("sample-esopt", 123.4), ("sample", 140.0), ("eoh", 150.0)):
        for seed in (1, 2, 3):
            path = tmp_path / f"{method}-{seed}"
            made(path, method, seed, value + seed**2 * len(method), 200.0 - seed, search_temperature=0.75)
    analyse_folder(tmp_path, "", Output(csv=tmp_path / "runs.csv"))
    text = capsys.readouterr().out
    assert max(map(len, text.splitlines()[:-2])) <= 80
    assert "…" not in text
    assert text.count("sample-esopt@0.75") >= 5
    rows = list(csv.DictReader((tmp_path / "runs.csv").open()))
    assert len(rows) == 9
    assert {row["proposals"] for row in rows} == {str(BUDGET)}
    assert f"minus {read_result(tmp_path).against}" in text


def test_a_long_arm_gives_way_to_figures(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """An arm with several options of its own takes two lines; no figure is cut."""
    own = {"tune": 0.25, "finalists": 10, "probe": 4, "feedback": True}
    for seed in (1, 2, 3):
        made(tmp_path / f"eoh-{seed}", "eoh", seed, -40.15 + seed**2 / 1000, -40.25 - seed / 100)
        made(tmp_path / f"own-{seed}", "eoh", seed, -40.16 + seed / 1000, -40.23906, **own)
    analyse_folder(tmp_path, "", Output())
    text = capsys.readouterr().out
    assert max(map(len, text.splitlines()[:-2])) <= 80
    assert "…" not in text
    assert text.count("-40.239") >= 2


def test_json_is_the_document(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """--json prints what comparison.json holds, and reading changes no run."""
    library(tmp_path)
    before = {file: file.read_bytes() for file in tmp_path.rglob("run.sqlite")}
    analyse_folder(tmp_path, "esopt", Output(as_json=True))
    text = capsys.readouterr().out
    assert Comparison.from_json(text) == read_result(tmp_path)
    assert json.loads(text)["settings"][0]["differences"][0]["arm"] == "eoh"
    assert {file: file.read_bytes() for file in tmp_path.rglob("run.sqlite")} == before
