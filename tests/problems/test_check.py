"""Problems from files: what is wrong is told in one line when one is loaded, not at the end of a run."""

import dataclasses
import os
from pathlib import Path

import pytest

from ahd.cli.search import _check_names
from ahd.config import RunConfig
from ahd.dry_run import print_prompts
from ahd.evaluate import load_problem
from evaluators.task import BrokenProblemFile
from problems import registry
from problems.check import check_instances
from problems.problem import Problem, Skeleton
from problems.skeletons import BrokenSkeleton, check_skeleton

TARDINESS = (Path(__file__).parents[2] / "docs" / "tardiness.py").read_text()
DRAWN = """
def drawn(rng, size):
    return rng.uniform(1, 9, (64, 3, size))

def instances(split, size):
    return drawn(np.random.default_rng([SPLITS.index(split), size]), size)

def redraw(seed, split, size):
    return drawn(np.random.default_rng([seed, SPLITS.index(split), size]), size)

problem = dataclasses.replace(problem, instances=instances, redraw=redraw)
"""
CHANGES = """
import dataclasses
def change(**fields):
    global problem
    problem = dataclasses.replace(problem, **fields)
COUNT = iter(range(10**6))
"""


def write(folder: Path, after: str = "", name: str = "mine") -> Path:
    """The documented example, drawn by uniform numbers, with more code after it."""
    file = folder / f"{name}.py"
    file.write_text(f"{TARDINESS}{CHANGES}{DRAWN}{after}\n")
    return file


def loaded(folder: Path, after: str = "") -> Problem:
    return registry.load_file(write(folder, after))


GOOD_REDRAWS = ("redraw", "None")
BAD_REDRAWS = {
    "lambda seed, split, size: redraw(seed, split, size)[:32]": "has shape (32, 3, 40), `instances` (64, 3",
    "lambda seed, split, size: redraw(seed, split, size)[..., 1:]": "has shape (64, 3, 39)",
    "lambda seed, split, size: redraw(seed, split, size).astype(int)": "has dtype int64, `instances` float64",
    "lambda seed, split, size: redraw(seed, split, size).tolist()": "is a list: return a numpy array",
    "lambda seed, split, size: None": "is a NoneType",
    "lambda seed, split, size: np.random.rand(64, 3, size)": "differs at a second call: draw from its seed",
    "lambda seed, split, size: redraw(seed, split, size) + next(COUNT)": "differs at a second call",
    "lambda seed, split, size: instances(split, size)": "gives the published instances",
    "lambda seed, split, size: redraw(1, split, size)": "gives the same for the seeds 0 and 2147483647",
    "lambda seed, split, size: 1 / 0": "fails with ZeroDivisionError",
    "lambda seed, split, size: exit()": "fails with SystemExit",
    "lambda seed, size: None": "fails with TypeError",
    "lambda seed, split, size: np.random.RandomState(3 * seed).rand(64, 3, size)": "`redraw(2147483647,",
}


def test_a_file_is_read_anew_whatever_is_kept_of_it(tmp_path: Path) -> None:
    """Changed within the second, to as many bytes: what is loaded is what it says now, and loading it leaves
    nothing beside it."""
    for text in ("instances(split, size)", "redraw(1, split, size)"):
        problem = loaded(tmp_path, f"change(redraw=lambda seed, split, size: {text})")
        os.utime(problem.origin, (1e9, 1e9))
        problem = registry.load_file(Path(problem.origin))
        with pytest.raises(BrokenProblemFile) as caught:
            check_instances(problem)
        assert BAD_REDRAWS[f"lambda seed, split, size: {text}"] in str(caught.value)
        assert not (tmp_path / "__pycache__").exists()


def test_redraws_of_every_wrong_kind_are_refused(tmp_path: Path) -> None:
    """Another shape or dtype, no array, values that differ from call to call, the published instances, a seed
    without effect, and one that raises: each is one line with the file and the call; good ones pass."""
    for text in GOOD_REDRAWS:
        check_instances(loaded(tmp_path, f"change(redraw={text})"))
    for text, message in BAD_REDRAWS.items():
        problem = loaded(tmp_path, f"change(redraw={text})")
        with pytest.raises(BrokenProblemFile) as caught:
            check_instances(problem)
        assert str(caught.value).startswith(f"{problem.origin}: `redraw"), text
        assert message in str(caught.value), (text, str(caught.value))
        assert str(caught.value).isprintable()


