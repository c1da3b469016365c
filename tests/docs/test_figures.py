"""Figures in the README and on the pages of docs/ are those of the committed files in results/published."""

import json
import re
from collections.abc import Callable
from statistics import mean, median, stdev
from typing import Any

import pytest
from scipy.stats import ttest_ind

from ahd.config import Kind, RunConfig
from ahd.es.perturbation import scales
from benchmarks import publish
from benchmarks.learning_file import read
from benchmarks.learning_settings import settings_table
from problems.registry import load
from tests.docs.tables import ROOT, table, tables

PUBLISHED = ROOT / "results/published"
RUNS = {
    "`ahd run tsp --budget 400 --seed 1` (A)": "tsp-esopt-400-seed1",
    "`make run` (C)": "make-run-bfloat16",
    "`ahd run tsp --budget 400 --seed 1` (C)": "tsp-esopt-400-seed1-bfloat16",
    "`--scope all --reward paper --budget 200 --seed 1` (B)": "make-run",
    "`--scope all --reward paper --budget 2000 --seed 1` (B)": "tsp-esopt-2000-seed1",
    "`--method eoh --budget 2000 --seed 1` (B)": "tsp-eoh-2000-seed1",
}


def published(name: str) -> Any:
    return json.loads((PUBLISHED / name).read_text())


def lines(name: str) -> list[Any]:
    return [json.loads(line) for line in (PUBLISHED / name).read_text().splitlines()]


def text(page: str) -> str:
    return " ".join((ROOT / page).read_text().split())


def clock(seconds: float) -> str:
    minutes, rest = divmod(int(seconds), 60)
    return f"{minutes}:{rest:02}"


def near(shown: str, value: float) -> bool:
    """Whether ``shown`` is ``value`` rounded to as many digits as it has."""
    digits = len(shown.partition(".")[2])
    return abs(float(shown) - value) <= 0.5000001 * 10**-digits


def test_whole_runs_in_the_readme() -> None:
    """Each run of the table: objectives, gap, updates, validity, speed and times."""
    rows = {cells[0]: cells[1:] for cells in table("README.md", "run", "train")}
    assert rows.keys() >= RUNS.keys()
    for name, file in RUNS.items():
        run, cells = published(f"{file}.json"), rows[name]
        searched = [each for operator, each in run["operators"].items() if operator != "i1"]
        valid = sum(each["valid"] for each in searched) / sum(each["proposals"] for each in searched)
        share = run["es_share_of_wall"]
        assert cells == [
            f"{run['best']['objective']:.5f}",
            f"{run['test']['test']:.5f}",
            f"{run['test']['test_gap']:.1%}",
            str(len(run["updates"])),
            f"{valid:.1%}",
            f"{run['tokens_per_second']:.0f}",
            f"{share:.1%}" if run["updates"] else "0",
            clock(run["wall_seconds"]),
        ], name


def test_known_heuristics_in_the_readme() -> None:
    """Their training objectives are those that the runs were compared with; gaps are of their test
    objectives."""
    known = published("make-run-bfloat16.json")["known"]
    reference = load("tsp").reference("test", 50)
    assert reference is not None
    for name, train, test, gap, *_ in table("README.md", "run", "train")[:3]:
        assert train == f"{known[name.partition(' (')[0]]:.5f}"
        assert gap == f"{float(test) / reference.value - 1:.1%}"


@pytest.mark.parametrize(
    ("name", "case"), [("norms", "`--scope norms`"), ("lowrank linear", "`--kind lowrank`")]
)
def test_what_directions_cost(name: str, case: str) -> None:
    """Medians, and in bfloat16 ranges, of the ratios of directions to frozen batches."""
    (cells,) = (row[1:] for row in table("README.md", "", "16, bfloat16") if row[0] == case)
    for cell, file, size in zip(
        cells, ["directions-bfloat16"] * 2 + ["directions"] * 2, [16, 32] * 2, strict=True
    ):
        rows = published(f"es/{file}.json")["rows"]
        found = [row["ratios"]["whole"] for row in rows if (row["case"], row["size"]) == (name, size)]
        shown = f"{median(found):.2f}"
        assert cell in (shown, f"{shown} ({min(found):.2f}-{max(found):.2f})")


