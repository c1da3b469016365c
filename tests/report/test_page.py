"""``ahd report`` of a run: what the page shows, and that whatever is in a run stays text."""

import json
import os
import re
import shutil
import sqlite3
from dataclasses import replace
from html import escape
from pathlib import Path

import pytest

from ahd.config import ConfigError, Method
from ahd.report.charts import named, run_charts
from ahd.report.make import make
from ahd.report.options import options
from ahd.report.page import COUNTED
from ahd.report.read import read
from ahd.show import show, summary
from tests.display.stored_run import store_run
from tests.report.pages import HOSTILE, Page
from tests.report.runs import changed

pytestmark = pytest.mark.slow

FIGURES = ("convergence", "population", "validity", "outcomes", "learning", "lineage")


def page_of(folder: Path, out: Path) -> str:
    make(folder, out)
    return out.read_text(encoding="utf-8")


def test_the_page_shows_what_the_run_found(run: Path, tmp_path: Path) -> None:
    """Every figure with its text alternative, the best code, its objective, the command, every operator and
    the machine are on the page; the page is well formed and loads nothing."""
    text = page_of(run, tmp_path / "page.html")
    page, report = Page(text), read(run)
    assert not page.faults
    assert page.tags.count("svg") == len(FIGURES)
    for name in FIGURES:
        assert f'id="figure-{name}"' in text
        assert f'aria-labelledby="{name}-title {name}-desc"' in text
    assert report.code.strip() in page.words
    assert f"{report.facts['best']['objective']:.5f}" in page.words
    assert report.run.started.config.command in page.words
    assert "Content-Security-Policy" in text
    assert report.environment["python"] in page.words
    for operator in report.facts["operators"]:
        assert operator in page.words


def test_nothing_on_the_page_has_an_address(run: Path, tmp_path: Path) -> None:
    """No text or attribute of the page names another resource: no http, no protocol-relative address."""
    text = page_of(run, tmp_path / "page.html")
    assert not re.search(r"https?:|ftp:|//[a-z]", text)


def test_the_report_agrees_with_ahd_show(run: Path) -> None:
    """Its facts are those of ``ahd show --json``; the last population is that of the table there."""
    report = read(run)
    assert report.facts == summary(report.run)
    assert report.generations[-1].objectives == tuple(member.objective for member in report.run.members)
    assert [point.at for point in report.points][-1] == report.facts["spent"]
    assert report.points[0].at == 1 - report.facts["init_spent"]


@pytest.mark.parametrize("status", ["running", "interrupted"])
def test_a_run_without_proposals_has_a_page(run: Path, tmp_path: Path, status: str) -> None:
    """Where nothing is stored yet the page says so, and how to go on; there is nothing drawn."""

    def empty(connection: sqlite3.Connection) -> None:
        connection.execute("DELETE FROM proposals")
        connection.execute("DELETE FROM updates")
        connection.execute("DELETE FROM meta WHERE key IN ('finished', 'environment')")
        connection.execute("UPDATE meta SET value = ? WHERE key = 'status'", (status,))

    text = page_of(changed(run, tmp_path / "empty", empty), tmp_path / "page.html")
    page = Page(text)
    assert not page.faults
    assert "svg" not in page.tags
    assert "There are no proposals yet" in page.words
    assert "ahd resume" in page.words
    assert "machine and versions" in page.words


def test_every_state_of_a_run_has_a_page(run: Path, tmp_path: Path) -> None:
    """A run cut off after any of some proposals, as a reader meets it while it goes on, has a whole page."""
    for kept in (1, 2, 9, 17, 25):

        def cut(connection: sqlite3.Connection, kept: int = kept) -> None:
            connection.execute("DELETE FROM proposals WHERE id > ?", (kept,))
            connection.execute("DELETE FROM updates WHERE batch > (SELECT MAX(batch) FROM proposals)")
            connection.execute("DELETE FROM meta WHERE key = 'finished'")
            connection.execute("UPDATE meta SET value = 'interrupted' WHERE key = 'status'")

        page = Page(page_of(changed(run, tmp_path / str(kept), cut), tmp_path / "page.html"))
        assert not page.faults
        assert "interrupted" in page.words


@pytest.mark.parametrize("objective", ["1e308", "1e200 * id", "-objective", "6.5", "0.0", "1e-300 * id"])
def test_strange_objectives_have_a_page(run: Path, tmp_path: Path, objective: str) -> None:
    """Objectives that are huge, negative, tiny or all the same do not stop the page."""

    def change(connection: sqlite3.Connection) -> None:
        connection.execute(f"UPDATE proposals SET objective = {objective} WHERE objective IS NOT NULL")

    page = Page(page_of(changed(run, tmp_path / "run", change), tmp_path / "page.html"))
    assert not page.faults
    assert ("too large to be drawn" in page.words) == objective.startswith(("1e308", "1e200"))


