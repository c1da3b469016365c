"""The command line: every mistake is one line with its mend and exit code 2."""

import inspect
import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from enum import Enum
from pathlib import Path
from typing import Any, get_args, get_type_hints

import pytest
import typer

from ahd.cli import app, main
from ahd.cli.mistakes import MISSING
from ahd.config import RunConfig
from ahd.es.perturbation import scales
from tests.display.stored_run import store_run
from tests.fakes import SMALL

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
        (["run", "tsp", "--insights", "all"], ["--insights", "rules", "model"]),
        (["run", "tsp", "--model", "no/such/folder"], ["no/such/folder", "--model"]),
        (["run", "tsp", "--dry-run", "--problem-path", "nowhere.py"], ["nowhere.py"]),
        (["run", "tsp", "--dry-run", "--scope", "layers.(0"], ["--scope", "regular expression"]),
        (["run"], ["name a problem", "`ahd problems`"]),
        (["fly"], ["fly", "`ahd --help`"]),
        (["runn", "tsp"], ["did you mean run?"]),
        (["weights"], ["ahd weights rebuild or ahd weights export"]),
        (["weights", "rebuid"], ["did you mean rebuild?"]),
        (["run", "tsp", "--metho", "eoh"], ["--metho", "did you mean --method?"]),
        (["run", "tsp", "--zzz", "eoh"], ["--zzz", "`ahd run --help`"]),
        (["run", "tsp", "--budget", "a\n\x1b[31m"], ["--budget a [31m: needs a whole number"]),
        (["run", "tsp", "--budget="], ["--budget ''"]),
        (["problems", "tsp", "tsq"], ["tsq", "too many arguments"]),
        (
            ["evaluate", "tsp", "--known", "--instances", "/nonexist"],
            ["--instances /nonexist", "file or folder"],
        ),
        (["problem", "new", "tsp"], ["tsp", "another name"]),
        (["problem", "check", "nowhere.py"], ["nowhere.py"]),
        (["problem", "check", "tests/fakes.py"], ["fakes.py", "problem"]),
        (["resume", "tests"], ["tests", "not a run folder"]),
        (["show", "nowhere"], ["nowhere", "not a run folder"]),
        (["report", "tests"], ["tests", "run.sqlite", "comparison.json"]),
        (["report", "nowhere", "--out", "page.txt"], ["--out", ".html"]),
        (["watch", "nowhere", "--display", "json", "--wait", "-1"], ["--wait"]),
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


