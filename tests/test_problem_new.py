"""``ahd problem new``: what it writes works at once."""

import subprocess
import sys
from pathlib import Path

import pytest

from ahd.config import ConfigError
from ahd.problem_kinds import Kind
from ahd.problem_new import write_problem
from problems.registry import load_file

ROOT = Path(__file__).parent.parent


@pytest.mark.slow
@pytest.mark.parametrize("kind", Kind)
def test_what_is_written_passes_its_own_test(kind: Kind, tmp_path: Path) -> None:
    """The module and its test, run by pytest in their own folder as they are: every check of `ahd problem
    check` passes. The text stays within the line length, and is commented."""
    for file in write_problem("my_problem_7", tmp_path, kind):
        assert max(map(len, file.read_text().splitlines())) <= 110
    assert (tmp_path / "my_problem_7.py").read_text().count("\n# ") >= 6
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_my_problem_7.py"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stdout
    problem = load_file(tmp_path / "my_problem_7.py")
    assert problem.name == "my-problem-7"
    assert (problem.seeded, problem.apart) == (kind is Kind.GUIDED, kind is Kind.APART)


def test_the_next_commands_are_printed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The problem's name, what the sample is about, and three commands with the paths as they are, quoted
    where shells ask."""
    folder = tmp_path / "my problems"
    write_problem("a-b", folder, Kind.STEP)
    first, sample, _, *commands = capsys.readouterr().out.splitlines()
    assert "the problem a-b: " in first
    assert str(folder / "a_b.py") in first
    assert "Independent sets" in sample
    assert [line.split("'")[0].strip() for line in commands] == [
        "ahd problem check",
        "python -m pytest",
        "ahd run a-b --problem-path",
    ]


def test_nothing_is_overwritten(tmp_path: Path) -> None:
    """Where either file is there, in whatever form, neither is written."""
    for taken in ("mine.py", "test_mine.py"):
        folder = tmp_path / taken
        folder.mkdir()
        (folder / taken).symlink_to("nowhere")
        with pytest.raises(ConfigError, match="there already"):
            write_problem("mine", folder, Kind.STEP)
        assert [file.name for file in folder.iterdir()] == [taken]
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigError, match="--out"):
        write_problem("mine", tmp_path / "file", Kind.STEP)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("My_problem", "lower-case"),
        ("7up", "letter first"),
        ("a__b", "single"),
        ("../a", "lower-case"),
        ("", "lower-case"),
        ("tsp", "already"),
        ("bin_packing_online", "already"),
        ("class", "word of Python"),
        ("random", "module"),
        ("numpy", "module"),
        ("problems", "module"),
    ],
)
def test_names_that_cannot_be_used(name: str, words: str, tmp_path: Path) -> None:
    """A name that is no module, is taken, or would stand in the way of another module is refused in one
    line."""
    with pytest.raises(ConfigError, match=words) as caught:
        write_problem(name, tmp_path, Kind.STEP)
    assert str(caught.value).isprintable()
    assert not list(tmp_path.iterdir())