def test_a_run_of_failures_has_a_page(tmp_path: Path) -> None:
    """When only the known heuristic at the start is valid, the page says that its code is not stored."""
    folder = store_run(tmp_path / "run", all_fail=True, proposals=30)
    text = page_of(folder, tmp_path / "page.html")
    assert not Page(text).faults
    assert "No proposal was valid so far" in Page(text).words


def test_a_frozen_run_says_that_it_does_not_learn(run: Path, tmp_path: Path) -> None:
    """Method eoh makes no updates: the page says so and draws none."""

    def freeze(connection: sqlite3.Connection) -> None:
        connection.execute("DELETE FROM updates")
        config = replace(read(run).run.started.config, method=Method.EOH)
        connection.execute("UPDATE meta SET value = ? WHERE key = 'config'", (config.to_json(),))

    text = page_of(changed(run, tmp_path / "run", freeze), tmp_path / "page.html")
    assert 'id="figure-learning"' not in text
    assert "does not learn" in Page(text).words


def test_the_best_known_heuristic_has_a_line(run: Path) -> None:
    """The convergence figure shows the best known heuristic within its frame; the caption names those that
    have no line."""
    report = read(run)
    chart = named(run_charts(report))["convergence"]
    (axes,) = chart.figure.axes
    lines = {text.get_text().replace("\n", " ") for text in axes.texts}
    name, value = min(report.run.started.known.items(), key=lambda each: each[1])
    low, high = axes.get_ylim()
    assert low < value < high
    assert {name, "reference"} <= lines
    for other in report.run.started.known:
        assert (other in lines) != (other in chart.caption)


def test_markers_of_learning_are_whole(run: Path) -> None:
    """Every panel ends above its highest value by more than a tenth."""
    for axes in named(run_charts(read(run)))["learning"].figure.axes:
        values = [value for line in axes.lines for value in line.get_ydata()]
        low, high = axes.get_ylim()
        assert high - max(values) > 0.1 * (high - low)


def test_the_caption_tells_lines_from_dots(run: Path) -> None:
    """Where every operator has ten proposals or fewer there are only dots, of all their proposals."""
    report = read(run)
    short = replace(report, points=report.points[:5])
    caption = named(run_charts(short))["validity"].caption
    assert "Dots: share among all proposals" in caption
    assert "Lines" not in caption


def test_options_are_what_was_used(run: Path) -> None:
    """Options that were left to the run show what it took; no raw word for that is left."""
    found = options(read(run))
    assert found["style"].startswith("skeleton")
    assert found["temperature"] == "0.9, the style's own"
    assert found["top-p"].startswith("0.95")
    assert found["max-tokens"].startswith("48")
    assert found["timeout"] == "the problem's own"
    assert not {"None", "", "0", "0.0"} & set(found.values())


def test_known_heuristics_and_references_on_the_test_instances(run: Path, tmp_path: Path) -> None:
    """Page and Markdown show the best known heuristic on the test instances and its gap, and the reference of
    the test instances with its source."""

    def change(connection: sqlite3.Connection) -> None:
        row = connection.execute("SELECT value FROM meta WHERE key = 'finished'").fetchone()
        told = {"test_known": {"farthest insertion": 6.006}, "test": 6.6, "test_gap": 0.1}
        told |= {"test_reference": 6.0, "test_reference_source": "made for the test"}
        data = json.dumps(json.loads(row[0]) | told)
        connection.execute("UPDATE meta SET value = ? WHERE key = 'finished'", (data,))

    folder = changed(run, tmp_path / "run", change)
    make(folder, tmp_path / "page.html", None, tmp_path / "summary.md")
    words, summary = Page((tmp_path / "page.html").read_text()).words, (tmp_path / "summary.md").read_text()
    for text in (words, summary):
        assert "6.00600 (+0.10%)" in text
        assert "6.00000 (made for the test)" in text
        assert "on the test instances 9.89% worse than that one (6.00600)." in text
    assert "+10.00% from the reference 6.00000" in words