def commands(group: Any = None, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Every command with the words that call it."""
    for name, each in (group or typer.main.get_command(app)).commands.items():
        if hasattr(each, "commands"):
            yield from commands(each, (*path, name))
        else:
            yield (*path, name), each


def told(words: Sequence[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> str:
    """What the command line says to these words, which are a mistake, in this process."""
    monkeypatch.setattr(sys, "argv", ["ahd", *words])
    with pytest.raises(SystemExit) as caught:
        main()
    assert caught.value.code == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith("ahd: ")
    assert printed.err.count("\n") == 1
    return printed.err.removeprefix("ahd: ").rstrip("\n")


LIBRARIES = (
    "input",
    "valid integer",
    "parse",
    "value error",
    "invalid value",
    "argument 'RUN'",
    "missing arg",
)
"""Words of pydantic and typer."""


def test_no_option_answers_in_a_librarys_words(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Every option of every command that takes numbers or choices says which, after its name and the value;
    every option without its value, and every flag with one, says so."""
    numbers = choices = 0
    for path, command in commands():
        needed = ["x" for each in command.params if each.required and not each.opts[0].startswith("-")]
        hints = get_type_hints(inspect.unwrap(command.callback))
        for option in command.params:
            name = option.opts[0]
            if not name.startswith("--") or name == "--help":
                continue
            if option.is_flag:
                said = told([*path, *needed, f"{name}=maybe"], monkeypatch, capsys)
                assert said == f"{name} takes no value: leave it out"
                continue
            assert told([*path, *needed, name], monkeypatch, capsys) == f"{name} needs a value: give one"
            kinds = {hints[option.name], *get_args(hints[option.name])}
            kinds |= {inner for each in kinds for inner in get_args(each)}
            offered = [list(each) for each in kinds if isinstance(each, type) and issubclass(each, Enum)]
            if not (offered or kinds & {int, float}):
                continue
            said = told([*path, *needed, name, "may be"], monkeypatch, capsys)
            if offered:
                choices += 1
                assert said == f"{name} may be: use one of {', '.join(each.value for each in offered[0])}"
            else:
                numbers += 1
                assert said == f"{name} may be: needs a {'whole ' * (int in kinds)}number"
            assert not any(words in said.lower() for words in LIBRARIES)
    assert numbers > 30
    assert choices > 8


def test_what_is_left_out_is_asked_for(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Every required argument and option of every command, left out, is answered with what to give."""
    asked = set()
    for path, command in commands():
        needed = [each for each in command.params if each.required]
        for count in range(len(needed)):
            said = told([*path, *("x" for _ in range(count))], monkeypatch, capsys)
            assert said == MISSING[needed[count].name], path
            asked.add(needed[count].name)
    assert asked == set(MISSING)


def test_a_run_file_stands_for_its_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Every command that takes a run folder takes the run file in it as well, also from inside the folder; a
    file that is not there is refused as before."""
    folder = store_run(tmp_path / "run", proposals=20)
    whole = ahd("best", str(folder))
    assert whole.returncode == 0, whole.stderr
    assert ahd("best", str(folder / "run.sqlite")).stdout == whole.stdout
    assert ahd("best", "run.sqlite", cwd=folder).stdout.splitlines()[1:] == whole.stdout.splitlines()[1:]
    broken = tmp_path / "broken" / "run.sqlite"
    broken.parent.mkdir()
    broken.write_text("no run")
    takers = [
        path for path, each in commands() if any(one.metavar in ("RUN", "[RUN]") for one in each.params)
    ]
    assert len(takers) >= 7
    more = {"export": ["--out", str(tmp_path / "out")], "watch": ["--wait", "0"]}
    for path in takers:
        extra = more.get(path[-1], [])
        said = told([*path, str(broken), *extra], monkeypatch, capsys)
        assert said.startswith(f"{broken} cannot be read as a run file"), path
        said = told([*path, str(tmp_path / "run.sqlite"), *extra], monkeypatch, capsys)
        assert said.startswith(f"{tmp_path / 'run.sqlite'} is not a run folder"), path


SEVEN = (
    (ROOT / "docs" / "tardiness.py")
    .read_text()
    .replace("    return np.array([heur", "    return 7\n    return np.array([heur")
)


def test_a_problem_whose_heuristics_all_fail_prints_no_prompt(tmp_path: Path) -> None:
    """Where no known heuristic scores, a dry run is one line with the file, before anything is printed; where
    one does, it is the parent."""
    file = tmp_path / "seven.py"
    file.write_text(SEVEN)
    done = ahd("run", "tardiness", "--problem-path", str(file), "--dry-run")
    assert (done.returncode, done.stdout) == (2, "")
    what = "its own heuristic `earliest due date` failed: needs one finite score per job"
    assert done.stderr == f"ahd: problem tardiness ({file}): {what}\n"
    file.write_text(
        SEVEN.replace("    return 7\n", "    if heuristic(*instances[0])[0] >= 0:\n        return 7\n")
    )
    done = ahd("run", "tardiness", "--problem-path", str(file), "--dry-run")
    assert done.returncode == 0, done.stderr
    assert "===== m2: message" in done.stdout


@pytest.mark.slow
def test_a_run_of_such_a_problem_says_the_same(tmp_path: Path) -> None:
    """The run itself ends with that line, the file in it, and keeps what it has done."""
    file = tmp_path / "seven.py"
    file.write_text(SEVEN)
    arguments = ["run", "tardiness", "--problem-path", str(file), "--model", "scripted", "--budget", "20"]
    done = ahd(*arguments, "--out", str(tmp_path / "run"), "--display", "plain")
    assert done.returncode == 2
    what = "its own heuristic `earliest due date` failed: needs one finite score per job"
    assert done.stderr == f"ahd: problem tardiness ({file}): {what}\n"
    assert (tmp_path / "run" / "run.sqlite").is_file()


@pytest.mark.parametrize(
    "command",
    [
        *(
            "run",
            "resume",
            "watch",
            "show",
            "best",
            "report",
            "evaluate",
            "test",
            "refs",
            "problems",
            "doctor",
        ),
        *("problem new", "problem check"),
    ],
)
def test_help_shows_an_example(command: str) -> None:
    """Every command's help has an example to copy."""
    done = ahd(*command.split(), "--help")
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


def test_structured_shows_its_grammar_or_says_why_there_is_none() -> None:
    """--dry-run prints it; whole functions have none."""
    done = ahd("run", "tsp", "--dry-run", "--style", "skeleton", "--structured")
    assert 'VALUE: "home" | "near" | "rest"' in done.stdout
    refused = ahd("run", "tsp", "--dry-run", "--style", "free", "--structured")
    assert refused.returncode == 2
    assert "--structured: only a skeleton has a grammar" in refused.stderr


@pytest.mark.slow
def test_a_run_stores_what_its_options_meant(tmp_path: Path) -> None:
    """A run with every option ends well; its file holds sigma and alpha as numbers, whatever the defaults
    will be, and the command that starts it again is the same run."""
    options = "--kind lowrank --rank 2 --scope linear --reward paper --shaping valid --antithetic"
    options += " --per-direction 2 --momentum 0.5 --validity-floor 0.2 --patience 2"
    command = ["run", *SMALL, "--model", "scripted", "--budget", "20", *options.split()]
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
