"""The learning trial: arms are paired, files resume, and the report says what the files say."""

import json
import math
import random
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import Future
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from scipy import stats

from ahd.config import ConfigError
from benchmarks import paired
from benchmarks.learning import main, numbers
from benchmarks.learning_file import append, read
from benchmarks.learning_report import METRICS, Arm, arms, generations, quarter, summaries, table
from benchmarks.learning_report import paired as pairs
from benchmarks.learning_settings import settings_table
from benchmarks.learning_trial import POPULATION
from evaluators.outcome import Outcome, Status
from evaluators.sandbox import Sandbox
from operators.parsing import fill
from problems.problem import Problem
from problems.registry import load
from tests.fakes import digest

ROOT = Path(__file__).resolve().parent.parent
SMALL = ["--model", "scripted", "--updates", "4", "--directions", "4", "--alpha", "0.5", "--sigma", "0.2"]


class Judge:
    """Stands in for the sandbox: the population's objectives are right, others are drawn from the code."""

    def __init__(self, problem: Problem) -> None:
        self.known = {fill(problem, formula): value for formula, value in POPULATION.items()}

    def __enter__(self) -> "Judge":
        return self

    def __exit__(self, *exc: object) -> None: ...

    def submit(
        self, source: str, split: str = "train", size: int | None = None, **named: Any
    ) -> "Future[Outcome]":
        future: Future[Outcome] = Future()
        value = self.known.get(source, 6.3 + digest(source) % 20 / 25)
        if source not in self.known and digest(source) % 3 == 0:
            future.set_result(Outcome(Status.RUNTIME_ERROR))
        else:
            future.set_result(Outcome(Status.OK, value))
        return future


@pytest.fixture(autouse=True, scope="module")
def _judge() -> Iterator[None]:
    """Trials in this process are judged by the stand-in."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("evaluators.sandbox.Sandbox", Judge)
        yield


@pytest.fixture(scope="module")
def trial(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished trial of three methods and two seeds on the scripted model."""
    file = tmp_path_factory.mktemp("trial") / "trial.jsonl"
    main(["--seeds", "1-2", *SMALL, "--out", str(file)])
    return file


def by_method(file: Path, seed: int) -> dict[str, dict[str, Any]]:
    return {record["method"]: record for record in read([file]) if record["seed"] == seed}


def record(method: str, seed: int, values: list[float], **settings: Any) -> dict[str, Any]:
    """A made-up line in which every metric is the same series."""
    batches = [dict.fromkeys(METRICS, value) for value in values]
    return {"method": method, "seed": seed, "settings": settings, "seconds": 60.0, "batches": batches}


def test_the_population_is_as_documented() -> None:
    """The parents' objectives are those of the sandbox, distinct, best first, and include the known
    heuristics that complete the skeleton."""
    problem = load("tsp")
    with Sandbox(problem) as sandbox:
        futures = {name: sandbox.submit(fill(problem, name)) for name in POPULATION}
        assert {name: future.result().objective for name, future in futures.items()} == POPULATION
    assert list(POPULATION.values()) == sorted(set(POPULATION.values()))
    known = {code for code in problem.heuristics.values() if code.startswith(problem.skeleton.prefix)}
    assert known <= {fill(problem, name) for name in POPULATION}


def test_arms_are_paired_by_seed(trial: Path) -> None:
    """One seed gives every method the same parents in the same order; seeds differ. The arm that learns is
    the noise arm up to its first update, and another afterwards."""
    for seed in (1, 2):
        found = by_method(trial, seed)
        assert found.keys() == {"esopt", "noise", "eoh"}
        parents = [[batch["parents"] for batch in record["batches"]] for record in found.values()]
        assert parents[0] == parents[1] == parents[2]
        sigmas = [[batch["sigma"] for batch in found[name]["batches"]] for name in ("esopt", "noise")]
        assert sigmas[0] == sigmas[1] == sorted(sigmas[0], reverse=True)
        ones, others = (found[name]["batches"] for name in ("esopt", "noise"))
        assert ones[0]["children"] == others[0]["children"]
        assert [batch["children"] for batch in ones] != [batch["children"] for batch in others]
        assert all(batch["sigma"] == batch["norm"] == 0 for batch in found["eoh"]["batches"])
    assert by_method(trial, 1)["eoh"]["batches"] != by_method(trial, 2)["eoh"]["batches"]