def test_the_learning_trial() -> None:
    """Every row that docs/learning.md shows of the trial and of the signal is one of the report's."""
    for file, heads in {
        "trial": [("metric", "arm"), ("metric", "difference")],
        "signal": [("kind, scope", "sigma")],
    }.items():
        for head in heads:
            reported = table(f"results/published/learning/{file}.md", *head)
            shown = table("docs/learning.md", *head)
            assert shown
            assert [row for row in shown if row not in reported] == []
    ends = {
        row[1]: row[4][:5] for row in table("docs/learning.md", "metric", "arm") if row[0] == "share valid"
    }
    percent = [f"{100 * float(ends[arm]):.1f}%" for arm in ("esopt", "noise", "eoh")]
    assert "({} at the end, {} with the same noise and no updates, {} frozen)".format(*percent) in text(
        "README.md"
    )


def test_comparisons() -> None:
    """Each row of docs/results.md is an arm of a published comparison, and every arm has its row."""
    rows = table("docs/results.md", "comparison", "problem", "arm")
    wanted = []
    for file in sorted((PUBLISHED / "comparisons").glob("*/comparison.json")):
        wanted += publish.rows(file.parent.name, json.loads(file.read_text()))
    assert sorted(rows) == sorted(wanted)


def test_comparisons_in_the_readme() -> None:
    """Means and standard deviations on the test instances of tsp, and how many seeds."""
    told = []
    for name, arms in {
        "tsp-knapsack": ("esopt", "noise", "eoh"),
        "tsp-tuned": ("eoh+tune=0.4",),
        "tsp-long": ("eoh+tune=0.8+finalists=10",),
    }.items():
        tsp = published(f"comparisons/{name}/comparison.json")["settings"][0]
        found = {arm["arm"]: arm["test"] for arm in tsp["arms"]}
        told += [f"{found[arm]['mean']:.3f} ± {found[arm]['sd']:.3f}" for arm in arms]
        told.append(f"({found[arms[0]]['count']} seeds")
    told += [f"{mean(_rule(rule)):.3f}" for rule in ("linear", "wide")]
    page = text("README.md")
    places = [page.index(each) for each in told]
    assert places[:3] == sorted(places[:3])


def _rule(name: str) -> list[float]:
    """Test objectives of a rule without a model."""
    runs = published("comparisons/linear-rule.json")["runs"]
    return [run["test"] for run in runs if run["rule"] == name]


def test_the_search_beside_a_tuned_rule() -> None:
    """What is said of the longest comparison: how many seeds beat the rule, and by which chance."""
    (setting,) = published("comparisons/tsp-long/comparison.json")["settings"]
    learning, frozen = ([run["test"] for run in arm["runs"]] for arm in setting["arms"])
    rule = _rule("linear")
    below = sum(each < mean(rule) for each in frozen)
    chance = ttest_ind(frozen, rule, equal_var=False).pvalue
    page = text("docs/results.md")
    told = f"reaches {mean(frozen):.3f}, in {below} of {len(frozen)} seeds less than {mean(rule):.3f}, "
    assert told + f"which chance may explain (p {chance:.2f})" in page
    stayed = (
        f"`esopt` {mean(learning):.3f}, with a median of {median(learning):.3f} and one seed that stayed at "
    )
    assert stayed + f"{max(learning):.3f}" in page


def test_rules_without_a_model() -> None:
    """The rows of docs/results.md are those of the benchmark, and its words are those of the rows."""
    runs = published("comparisons/linear-rule.json")["runs"]
    for name, (cell, seeds, train, test, best) in zip(
        ("linear", "wide"), table("docs/results.md", "rule", "seeds"), strict=True
    ):
        mine = [run for run in runs if run["rule"] == name]
        assert cell.startswith("near - a * rest - b * home")
        assert int(seeds) == len(mine)
        for shown, key in ((train, "train"), (test, "test")):
            values = [run[key] for run in mine]
            assert shown == f"{mean(values):.5f} ± {stdev(values):.4f}"
        assert best == f"{min(run['test'] for run in mine):.5f}"
        assert f"{mean(run['test'] for run in mine):.3f}" in text("docs/results.md")


