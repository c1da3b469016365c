"""``ahd problem check``: each defect is found by the check that is there for it, and told with a mend."""

import json
import re
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ahd.problem_check.candidates import check_candidates
from ahd.problem_check.command import run_check
from ahd.problem_check.damage import check_damage
from ahd.problem_check.finding import Finding, Level
from ahd.problem_check.instances import check_instances
from ahd.problem_check.prompts import check_prompts
from ahd.problem_check.reference import check_reference
from ahd.problem_check.second import check_second
from problems.problem import Problem, Reference
from problems.registry import load, load_file, packaged

ROOT = Path(__file__).parent.parent.parent
FILE = ROOT / "docs/tardiness.py"
TEXT = FILE.read_text()
KNOWN = {"earliest due date": 2788.97574, "weighted shortest job": 2626.32978}


@pytest.fixture
def jobs() -> Problem:
    return load_file(FILE)


def bad(findings: Iterable[Finding]) -> dict[str, Level]:
    """What is not ok; every such finding has a mend."""
    found = [each for each in findings if each.level is not Level.OK]
    assert all(each.mend and each.found for each in found)
    worst_last = sorted(found, key=lambda each: each.level is Level.FAILED)
    return {each.what: each.level for each in worst_last}


def fresh_draw(seed: int, split: str, size: int) -> np.ndarray:
    return np.random.default_rng([seed, size]).random((64, 3, size))


SHARED = {size: np.random.default_rng(size).random((64, 3, size)) for size in (40, 100)}
INSTANCES: dict[str, tuple[dict[str, Any], dict[str, Level]]] = {
    "not from a seed": (
        {"instances": lambda split, size: np.random.default_rng().random((64, 3, size))},
        {f"instances {each}": Level.FAILED for each in ("train 40", "val 40", "test 40", "test 100")}
        | {"other sizes": Level.FAILED, "redraw": Level.WARNING},
    ),
    "shared": (
        {"instances": lambda split, size: SHARED[size]},
        {f"instances {each}": Level.FAILED for each in ("train 40", "val 40", "test 40", "test 100")}
        | {"splits differ": Level.WARNING, "other sizes": Level.FAILED, "redraw": Level.WARNING},
    ),
    "another dtype": (
        {"redraw": lambda *_: fresh_draw(*_).astype(np.float32)},
        {"redraw": Level.FAILED},
    ),
    "not by the seed": ({"redraw": lambda *_: fresh_draw(0, *_[1:])}, {"redraw": Level.FAILED}),
    "by chance": (
        {"redraw": lambda *_: np.random.default_rng().random((64, 3, 40))},
        {"redraw": Level.FAILED},
    ),
    "fails": ({"redraw": lambda *_: 1 / 0}, {"redraw": Level.FAILED}),
    "none at all": (
        {"sizes": {"train": (40,), "val": (7,), "test": (40,)}},
        {"instances val 7": Level.FAILED, "redraw": Level.WARNING},
    ),
    "right": ({"redraw": fresh_draw}, {}),
}


@pytest.mark.parametrize("case", INSTANCES)
def test_instances(jobs: Problem, case: str) -> None:
    """Instances that change from call to call, can be changed by whoever has them or are missing fail; so do
    redraws of another form, without a seed, or the same for two."""
    changed, expected = INSTANCES[case]
    before = SHARED[40].copy()
    assert bad(check_instances(replace(jobs, **changed))) == expected
    np.testing.assert_array_equal(SHARED[40], before)


def _lax(instances: np.ndarray, decisions: np.ndarray) -> float:
    return float(np.nan_to_num(decisions, posinf=9e9, neginf=-9e9).clip(-9e9, 9e9).sum())


def test_objectives_that_do_not_stand_damage(jobs: Problem) -> None:
    """What raises something else, returns no finite number or writes into the instances fails; what takes
    decisions of a wrong shape is told; what is improved by damage fails too."""
    assert bad(check_damage(jobs)) == {}
    failing: list[Any] = [
        lambda instances, decisions: float(decisions[3, 39]),
        lambda instances, decisions: float(decisions.sum()),
        lambda instances, decisions: "x" if decisions.ndim == 0 else 1.0,
        lambda instances, decisions: instances.fill(0) or 1.0,
        lambda instances, decisions: exit() if decisions.ndim == 0 else 1.0,
    ]
    for objective in failing:
        assert Level.FAILED in bad(check_damage(replace(jobs, objective=objective))).values()
    findings = list(check_damage(replace(jobs, objective=_lax)))
    assert [each.level for each in findings] == [Level.OK, Level.WARNING, Level.FAILED]
    assert "misshapen" in findings[1].found
    assert "cut" in findings[1].found
    assert "better than" in findings[2].found
    assert "hugely negative" in findings[2].found
    loops: list[Any] = [
        lambda heuristic, instances: np.zeros(7),
        lambda heuristic, instances: np.zeros(len(instances), np.int32),
    ]
    for run in loops:
        assert bad(check_damage(replace(jobs, run=run))) == {"decisions": Level.FAILED}


def test_references(jobs: Problem) -> None:
    """A reference that the known heuristics beat, one of another sign and one of 0 are told."""
    told = Level.WARNING
    for value, level in ((1500.0, None), (2700.0, told), (-2500.0, told), (0.0, told)):
        problem = replace(jobs, reference=lambda split, size, value=value: Reference(value, "guessed"))
        assert bad(check_reference(problem, KNOWN)).get("reference") == level
    broken = replace(jobs, reference=lambda split, size: 7 if split == "val" else None)
    assert bad(check_reference(broken, KNOWN)) == {"reference": Level.FAILED}