def test_every_arm_begins_with_the_base_weights(trial: Path) -> None:
    """Arms that ran after one that learned have the same base; only learning moves the weights."""
    records = read([trial])
    assert len({record["base_hash"] for record in records}) == 1
    for record in records:
        moved = [batch["norm"] > 0 for batch in record["batches"]]
        assert any(moved) == (record["method"] == "esopt")


def test_metrics_follow_from_the_objectives(trial: Path) -> None:
    """Shares are those of the listed children and parents; new is at most distinct, distinct at most
    valid."""
    for record in read([trial]):
        for batch in record["batches"]:
            children, parents = batch["children"], batch["parents"]
            assert len(children) == record["settings"]["proposals"]
            valid = [(child, parent) for child, parent in zip(children, parents, strict=True) if child]
            assert batch["valid"] == len(valid) / len(children)
            assert batch["better"] == sum(child < parent for child, parent in valid) / len(children)
            assert batch["new"] <= batch["distinct"] <= batch["valid"]
            assert (
                0.5 * batch["new"] - 1e-9
                <= batch["reward_new"] + 1 - batch["valid"]
                <= 2 * batch["new"] + 1e-9
            )


def test_finished_arms_are_not_run_again(
    trial: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A second call adds only what is missing, also below a line that was cut short; arms that do not depend
    on a changed setting are kept."""
    file = tmp_path / "trial.jsonl"
    lines = trial.read_text().splitlines()
    file.write_text("\n".join(lines[:4]) + "\n" + lines[4][:100])
    again = ["--seeds", "1-2", *SMALL, "--out", str(file)]
    main(again)
    assert capsys.readouterr().out.count("\n") == 2
    assert [{**each, "seconds": 0} for each in read([file])] == [
        {**each, "seconds": 0} for each in read([trial])
    ]
    main(again)
    assert "all 6 arms are there" in capsys.readouterr().out
    main([*again, "--momentum", "0.5"])
    told = capsys.readouterr().out.splitlines()
    assert [line.partition(":")[0] for line in told] == ["1/2 seed 1 esopt", "2/2 seed 2 esopt"]


@pytest.mark.parametrize(
    "options",
    [
        ["--antithetic", "--per-direction", "2"],
        ["--reward", "new", "--shaping", "ranks", "--momentum", "0.9"],
        ["--schedule", "constant", "--shaping", "valid"],
        ["--scope", "norms"],
    ],
)
def test_every_option_reaches_the_arms(tmp_path: Path, options: list[str]) -> None:
    """What is asked for is what the line says, and the arms that learn do learn."""
    file = tmp_path / "trial.jsonl"
    main(["--seeds", "1", "--methods", "esopt,noise", *SMALL, *options, "--out", str(file)])
    esopt, noise = read([file])
    settings = {name: str(value) for name, value in esopt["settings"].items()}
    for name, value in pairwise(options):
        if name.startswith("--") and not value.startswith("--"):
            assert settings[name[2:].replace("-", "_")] == value
    assert settings["antithetic"] == str("--antithetic" in options)
    assert noise["settings"].items() <= esopt["settings"].items()
    assert any(batch["norm"] > 0 for batch in esopt["batches"])
    assert len(esopt["batches"][0]["children"]) == (8 if "--per-direction" in options else 4)
    if "constant" in options:
        assert {batch["sigma"] for batch in esopt["batches"]} == {0.2}


def test_the_command_scores_in_the_sandbox(tmp_path: Path) -> None:
    """As a script, from any folder, with the real evaluation."""
    script = [sys.executable, str(ROOT / "benchmarks/learning.py")]
    words = ["--model", "scripted", "--seeds", "3", "--methods", "eoh", "--updates", "1", "--directions", "2"]
    subprocess.run([*script, *words, "--out", "trial.jsonl"], cwd=tmp_path, check=True)
    (line,) = read([tmp_path / "trial.jsonl"])
    assert line["seed"] == 3
    assert len(line["batches"]) == 1


@pytest.mark.parametrize(
    ("options", "named"), [(["--momentum", "2"], "--momentum"), (["--updates", "0"], "--updates")]
)
def test_bad_options_are_one_line(options: list[str], named: str, capsys: pytest.CaptureFixture[str]) -> None:
    """An option out of range ends with a line that names it."""
    with pytest.raises((ConfigError, SystemExit)) as error:
        main([*SMALL, *options, "--out", "never"])
    assert named in str(error.value) + capsys.readouterr().err


def test_the_report_is_written_from_the_files(trial: Path, tmp_path: Path) -> None:
    """Table and plot hold every method, metric and comparison, and are the same bytes each time."""
    outputs = []
    for name in ("one", "two"):
        text, image = tmp_path / f"{name}.md", tmp_path / f"{name}.svg"
        main(["report", str(trial), "--table", str(text), "--plot", str(image)])
        outputs.append((text.read_text(), image.read_text()))
    assert outputs[0] == outputs[1]
    text, image = outputs[0]
    for words in METRICS.values():
        assert text.count(f"| {words} | ") == 3 + 3 * 2
    for name in ("esopt", "noise", "eoh"):
        assert f">{name}</text>" in image


def test_the_table_shows_means_and_paired_differences() -> None:
    """A constant gain of one method over another is the mean difference, with paired, not pooled, spread."""
    rng = random.Random(1)
    records = []
    for seed in range(10):
        level = rng.uniform(0, 5)
        records.append(record("noise", seed, [level] * 8))
        records.append(record("esopt", seed, [level + 1 + rng.gauss(0, 0.01)] * 8))
    row = next(line for line in table(records).splitlines() if "esopt - noise | 10 | last" in line)
    mean = float(row.split("|")[5].split("[")[0])
    assert mean == pytest.approx(1, abs=0.02)
    assert "| 0.000 |" in row
    assert row.endswith("| 2 |")


def test_arms_are_compared_where_their_settings_agree() -> None:
    """Two esopt arms share the noise arm that has their sigma, and every eoh arm of their size."""
    records = [
        record("esopt", 1, [0.0], proposals=4, sigma=0.1, alpha=1),
        record("esopt", 1, [0.0], proposals=4, sigma=0.1, alpha=2),
        record("esopt", 1, [0.0], proposals=4, sigma=0.2, alpha=1),
        record("esopt", 2, [0.0], proposals=8, sigma=0.2, alpha=1),
        record("noise", 1, [0.0], proposals=4, sigma=0.1),
        record("eoh", 1, [0.0], proposals=4),
    ]
    found = arms(records)
    assert sum((one.method, other.method) == ("esopt", "noise") for one, other in pairs(found)) == 2
    assert sum((one.method, other.method) == ("esopt", "eoh") for one, other in pairs(found)) == 3
    assert sum((one.method, other.method) == ("noise", "eoh") for one, other in pairs(found)) == 1


def test_settings_stand_beside_the_usual_ones() -> None:
    """The first esopt arm is the usual one; others say what is unlike it and by how much, paired by seed."""
    records = [record("esopt", seed, [float(seed)] * 4, alpha=0.1, sigma=0.07) for seed in (1, 2, 3)]
    records += [
        record("esopt", seed, [seed + 0.5 + seed / 100] * 4, alpha=0.3, sigma=0.07) for seed in (1, 2, 3)
    ]
    records += [record("noise", 1, [3.0] * 4, sigma=0.07)]
    usual, other, noise = settings_table(records).splitlines()[2:]
    assert usual.startswith("| `esopt`, the first | 3 | 1.0 | 2.000 |")
    assert other.startswith("| `esopt`, alpha 0.3 | 3 | 1.0 | 2.520 (+0.520, +0.495 to +0.545) |")
    assert noise.startswith("| `noise` | 1 | 1.0 | 3.000 (+2.000) |")


@pytest.mark.parametrize("updates", [1, 2, 3, 8, 20, 21, 50])
def test_quarters_are_whole_pairs_of_operators(updates: int) -> None:
    """A quarter holds as many m1 as m2 batches, where there is room for one of each."""
    count = quarter(updates)
    assert 1 <= count <= updates
    assert count % 2 == 0 or updates == 1
    assert len(generations([0.0] * updates)) == math.ceil(updates / 2)


def test_summaries_of_a_line() -> None:
    """A series that rises by 0.1 has slope 0.1 and last minus first as it must."""
    arm = Arm("esopt", {}, {1: record("esopt", 1, [0.1 * step for step in range(16)])})
    found = summaries(arm, "valid", [1])
    assert found["slope"] == [pytest.approx(0.1)]
    assert found["last"][0] - found["first"][0] == pytest.approx(0.1 * 12)


def test_paired_statistics_agree_with_scipy() -> None:
    """Interval and p are those of scipy's own paired t-test."""
    rng = random.Random(2)
    ones, others = ([rng.gauss(mean, 1) for _ in range(12)] for mean in (0.5, 0.0))
    found = paired.difference(ones, others)
    expected = stats.ttest_rel(ones, others)
    assert found.p == pytest.approx(expected.pvalue)
    interval = expected.confidence_interval(0.95)
    assert (found.estimate.low, found.estimate.high) == pytest.approx((interval.low, interval.high))


@pytest.mark.parametrize(("effect", "count"), [(0.2, 199), (0.5, 34), (-0.5, 34), (0.8, 15)])
def test_seeds_needed_are_the_known_ones(effect: float, count: int) -> None:
    """Cohen's small, medium and large effects need 199, 34 and 15 pairs; one pair fewer is not enough."""
    assert paired.seeds_needed(effect) == count
    assert paired.power(effect, count) >= paired.POWER > paired.power(effect, count - 1)


def test_power_is_the_rate_of_rejections() -> None:
    """The stated power is what simulated paired tests reach."""
    rng = random.Random(3)
    rejected = 0
    for _ in range(1000):
        values = [rng.gauss(0.8, 1) for _ in range(10)]
        rejected += paired.difference(values, [0.0] * 10).p < paired.LEVEL
    assert rejected / 1000 == pytest.approx(paired.power(0.8, 10), abs=0.04)


def test_differences_without_spread_claim_nothing() -> None:
    """Equal arms, or a single seed, give no p and no number of seeds."""
    for ones, others in (([1.0, 2.0], [1.0, 2.0]), ([1.0], [0.0])):
        found = paired.difference(ones, others)
        assert math.isnan(found.p)
        assert found.seeds is None


def test_lines_survive_a_kill(tmp_path: Path) -> None:
    """A line cut short does not count, and what is added after it does."""
    file = tmp_path / "file.jsonl"
    append(file, record("eoh", 1, [0.0]))
    with file.open("a") as out:
        out.write(json.dumps(record("eoh", 2, [0.0]))[:30])
    append(file, record("eoh", 3, [0.0]))
    assert [each["seed"] for each in read([file])] == [1, 3]


def test_seed_ranges() -> None:
    """Ranges and single numbers mix."""
    assert numbers("1-3,7,10-10") == [1, 2, 3, 7, 10]


def test_the_signal_of_directions_is_found_again() -> None:
    """Made-up rewards with a known variance between and within directions: both come out within five
    standard errors; batches that differ as a whole change nothing."""
    from benchmarks.learning_signal import components

    draw = random.Random(5)
    batches = []
    for _ in range(60):
        level = draw.gauss(0, 10)
        effects = [level + draw.gauss(0, 0.5) for _ in range(12)]
        batches.append([[effect + draw.gauss(0, 1) for _ in range(3)] for effect in effects])
    found = components(batches)
    assert abs(found.between - 0.25) < 5 * (found.error + 0.02)
    assert found.within == pytest.approx(1, abs=0.15)
    assert found.share == pytest.approx(0.2, abs=0.08)