def test_what_tuning_brings() -> None:
    """Differences and corrected p of the frozen model with and without it."""
    (setting,) = published("comparisons/tsp-tuned/comparison.json")["settings"]
    found = {each["metric"]: each for each in setting["differences"] if each["arm"] == "eoh+tune=0.4"}
    train, test = found["train"], found["test"]
    told = "was {:.3f} better on the training instances than without (p {:.3f}) and "
    told += "{:.3f} on the test instances (p {:.3f})"
    assert told.format(-train["mean"], train["p_holm"], -test["mean"], test["p_holm"]) in text(
        "docs/better-search.md"
    )


def test_tuning_since_one_of_a_lineage_survives() -> None:
    """Both arms and their difference, in both pages."""
    (setting,) = published("comparisons/tsp-tuned-again/comparison.json")["settings"]
    learning, frozen = (arm["test"] for arm in setting["arms"])
    chance = next(each for each in setting["differences"] if each["metric"] == "test")["p"]
    told = f"{learning['mean']:.3f} ± {learning['sd']:.3f} (`esopt`) and {frozen['mean']:.3f} ± "
    told += f"{frozen['sd']:.3f} (frozen) on the test instances (p {chance:.3f})"
    assert told in text("docs/better-search.md")
    told = f"`esopt` with it reaches {learning['mean']:.3f} and the frozen model {frozen['mean']:.3f}"
    assert f"{told} (p {chance:.3f})" in text("docs/results.md")
    assert f"budget 500 reaches {learning['mean']:.3f}." in text("docs/results.md")


def test_what_options_bring() -> None:
    """Each row of docs/better-search.md is an option on a problem, and each of these has its row."""
    comparison = published("comparisons/options/comparison.json")
    assert table("docs/better-search.md", "option", "problem") == publish.effects(comparison)


def test_settings_of_the_learning() -> None:
    """The table of settings is the one that the benchmark makes of the file."""
    found = settings_table(read([PUBLISHED / "learning/settings.jsonl"]))
    assert found in (ROOT / "docs/learning.md").read_text()


def test_rounding() -> None:
    """What of a step arrives, by the way weights are kept."""
    steps = published("es/rounding.json")["steps"]
    ways = list(dict.fromkeys(step["way"] for step in steps))
    for way, (_, size, kept, error, live) in zip(
        ways, table("docs/model.md", "way to keep weights"), strict=True
    ):
        after = {(step["directions"], step["updates"]): step for step in steps if step["way"] == way}
        assert int(size) == after[10, 1]["bytes"]
        for number, directions in enumerate((10, 30)):
            assert near(kept.split(" / ")[number], after[directions, 1]["kept"]["cosine"])
            assert near(
                error.split(" / ")[min(number, error.count("/"))], after[directions, 1]["kept"]["error"]
            )
            assert near(live.split(" / ")[number], after[directions, 50]["live"]["cosine"])


def test_memory() -> None:
    """Peak memory in multiples of the frozen engine's."""
    cases = published("es/memory.json")["cases"]
    ratios = {name: f"{case['ratio']:.2f}" for name, case in cases.items()}
    assert (
        f"`norms` {ratios['norms']}, `lowrank` on `linear` {ratios['lowrank linear']} and on `all` "
        f"{ratios['lowrank all']}, `full` on `all` {ratios['full all']}"
    ) in text("docs/model.md")
    assert f"the frozen engine's {cases['frozen']['update']:.0f} MiB (float32" in text("docs/model.md")