BAD_INSTANCES = {
    "lambda split, size: np.random.default_rng().random((8, 3, size))": "seed the generator",
    "lambda split, size: instances(split, size) * (1 + next(COUNT))": "differs at a second call",
    "lambda split, size: instances(split, size)[next(COUNT):]": "differs at a second call",
    "lambda split, size: np.array([[object()] * size], dtype=object)": "differs at a second call",
    "lambda split, size: instances(split, size).tolist()": "is a list: return a numpy array",
    "lambda split, size: np.float64(7)": "return a numpy array",
    "lambda split, size: np.array(7.0)": "has shape ()",
    "lambda split, size: np.ones((0, 3, size))": "has shape (0, 3, ",
    "lambda split, size: 1 / 0": "fails with ZeroDivisionError",
    "lambda split, size: exit()": "fails with SystemExit",
}


def test_instances_of_every_wrong_kind_are_refused(tmp_path: Path) -> None:
    """Instances that are not the same at a second call, no array or none at all are one line with the file
    and the call, also where only the last size of the last split is wrong."""
    for text, message in BAD_INSTANCES.items():
        for guard, where in (("True", "'train', 40"), ("(split, size) == ('test', 100)", "'test', 100")):
            bad = f"BAD = {text}\nchange(redraw=None, "
            bad += f"instances=lambda split, size: (BAD if {guard} else instances)(split, size))"
            problem = loaded(tmp_path, bad)
            with pytest.raises(BrokenProblemFile) as caught:
                check_instances(problem)
            assert str(caught.value).startswith(f"{problem.origin}: `instances({where})` "), text
            assert message in str(caught.value), text


def test_an_array_that_is_changed_afterwards_differs(tmp_path: Path) -> None:
    """A file that hands out one array and changes it is found out, though both calls give the same object."""
    text = (
        "KEPT = instances('train', 40)\ndef same(split, size):\n    KEPT[:] += 1\n    return KEPT\n"
        "change(redraw=None, instances=same)"
    )
    with pytest.raises(BrokenProblemFile, match="differs at a second call"):
        check_instances(loaded(tmp_path, text))


def test_arrays_of_objects_and_nan_are_compared_by_what_they_hold(tmp_path: Path) -> None:
    """Ragged instances and missing numbers, made anew at each call, are equal where they say the same."""
    for text in ("np.array([[1, 2], [3]], dtype=object)", "np.full((2, 3, size), np.nan)"):
        check_instances(loaded(tmp_path, f"change(redraw=None, instances=lambda split, size: {text})"))


