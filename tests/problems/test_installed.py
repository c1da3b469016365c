"""Problems that installed packages add through an entry point."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from evaluators.sandbox import Sandbox
from evaluators.task import BrokenProblemFile
from problems import registry
from problems.problem import Problem

ROOT = Path(__file__).parent.parent.parent
TARDINESS = (ROOT / "docs/tardiness.py").read_text()


def install(site: Path, package: str, modules: dict[str, str], points: dict[str, str]) -> None:
    """What pip leaves of a wheel: the package beside its ``dist-info``."""
    (site / package).mkdir(parents=True)
    for name, text in {"__init__": "", **modules}.items():
        (site / package / f"{name}.py").write_text(text)
    info = site / f"{package}-1.2.dist-info"
    info.mkdir()
    dashed = package.replace("_", "-")
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {dashed}\nVersion: 1.2\n")
    lines = [f"{name} = {value}" for name, value in points.items()]
    (info / "entry_points.txt").write_text("[ahd.problems]\n" + "\n".join(lines) + "\n")


def ahd(site: Path, *arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "ahd", *arguments],
        capture_output=True,
        text=True,
        timeout=120,
        cwd=cwd,
        env={**os.environ, "PYTHONPATH": f"{site}{os.pathsep}{ROOT}"},
    )


def named(name: str) -> str:
    return TARDINESS.replace('name="tardiness"', f'name="{name}"')


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of installed packages, also on this process's path."""
    folder = tmp_path / "site"
    folder.mkdir()
    monkeypatch.syspath_prepend(str(folder))
    monkeypatch.delenv("AHD_PROBLEMS", raising=False)
    return folder


def test_an_installed_problem_is_a_problem_like_any_other(site: Path, tmp_path: Path) -> None:
    """It is listed with its package, scored in the sandbox, searched and resumed by its name from any folder;
    its module may import its own package relatively, and its functions may be lambdas and partials."""
    relative = named("tardiness-too").replace(
        "import numpy as np\n", "import numpy as np\nfrom . import more\n", 1
    )
    relative = relative.replace("    instances=instances,", "    instances=more.same(instances),")
    more = "from functools import partial\n\ndef same(f):\n    return partial(lambda g, *a: g(*a), f)\n"
    install(site, "late_jobs", {"order": relative, "more": more}, {"tardiness-too": "late_jobs.order"})
    listed = ahd(site, "problems", "tardiness-too", "--json", cwd=tmp_path)
    assert listed.returncode == 0, listed.stderr
    assert json.loads(listed.stdout)["origin"] == "late-jobs 1.2 (late_jobs.order)"
    assert "from         late-jobs 1.2 (late_jobs.order)" in ahd(site, "problems", cwd=tmp_path).stdout
    scored = ahd(site, "evaluate", "tardiness-too", "--known", "--json", cwd=tmp_path)
    assert scored.returncode == 0, scored.stderr
    assert [json.loads(line)["status"] for line in scored.stdout.splitlines()] == ["ok", "ok"]
    command = [
        "run",
        "tardiness-too",
        "--model",
        "scripted",
        "--budget",
        "10",
        "--out",
        "run",
        "--display",
        "plain",
    ]
    done = ahd(site, *command, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    again = ahd(site, "resume", str(tmp_path / "run"), "--display", "plain", cwd=site)
    assert again.returncode == 0, again.stderr
    assert "10 of 10" in again.stdout
    without = ahd(tmp_path, "evaluate", "tardiness-too", "--known", cwd=tmp_path)
    assert without.returncode == 2
    assert "tardiness-too" in without.stderr


def test_a_loop_apart_can_be_installed(site: Path) -> None:
    """Its candidates are asked from another process, as those of the package's own problems are."""
    install(
        site,
        "apart_jobs",
        {"order": named("apart-jobs").replace("    sizes=SIZES,", "    sizes=SIZES,\n    apart=True,")},
        {"apart-jobs": "apart_jobs.order"},
    )
    problem = registry.load("apart-jobs")
    assert problem.apart
    assert problem.origin == ""
    with Sandbox(problem) as sandbox:
        assert sandbox.submit(problem.simplest[1]).result().ok


BROKEN = {
    "raise SystemExit": "SystemExit",
    "import nothing_like_it": "ModuleNotFoundError",
    "x = 1": "problem",
    "problem = 7": "is a int",
    named("another"): "same name",
    named("bad-one").replace("decimals", "x") + "\nobject.__setattr__(problem, 'title', '')\n": "title",
}


def test_a_broken_one_touches_no_other(
    site: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What is wrong with it is told, in one line that names the package, when it is asked for and in the
    listing, which goes on; a problem that is asked for by name imports no other."""
    from ahd.problem_list import print_problems

    points = {f"bad-{number}": f"bad_jobs.m{number}" for number in range(len(BROKEN))}
    modules = {f"m{number}": text for number, text in enumerate(BROKEN)}
    points |= {"Bad": "bad_jobs.good", "good": "bad_jobs.good", "missing": "bad_jobs.missing"}
    install(site, "bad_jobs", modules | {"good": named("good")}, points)
    assert isinstance(registry.load("good"), Problem)
    assert registry.load("tsp").name == "tsp"
    assert not {f"bad_jobs.m{number}" for number in range(len(BROKEN))} & set(sys.modules)
    for name, words in [
        *zip(points, BROKEN.values(), strict=False),
        ("Bad", "lower-case"),
        ("missing", "missing"),
    ]:
        with pytest.raises(BrokenProblemFile, match=words) as caught:
            registry.load(name)
        assert "bad-jobs 1.2" in str(caught.value)
        assert str(caught.value).isprintable()
    assert print_problems(True) == 2
    printed = capsys.readouterr()
    listed = {json.loads(line)["name"] for line in printed.out.splitlines()}
    assert {*registry.packaged(), "good"} == listed
    assert len(printed.err.splitlines()) == len(points) - 1
    assert "ahd: bad-jobs 1.2 (bad_jobs.m0): entry point bad-0" in printed.err


def test_names_that_are_taken(site: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The package's own problem stays what it is; of two packages with one name neither is taken by chance; a
    file in AHD_PROBLEMS does not hide an installed problem."""
    install(site, "thief", {"tsp": named("tsp")}, {"tsp": "thief.tsp", "mine": "thief.tsp"})
    install(site, "second", {"mine": named("mine")}, {"mine": "second.mine"})
    install(site, "third", {"other": named("other")}, {"other": "third.other"})
    assert registry.load("tsp").title != "weighted tardiness on one machine"
    assert [text[:15] for text in registry.thieves()] == ["thief 1.2 (thie"]
    with pytest.raises(BrokenProblemFile, match="uninstall one"):
        registry.load("mine")
    folder = tmp_path / "dropped"
    folder.mkdir()
    (folder / "other.py").write_text(named("other"))
    monkeypatch.setenv("AHD_PROBLEMS", str(folder))
    assert registry.load("other").origin == ""
    assert "third 1.2" in str(registry.dropped().broken[folder / "other.py"])
