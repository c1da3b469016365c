"""The command line: every mistake is one line with its mend and exit code 2."""

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from ahd.config import RunConfig
from ahd.es.perturbation import scales

ROOT = Path(__file__).parent.parent


def ahd(*arguments: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "ahd", *arguments],
        capture_output=True,
        text=True,
        timeout=120,
        cwd=cwd or ROOT,
        env=None,
    )


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["run", "tps"], ["tps", "tsp"]),
        (["run", "tsp", "--budget", "5"], ["--budget 5", "population"]),
        (["run", "tsp", "--budget", "many"], ["--budget"]),
        (["run", "tsp", "--method", "magic"], ["--method", "esopt"]),
        (["run", "tsp", "--sigma", "-1"], ["--sigma"]),
        (["run", "tsp", "--kind", "lowrank", "--scope", "norms"], ["--kind lowrank", "norms"]),
        (["run", "tsp", "--scope", "layers.(0"], ["--scope", "regular expression"]),
        (["run", "tsp", "--rank", "4"], ["--rank 4", "lowrank"]),
        (["run", "tsp", "--server", "http://localhost:1", "--replicas", "2"], ["--server", "--replicas"]),
        (["run", "tsp", "--per-direction", "0"], ["--per-direction 0"]),
        (["run", "tsp", "--momentum", "1"], ["--momentum 1"]),
        (["run", "tsp", "--validity-floor", "1.5"], ["--validity-floor"]),
        (["run", "tsp", "--reward", "praise"], ["--reward", "paper", "new"]),
        (["run", "tsp", "--shaping", "round"], ["--shaping", "ranks"]),
        (["run", "tsp", "--model", "no/such/folder"], ["no/such/folder", "--model"]),
        (["run", "tsp", "--dry-run", "--problem-path", "nowhere.py"], ["nowhere.py"]),
        (["run"], ["PROBLEM"]),
        (["fly"], ["fly"]),
        (["resume", "tests"], ["tests", "not a run folder"]),
        (["show", "nowhere"], ["nowhere", "not a run folder"]),
        (["best", "tests"], ["tests", "not a run folder"]),
        (["evaluate", "tsp", "nowhere.py"], ["nowhere.py"]),
        (["evaluate", "tsp", "tests/fakes.py", "--split", "dev"], ["dev", "train"]),
        (["evaluate", "tsp", "tests/fakes.py", "--size", "7"], ["7", "50"]),
    ],
)
def test_mistakes_are_one_line(arguments: list[str], words: list[str], tmp_path: Path) -> None:
    """Exit code 2, one line on standard error naming what was wrong, nothing on standard output."""
    results = set((ROOT / "results").glob("*"))
    done = ahd(*arguments)
    assert done.returncode == 2, done.stderr
    assert done.stdout == ""
    assert done.stderr.startswith("ahd: ")
    assert done.stderr.count("\n") == 1
    for word in words:
        assert word.lower() in done.stderr.lower()
    assert set((ROOT / "results").glob("*")) == results


@pytest.mark.parametrize(
    "command", ["run", "resume", "show", "best", "evaluate", "test", "refs", "problems", "doctor"]
)
def test_help_shows_an_example(command: str) -> None:
    """Every command's help has an example to copy."""
    done = ahd(command, "--help")
    assert done.returncode == 0
    assert f"ahd {command}" in done.stdout.split("Example", 1)[1]


def test_dry_run_prints_a_prompt_per_operator() -> None:
    """--dry-run shows what the model would read, in both styles, without loading it."""
    for style in ("skeleton", "free"):
        done = ahd("run", "tsp", "--dry-run", "--style", style)
        assert done.returncode == 0, done.stderr
        for operator in ("i1", "e1", "e2", "m1", "m2"):
            assert f"===== {operator}: message" in done.stdout
        assert ("made to start with" in done.stdout) == (style == "skeleton")
        assert "25 generations of 10 e1 + 10 e2 + 30 m1 + 30 m2" in done.stdout


@pytest.mark.slow
def test_a_run_stores_what_its_options_meant(tmp_path: Path) -> None:
    """A run with every option ends well; its file holds sigma and alpha as numbers, whatever the defaults
    will be, and the command that starts it again is the same run."""
    options = "--kind lowrank --rank 2 --scope linear --reward paper --shaping valid --antithetic"
    options += " --per-direction 2 --momentum 0.5 --validity-floor 0.2 --patience 2"
    command = ["run", "tsp", "--model", "scripted", "--budget", "20", *options.split()]
    done = ahd(*command, "--out", str(tmp_path / "run"), "--display", "plain")
    assert done.returncode == 0, done.stderr
    assert "directions: lowrank of rank 2, scope linear" in done.stdout
    shown = ahd("show", str(tmp_path / "run"), "--json")
    facts = json.loads(shown.stdout)
    config = RunConfig.from_json(json.dumps(facts["config"]))
    assert (config.sigma, config.alpha) == scales(replace(config, sigma=None, alpha=None))
    assert config.antithetic
    assert [update["directions"] for update in facts["updates"]] == [3, 3]
    for option in options.split():
        assert option in config.command.split()
