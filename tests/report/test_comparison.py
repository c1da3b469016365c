"""``ahd report`` of a comparison, and the page that ``ahd compare`` leaves."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from ahd.compare.command import Output, analyse_folder
from ahd.compare.folder import read_result
from ahd.compare.result import Comparison
from ahd.compare.statistics import ONE_SEED, difference, summary
from ahd.config import ConfigError
from ahd.report.comparison_tables import verdict
from ahd.report.make import comparison_report, make
from tests.compare.made import made
from tests.report.compared import comparison, gathered, setting, store_comparison
from tests.report.pages import HOSTILE, Page

FIGURES = 6


def page_of(folder: Path) -> Page:
    make(folder, None, folder / "figures", folder / "summary.md")
    return Page((folder / "report.html").read_text(encoding="utf-8"))


def test_a_comparison_shows_everything(tmp_path: Path) -> None:
    """Setting, warning, every run's objectives, summaries, differences with all their figures, spends, six
    figures and the command are on the page, and in the Markdown."""
    found = comparison()
    page = page_of(store_comparison(tmp_path, found))
    summary_text = (tmp_path / "summary.md").read_text()
    assert not page.faults
    assert page.tags.count("svg") == FIGURES
    (only,) = found.settings
    words = [
        found.command,
        only.warnings[0],
        only.model,
        "200 proposals",
        "16 instances of size 50",
        "5.70445",
    ]
    for each in only.differences:
        assert each.low is not None
        assert each.effect is not None
        words += [f"{each.low:+.3g}", f"{each.effect:.2f}", str(each.seeds_needed)]
        words += [
            f"{each.wins} / {each.ties} / {each.losses}",
            f"{each.p_holm:.3f}",
            f"{each.p_sign_flip:.3f}",
        ]
    for arm in only.arms:
        words += [
            f"{arm.train.mean:.5f} ± {arm.train.sd:.3g}",
            f"{arm.test.best:.5f}",
            str(arm.spend.updates),
        ]
        words += [f"{value:.5f}" for run in arm.runs for value in (run.train, run.test)]
    for word in words:
        assert word in page.words
    assert "| esopt - eoh | training |" in summary_text
    assert f"{only.arms[0].runs[0].train:.5f}" in summary_text


def test_settings_are_kept_apart(tmp_path: Path) -> None:
    """Two settings have sections, figures and files of their own, whatever they are called, and wins over
    both; no id is there twice."""
    found = gathered([setting(), setting(name="TSP?")])
    page = page_of(store_comparison(tmp_path, found))
    assert not page.faults
    assert page.tags.count("svg") == 2 * FIGURES
    assert "over 2 settings" in page.words
    assert len(list((tmp_path / "figures").glob("*.svg"))) == 2 * FIGURES


def test_one_seed_says_what_cannot_be_known(tmp_path: Path) -> None:
    """With one seed there is neither interval nor band nor p, and the page says why."""
    page = page_of(store_comparison(tmp_path, comparison(seeds=[7])))
    assert not page.faults
    assert ONE_SEED in page.words
    assert "nan" not in page.words.lower()
    assert "None" not in page.words


def test_what_was_not_measured_is_left_out() -> None:
    """Runs without any objective, huge ones, and curves without values leave a page with the rest."""
    whole = setting()
    nothing = tuple(None for _ in whole.arms[0].by_proposals.x)
    empty = replace(whole.arms[0].by_proposals, mean=nothing, sd=nothing, best=nothing)
    for value in (None, 1e308, -1e200):
        runs = tuple(replace(run, train=value, test=value) for run in whole.arms[0].runs)
        told = summary([value] if value else [])
        arms = [replace(each, runs=runs, train=told, by_proposals=empty) for each in whole.arms]
        none = tuple(difference(each.arm, each.against, each.metric, {}, {}) for each in whole.differences)
        strange = replace(whole, arms=tuple(arms), differences=none, reference=value)
        page = Page(comparison_report(gathered([strange])).page)
        assert not page.faults
        assert "no seed that both arms have a value for" in page.words
        assert page.tags.count("svg") == 1


@pytest.mark.parametrize(
    ("ones", "others", "words"),
    [
        ((1.0, 1.1, 0.9, 1.05), (2.0, 2.1, 2.0, 2.2), "better than b in the mean, more than chance"),
        ((2.0, 2.1, 2.0, 2.2), (1.0, 1.1, 0.9, 1.05), "worse than b in the mean, more than chance"),
        ((1.0, 2.0, 3.0), (1.5, 1.2, 3.4), "may be chance"),
        ((1.0,), (1.5,), "cannot be said"),
        ((1.0, 2.0), (2.0, 1.0), "equal in the mean"),
        ((), (), "no seed"),
    ],
)
def test_the_verdict_follows_the_statistics(
    ones: tuple[float, ...], others: tuple[float, ...], words: str
) -> None:
    """The sentence says better or worse by the sign of the mean, and chance by p at 5%."""
    found = difference("a", "b", "test", dict(enumerate(ones)), dict(enumerate(others)))
    assert words in verdict(replace(found, p_holm=found.p))


def test_identical_arms_have_no_empty_figures(tmp_path: Path) -> None:
    """Arms with the same objectives on every seed are called identical, once; figures of their differences,
    which are all 0, are left out."""
    analyse_folder(compared(tmp_path), "", Output())
    text = (tmp_path / "report.html").read_text()
    assert Page(text).words.count("are identical on all 2 seeds") == 1
    assert "equal in the mean" not in text
    assert 'id="figure-runs-test"' in text
    assert "figure-differences" not in text


def test_hostile_texts_stay_text(tmp_path: Path) -> None:
    """Markup in every text of a comparison makes no element."""
    page = page_of(store_comparison(tmp_path, comparison(HOSTILE)))
    assert not page.faults
    assert page.tags.count("svg") == FIGURES
    assert "</script></title>" in page.words


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"version": 1}', '{"version": 9}', "[" * 100_000])
def test_no_comparison_is_one_line(tmp_path: Path, text: str) -> None:
    """A file that is no comparison is named, with the mend."""
    (tmp_path / "comparison.json").write_text(text)
    with pytest.raises(ConfigError, match=r"comparison\.json.*ahd compare") as raised:
        make(tmp_path)
    assert "\n" not in str(raised.value)
    assert not (tmp_path / "report.html").exists()


def compared(root: Path) -> Path:
    """Run folders of two methods over two seeds."""
    for method in ("eoh", "esopt"):
        for seed in (1, 2):
            made(root / f"{method}-{seed}", method, seed, 6.0 + seed / 10, 7.0)
    return root


def test_compare_leaves_its_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """``ahd compare`` ends with where the page is; with --json it prints the one document, and writes the
    same page."""
    analyse_folder(compared(tmp_path), "", Output())
    text = (tmp_path / "report.html").read_text()
    assert not Page(text).faults
    assert capsys.readouterr().out.splitlines()[-1] == f"page: {tmp_path / 'report.html'}"
    (tmp_path / "report.html").unlink()
    analyse_folder(tmp_path, "", Output(as_json=True))
    told = capsys.readouterr()
    assert Comparison.from_json(told.out) == read_result(tmp_path)
    assert json.loads(told.out)["arms"] == ["eoh", "esopt"]
    assert told.err == ""
    assert (tmp_path / "report.html").read_text() == text


@pytest.mark.parametrize("broken", ["place", "drawing"])
def test_without_a_page_the_comparison_stays(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, broken: str
) -> None:
    """Where the page cannot be written or drawn, table and comparison.json are there, and one line on
    standard error says how to make the page later."""
    compared(tmp_path)
    if broken == "place":
        (tmp_path / "report.html").mkdir()
    else:

        def fail(found: Comparison) -> None:
            raise RuntimeError("no\nfonts")

        monkeypatch.setattr("ahd.report.make.comparison_report", fail)
    analyse_folder(tmp_path, "", Output())
    told = capsys.readouterr()
    assert "minus eoh" in told.out
    assert "page:" not in told.out
    assert told.err.count("\n") == 1
    assert f"ahd report {tmp_path}" in told.err
    assert read_result(tmp_path).against == "eoh"