def test_columns_have_the_words_of_ahd_show(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The table of operators has the same heads on the page, in the Markdown and in the terminal."""
    make(run, tmp_path / "page.html", None, tmp_path / "summary.md")
    show(run, as_json=False)
    summary, shown = (tmp_path / "summary.md").read_text(), capsys.readouterr().out
    words = Page((tmp_path / "page.html").read_text()).words
    for head in ("proposals", "valid", "share", "duplicates", "over parents", "new best"):
        assert f"| {head} |" in summary
        assert head in words
        assert head in shown
    assert "known before" not in words
    assert COUNTED in words
    assert COUNTED in summary


def test_hostile_texts_stay_text(run: Path, tmp_path: Path) -> None:
    """Markup, template and mathematics signs in every text of a run file come out as the same text, and make
    no element, attribute or instruction."""

    def poison(connection: sqlite3.Connection) -> None:
        texts = (
            "code = code || ?, completion = completion || ?, thought = ?, detail = ?, reply = ?, prompt = ?"
        )
        connection.execute(f"UPDATE proposals SET {texts}", (f"# {HOSTILE}", *[HOSTILE] * 5))
        connection.execute("UPDATE proposals SET operator = 'm1' || ? WHERE operator = 'm1'", (HOSTILE,))
        connection.execute(
            "UPDATE proposals SET outcome = 'runtime_error' || ?, objective = NULL WHERE id % 5 = 0",
            (HOSTILE,),
        )
        connection.execute("UPDATE updates SET note = ?, operator = ?, weights_hash = ?", (HOSTILE,) * 3)
        for key in ("started_event", "finished", "config"):
            data = json.loads(
                connection.execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchone()[0]
            )
            told = {name: HOSTILE for name, value in data.items() if type(value) is str and name not in KEPT}
            told |= {"known": {HOSTILE: 7.0}} if key == "started_event" else {}
            connection.execute("UPDATE meta SET value = ? WHERE key = ?", (json.dumps(data | told), key))
        for key in ("sandbox", "dtype", "schedule", "base_hash", "status"):
            connection.execute("UPDATE meta SET value = ? WHERE key = ?", (HOSTILE, key))
        machine = json.dumps({HOSTILE: HOSTILE})
        connection.execute("UPDATE meta SET value = ? WHERE key = 'environment'", (machine,))

    folder = changed(run, tmp_path / "poisoned", poison)
    make(folder, tmp_path / "page.html", tmp_path / "figures", tmp_path / "summary.md")
    text = (tmp_path / "page.html").read_text(encoding="utf-8")
    page = Page(text)
    assert not page.faults
    assert page.tags.count("svg") == len(FIGURES)
    assert page.words.count("<img src=x onerror=alert(1)>") > 10
    assert "{{ 7*7 }}" in page.words
    assert escape("<img src=x") in text
    summary = (tmp_path / "summary.md").read_text(encoding="utf-8")
    assert "\\<img" in summary
    assert "<img" not in re.sub(
        r"\\<|^```(?:python|sh)$.*?^```$", "", summary, flags=re.DOTALL | re.MULTILINE
    )


KEPT = {"method", "style", "dtype", "kind", "reward", "shaping", "insights", "sandbox", "scope", "server"}
"""Fields of a configuration that only take certain words; another is refused when the file is read."""


def test_invisible_characters_are_left_out(tmp_path: Path) -> None:
    """Bidirectional and control characters, which make code look like other code, are not on the page."""
    text = page_of(store_run(tmp_path / "run", "\u202e\x1b[31m\x00\u2066"), tmp_path / "page.html")
    assert not Page(text).faults
    assert not set(text) & set("\u202e\x1b\x00\u2066")


def test_the_run_is_not_touched(run: Path, tmp_path: Path) -> None:
    """A report leaves the run file as it was, and puts nothing but its page into the folder."""
    folder = shutil.copytree(run, tmp_path / "run")
    before = (folder / "run.sqlite").read_bytes(), set(os.listdir(folder))
    make(folder)
    new = set(os.listdir(folder)) - before[1]
    assert (folder / "run.sqlite").read_bytes() == before[0]
    assert {name for name in new if not name.startswith("run.sqlite-")} == {"report.html"}


def test_figures_and_summary_are_exported(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """--figures writes an SVG and a PNG of every figure, --markdown a text that links them; --json says where
    everything is."""
    figures, markdown = tmp_path / "figures", tmp_path / "summary.md"
    make(run, tmp_path / "page.html", figures, markdown, as_json=True)
    facts = json.loads(capsys.readouterr().out)
    assert facts["page"] == str(tmp_path / "page.html")
    assert sorted(facts["figures"]) == sorted(str(path) for path in figures.iterdir())
    for name in FIGURES:
        assert (figures / f"{name}.png").read_bytes().startswith(b"\x89PNG")
        assert "<svg" in (figures / f"{name}.svg").read_text()
    text = markdown.read_text()
    assert text.startswith("# tsp: esopt, seed 3")
    for target in re.findall(r"!\[.*?\]\((.*?)\)", text):
        assert (tmp_path / target).is_file()


def test_mistakes_name_the_mend(run: Path, tmp_path: Path) -> None:
    """A folder without results, a page that would replace another file and a place that cannot be written
    are refused with one line, and nothing is written."""
    (tmp_path / "file").write_text("kept")
    (tmp_path / "empty").mkdir()
    cases = [
        (lambda: make(tmp_path / "empty"), "run.sqlite"),
        (lambda: make(run, run / "run.sqlite"), "--out"),
        (lambda: make(run, tmp_path), "--out"),
        (lambda: make(run, tmp_path / "file/page.html"), "--out"),
        (lambda: make(run, tmp_path / "p.html", tmp_path / "file"), "--figures"),
        (lambda: make(run, tmp_path / "p.html", None, tmp_path / "file"), "--markdown"),
    ]
    for call, word in cases:
        with pytest.raises(ConfigError, match=word) as raised:
            call()
        assert "\n" not in str(raised.value)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["empty", "file"]
    assert (tmp_path / "file").read_text() == "kept"