def test_prompts(jobs: Problem) -> None:
    """Texts that do not fit together fail; every operator is shown in both styles."""
    findings, shown = check_prompts(jobs, KNOWN)
    assert bad(findings) == {}
    assert {(each.operator, each.style) for each in shown} == {
        (operator, style) for operator in ("i1", "e1", "e2", "m1", "m2") for style in ("skeleton", "free")
    }
    assert all(each.length == len(each.prompt.text) + len(each.prompt.prefill) > 100 for each in shown)
    whole = {name: code + "# end\n" for name, code in jobs.heuristics.items()}
    for changed, expected in (
        ({"template": "def score_jobs(a, b):\n    'x'"}, {"template": Level.FAILED}),
        ({"template": "def score_jobs(:"}, {"template": Level.FAILED}),
        ({"template": "def score_jobs(duration, weight, due): ..."}, {"template": Level.WARNING}),
        ({"skeleton": replace(jobs.skeleton, prefix="def f(a):\n    pass")}, {"skeleton": Level.FAILED}),
        ({"skeleton": replace(jobs.skeleton, suffix="\n  return score\n")}, {"skeleton": Level.FAILED}),
        ({"heuristics": whole}, {"skeleton": Level.WARNING}),
        (
            {"skeleton": replace(jobs.skeleton, hint="x" * 5000)},
            {"prompts, skeleton": Level.WARNING},
        ),
    ):
        assert bad(check_prompts(replace(jobs, **changed), KNOWN)[0]) == expected  # type: ignore[arg-type]


def dropped(folder: Path, old: str, new: str) -> Problem:
    assert old in TEXT
    file = folder / "changed.py"
    file.write_text(TEXT.replace(old, new))
    return load_file(file)


@pytest.mark.slow
def test_candidates(tmp_path: Path) -> None:
    """A loop that takes what is no decision, one whose score an overwriting candidate changes, a known
    heuristic that fails and an objective that fails on bad decisions are each found."""
    loop = "np.array([heuristic(*jobs.copy()) for jobs in instances], dtype=float)"
    lax = loop.replace("heuristic(*jobs.copy())", "np.broadcast_to(heuristic(*jobs.copy()), 40)")
    tamed = dropped(tmp_path, f"return {loop}", f"return np.nan_to_num({lax}, posinf=9.0)")
    names = ("candidate: returns None", "candidate: returns NaN", "candidate: returns infinity")
    assert bad(check_candidates(tamed)[0]) == dict.fromkeys(names, Level.FAILED)
    twice = "np.array([(heuristic(*jobs), heuristic(*jobs).copy())[1] for jobs in instances], dtype=float)"
    instances = f"instances = instances.copy()\n    return {twice}"
    findings, _ = check_candidates(dropped(tmp_path, f"return {loop}", instances))
    assert "candidate: overwrites its arguments" in bad(findings)
    findings, _ = check_candidates(dropped(tmp_path, '" -urgency"', '" -unknown"'))
    assert bad(findings) == {"heuristic weighted shortest job": Level.FAILED}
    findings, _ = check_candidates(dropped(tmp_path, 'PREFIX + " due"', 'PREFIX + " unknown"'))
    assert bad(findings) == {"sandbox": Level.FAILED}, "the simplest warms it up"
    fragile = "raise ValueError('oh')"
    changed = dropped(tmp_path, 'raise InvalidSolution("needs one finite score per job")', fragile)
    assert bad(check_candidates(changed)[0]) == {"sandbox": Level.FAILED}


@pytest.mark.slow
def test_a_second_process(tmp_path: Path) -> None:
    """Instances that depend on the process, and an objective that takes its process down, are found."""
    changed = dropped(tmp_path, "    due = rng", "    duration[0, 0] += hash('x') % 97\n    due = rng")
    assert bad(check_second(changed.origin, changed)) == {"second process": Level.FAILED}
    start = "    duration, weight, due = instances.swap"
    changed = dropped(tmp_path, start, f"    import os\n    decisions.ndim > 2 and os._exit(3)\n{start}")
    (found,) = check_second(changed.origin, changed)
    assert found.level is Level.FAILED
    assert "exit code 3" in found.found


@pytest.mark.slow
def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Exit code 0 and all findings for a problem that works; where they are asked for, the prompts and who
    reads them in place of what is ok; exit code 1 where a check fails, and then each with its mend, in both
    forms."""
    assert run_check(str(FILE), as_json=False, show_prompts=False) == 0
    told = capsys.readouterr().out
    assert "ms an evaluation of earliest due date" in told
    assert "tardiness: 30 ok, 1 warning, 0 failed" in told
    assert run_check(str(FILE), as_json=False, show_prompts=True) == 0
    told = capsys.readouterr().out
    assert not re.search("(?m)^ok ", told)
    assert told.index("skeleton style, for models of less than 3.0B") < told.index(
        "===== m1, skeleton style, "
    )
    assert "free style, for larger models:" in told
    assert "tardiness: 30 ok, 1 warning, 0 failed" in told
    changed = dropped(tmp_path, "rng = np.random.default_rng([", "rng = np.random.default_rng() or ([")
    assert run_check(changed.origin, as_json=True, show_prompts=False) == 1
    record = json.loads(capsys.readouterr().out)
    assert not record["ok"]
    assert {each["level"] for each in record["checks"]} == {"ok", "warning", "failed"}
    assert all(each["mend"] for each in record["checks"] if each["level"] != "ok")


@pytest.mark.parametrize("name", packaged())
def test_the_packages_own_problems(name: str) -> None:
    """What the checks ask for is met by every problem of the package, as far as texts and instances go."""
    problem = load(name)
    levels = bad([*check_instances(problem), *check_prompts(problem, {problem.simplest[0]: 1.0})[0]])
    assert Level.FAILED not in levels.values(), levels