def test_costs_of_the_evaluators() -> None:
    """CPU seconds of ours and of the plain loops, and their ratios."""
    tasks = {task["task"]: task for task in published("evaluators/evaluators.json")["tasks"]}
    rows = table("docs/problems.md", "", "ours", "plain")
    assert {row[0] for row in rows} == tasks.keys()
    for name, *cells in rows:
        task = tasks[name]
        values = [task["ours"], task["plain"], task["plain"] / task["ours"]]
        values += [task["plain_solver"] / task["solver"]] if task["solver"] else []
        assert [cell for cell in cells if cell] == [
            f"{value:.{max(3, len(str(int(value))))}g}" for value in values
        ]


def test_costs_of_the_sandbox() -> None:
    """Milliseconds that a sandbox adds to an evaluation of tsp."""
    found = published("robustness/isolation.json")
    auto, parts = found["sandbox"]["auto"], found["milliseconds"]
    page = text("docs/problems.md")
    assert f"{auto['wall_ms']:.1f} ms of wall time and {auto['cpu_ms']:.1f} ms of CPU time" in page
    assert f"{auto['wall_share']:.0%} and {auto['cpu_share']:.0%} of an evaluation of 50 ms" in page
    assert f"of it {parts['restrictions']:.1f} ms for all restrictions" in page
    assert f"A bare fork takes {parts['bare fork']:.1f} ms there" in page
    assert f"a fresh interpreter with NumPy {parts['interpreter']:.0f} ms" in page


def test_failures_in_the_prompt() -> None:
    """Shares of valid proposals with failures shown and without, and their differences."""
    summary = published("robustness/feedback.json")["summary"]
    for name, row in zip(
        ("plain", "reason", "negated", "told"), table("docs/prompts.md", "shown"), strict=True
    ):
        for number, key in ((1, "valid"), (3, "valid_new")):
            assert near(row[number], summary[name][key])
            if name != "plain":
                numbers = re.findall(r"-?[\d.]+", row[number + 1])
                assert all(map(near, numbers, summary[name][f"{key}_difference"]))


def test_trials_of_robustness() -> None:
    """Kills, candidates and inputs of the trials in docs/security.md."""
    crash = published("robustness/crash.json")["summary"]["scripted"]
    soak, fuzz = published("robustness/soak.json"), published("robustness/fuzz.json")
    page = text("docs/security.md")
    assert (
        f"{crash['kills']} kills in {crash['trials']} runs; all {crash['verdicts']['equal']} end as" in page
    )
    assert (
        f"{soak['outcomes']['timeout']} timeouts, the latest {soak['latest_timeout_s']:.2f} s after" in page
    )
    assert soak["candidates"] == 10_000
    assert not fuzz["failed"]
    assert f"{sum(fuzz['executions'].values()) / 1e6:.1f} million inputs, no failure" in page


def test_costs_of_the_papers_schedule() -> None:
    """Times and speed of the two runs of 2000 proposals."""
    files = ("tsp-esopt-2000-seed1", "tsp-eoh-2000-seed1")
    for file, (_, *cells) in zip(files, table("docs/paper-schedule.md", "run", "wall"), strict=True):
        run = published(f"{file}.json")
        seconds = [f"{run['seconds'][kind]:.0f}" for kind in ("model", "es", "evaluation")]
        assert cells == [clock(run["wall_seconds"]), *seconds, f"{run['tokens_per_second']:.0f}"]


def test_default_scales() -> None:
    """The table of sigma and alpha in docs/method.md is what a run takes."""
    make: list[Callable[[], RunConfig]] = [
        lambda: RunConfig("tsp"),
        lambda: RunConfig("tsp", kind=Kind.LOWRANK),
        lambda: RunConfig("tsp", scope="all"),
    ]
    for config, (_, sigma, alpha) in zip(make, table("docs/method.md", "kind, scope"), strict=True):
        assert scales(config()) == (float(sigma), float(alpha))


def test_tables_are_whole() -> None:
    """Every row of every table has as many cells as its head."""
    for page in (ROOT / "docs").glob("*.md"):
        for rows in tables(f"docs/{page.name}"):
            assert {len(row) for row in rows} == {len(rows[0])}, rows[0]