@pytest.mark.parametrize("change", ["instances=lambda *_: np.random.rand(2, 3, 40)", "redraw=lambda *_: 7"])
def test_every_command_that_runs_candidates_checks(
    tmp_path: Path, change: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Evaluating, runs, dry or not, and going on with one refuse such a file before a heuristic runs; nothing
    is printed."""
    config = RunConfig("tardiness", model="scripted", problem_path=str(write(tmp_path, f"change({change})")))
    for command in (
        lambda: load_problem("tardiness", config.problem_path),
        lambda: print_prompts(config),
        lambda: _check_names(config),
    ):
        with pytest.raises(ValueError, match=r"mine\.py: `(instances|redraw)\("):
            command()
    assert capsys.readouterr().out == ""


PREFIX = """\
import numpy as np
from math import sqrt as root
import os.path

def helper(inner):
    for step in range(3):
        pass

class Kept:
    pass

def score(duration, *rest, weight=1, **others):
    slack, (urgency, *more) = duration, (1, 2)
    if (wide := 3):
        pass
    with open("x") as file:
        pass
    try:
        pass
    except OSError as fault:
        pass
    score ="""
SUFFIX = "\n    late = 1\n    return score\n"
GOOD_LEADS = (
    *(
        "",
        "slack",
        "-urgency",
        "near_slack.x" * 0,
        "np.where(slack > 0, slack,",
        "root(slack)",
        "more",
        "wide",
    ),
    *(
        "duration ** 2 *",
        "(weight",
        "rest[",
        "len(others) +",
        "os.path",
        "Kept()",
        "helper(1)",
        "fault",
        "file",
    ),
    *("[each for each in slack]", "lambda x: x + slack", "sorted(slack, key=lambda", "None", "'due", "1 +"),
)
BAD_LEADS = {
    "slak": "did you mean `slack`?",
    "slack * dew": "define it there",
    "numpy.where(": "no `numpy`",
    "(slack + urgncy": "did you mean `urgency`?",
    "np.where(slak > 0, key=slack": "did you mean `slack`?",
    "[each for other in slack]": "no `each`",
    "late": "no `late`",
    "slack[leng": "no `leng`",
}


def test_a_lead_uses_what_its_prefix_defines() -> None:
    """Names of a lead, whole or not, have to come from assignments, imports, parameters and definitions
    before the hole, or from Python; another is refused with the nearest."""
    for lead in GOOD_LEADS:
        check_skeleton(Skeleton(PREFIX, SUFFIX, "", lead))
    for lead, message in BAD_LEADS.items():
        with pytest.raises(BrokenSkeleton) as caught:
            check_skeleton(Skeleton(PREFIX, SUFFIX, "", lead))
        assert message in str(caught.value), (lead, str(caught.value))
        assert str(caught.value).isprintable()
    check_skeleton(Skeleton("from numpy import *\nscore =", "\n", "", "where(mean"))


def test_every_packaged_skeleton_passes() -> None:
    """What is asked of files is met by the package."""
    for name in registry.packaged():
        check_skeleton(registry.load(name).skeleton)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("lead='dew'", "`skeleton.lead` is 'dew', but its prefix defines no `dew`: did you mean `due`?"),
        (
            "suffix='\\n  return score\\n'",
            "`skeleton` with 0 in its hole is no Python (unindent does not match",
        ),
        ("prefix='def score_jobs(x):\\n    return ('", "`skeleton` with 0 in its hole is no Python ("),
    ],
)
def test_a_skeleton_that_fits_nothing_is_told_on_loading(tmp_path: Path, change: str, message: str) -> None:
    """A lead without its names, and a skeleton that is no Python, are one line naming file and field."""
    file = write(tmp_path, f"change(skeleton=dataclasses.replace(problem.skeleton, {change}))")
    with pytest.raises(BrokenProblemFile) as caught:
        registry.load_file(file)
    assert str(caught.value).startswith(f"{file}: {message}")


def test_keywords_that_are_missing_or_unknown_are_fields(tmp_path: Path) -> None:
    """Leaving out any required field, or misspelling it, of Problem, Skeleton or Reference is told as that of
    a field, with the one that was meant."""
    needed = [each.name for each in dataclasses.fields(Problem) if each.default is dataclasses.MISSING]
    whole = dict.fromkeys(needed, "None")
    head = "from problems.problem import Problem, Reference, Skeleton\nproblem = "

    def told(call: str) -> str:
        file = tmp_path / "fields.py"
        file.write_text(head + call)
        with pytest.raises(BrokenProblemFile) as caught:
            registry.load_file(file)
        return str(caught.value).removeprefix(f"{file}: ")

    for name in needed:
        rest = {key: value for key, value in whole.items() if key != name}
        arguments = ", ".join(f"{key}={value}" for key, value in rest.items())
        assert told(f"Problem({arguments})") == f"`{name}` is missing: give it"
        wrong = f"{name[:-2]}{name[-1]}"
        assert told(f"Problem({arguments}, {wrong}=1)") == f"`{wrong}` is no field: did you mean `{name}`?"
    assert told("Problem(zzz=1)") == "`zzz` is no field: leave it out"
    assert told("Skeleton('', '')") == "`skeleton.hint` is missing: give it"
    assert told("Skeleton('', '', '', led='')") == "`skeleton.led` is no field: did you mean `skeleton.lead`?"
    assert told("Reference()") == "`reference.value`, `reference.source` are missing: give them"
    assert told("int('x', wrong=1)").startswith("fails with TypeError"), (
        "an error of another kind is told as such"
    )
