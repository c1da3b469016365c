"""Broken and hostile candidates: each gets its typed outcome and leaves nothing behind, whoever runs them and
whichever layers there are."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from evaluators import layers
from evaluators.layers import Layer
from evaluators.outcome import Status
from evaluators.sandbox import Sandbox
from tests.evaluators.aftermath import eventually, leftovers
from tests.evaluators.hostile_cases import CASES, PROBLEMS, SMALLEST, Case, inside, top
from tests.evaluators.hostile_report import MEMORY_MB, SECRET, Surroundings, earned, faults, run

ROOT = Path(__file__).parents[2]
USER = 12345


@pytest.fixture(scope="module")
def surroundings() -> Iterator[Surroundings]:
    with Surroundings() as found:
        yield found


@pytest.fixture(scope="module")
def sandbox_for() -> Iterator[Callable[[str], Sandbox]]:
    """One for each problem, in turn: asked for another problem, it ends the one before. At the end of each,
    the simplest heuristic scores what it always does."""
    held: dict[str, Sandbox] = {}

    def end() -> None:
        for problem, sandbox in held.items():
            with sandbox:
                simplest = PROBLEMS[problem].simplest[1]
                outcome = sandbox.submit(simplest, *SMALLEST[problem]).result()
            assert outcome.objective == earned(problem, simplest), outcome
        held.clear()

    def given(problem: str) -> Sandbox:
        if problem not in held:
            end()
            held[problem] = Sandbox(PROBLEMS[problem], memory_mb=MEMORY_MB)
        return held[problem]

    yield given
    end()


def parameters() -> list[Any]:
    return [pytest.param(case, id=case.name.replace(" ", "-")) for case in CASES]


@pytest.mark.parametrize("case", parameters())
def test_typed_outcome_and_nothing_left(
    sandbox_for: Callable[[str], Sandbox], case: Case, surroundings: Surroundings
) -> None:
    """The outcome is the one allowed, its text is harmless and tells no secret, an ok has the objective that
    its decisions have when computed here, and no file, listener or process knows of it afterwards."""
    sandbox = sandbox_for(case.problem)
    outcome = run(sandbox, case, surroundings)
    assert faults(case, outcome, sandbox.layers) == []
    if sandbox.layers == frozenset(Layer):
        assert SECRET not in outcome.detail
        assert surroundings.touched() == []
    assert eventually(lambda: not leftovers(sandbox.pids)), leftovers(sandbox.pids)


def test_every_problem_has_its_share() -> None:
    """No name is used twice, and each problem of the package has at least 30 cases."""
    assert len({case.name for case in CASES}) == len(CASES)
    counts = Counter(case.problem for case in CASES)
    assert counts.keys() == PROBLEMS.keys()
    assert min(counts.values()) >= 30


MARK = """
import builtins, gc, numpy as np, random, sys, time
assert not any(hasattr(each, "mark") for each in (np, builtins, random, sys)), "someone was here before"
np.mark = builtins.mark = random.mark = sys.mark = 1
np.random.seed(7)
np.argmin = np.argmax = np.where = None
"""


@pytest.mark.parametrize("problem", PROBLEMS)
def test_nothing_passes_from_one_candidate_to_the_next(problem: str) -> None:
    """What a candidate does to modules and random state, the next does not see, nor its score."""
    simplest = PROBLEMS[problem].simplest[1]
    with Sandbox(PROBLEMS[problem], memory_mb=MEMORY_MB) as sandbox:
        first, second = (sandbox.submit(top(MARK, problem), *SMALLEST[problem]).result() for _ in range(2))
        honest = sandbox.submit(simplest, *SMALLEST[problem]).result()
    assert (first.status, first.objective, first.detail) == (second.status, second.objective, second.detail)
    assert "before" not in second.detail
    assert honest.objective == earned(problem, simplest)


@pytest.mark.parametrize("problem", ["bpp-aco", "tsp"])
def test_state_kept_between_instances_is_the_candidates_own(
    sandbox_for: Callable[[str], Sandbox], problem: str
) -> None:
    """A candidate may count its calls; that neither reaches the next candidate nor its inputs."""
    source = inside("global calls\ncalls = globals().get('calls', 0) + 1\nassert calls < 10**6", problem)
    for _ in range(2):
        outcome = sandbox_for(problem).submit(source, *SMALLEST[problem]).result()
        assert outcome.objective == earned(problem, PROBLEMS[problem].simplest[1]), outcome


REACH = {"files", "network"}
"""Kinds of cases that may get what they want where no layer stands against them."""


def told(without: list[Layer], prefix: tuple[str, ...] = (), cwd: Path = ROOT) -> Any:
    """What ``hostile_report`` prints."""
    options = [word for layer in without for word in ("--without", layer.value)] + ["--bound"] * bool(without)
    done = subprocess.run(
        [*prefix, sys.executable, "-m", "tests.evaluators.hostile_report", *options],
        capture_output=True,
        text=True,
        timeout=600,
        cwd=cwd,
        env=os.environ | {"HOME": str(cwd), "PYTHONDONTWRITEBYTECODE": "1"},
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout)


def check(report: Any, force: set[Layer]) -> None:
    """Every case was as it has to be; only those that no layer stood against have touched anything."""
    assert set(report["layers"]) == force
    assert report["left"] == []
    assert report["wrong"] == {}
    excused = {case.name for case in CASES if case.kind in REACH and not case.binding(frozenset(force))}
    assert report["touched"].keys() <= excused
    ok = [name for name, (status, _, _) in report["cases"].items() if status == Status.OK]
    for name in ok:
        _, objective, honest = report["cases"][name]
        assert objective == honest, name


@pytest.mark.slow
def test_as_an_ordinary_user() -> None:
    """The same outcomes when the whole sandbox is run by a user without rights.

    The interpreter may lie in a folder that only root can enter, so this user may read everything; with
    Landlock, candidates may not all the same.
    """
    if os.geteuid() != 0:
        pytest.skip("the other tests have been run by one")
    if shutil.which("setpriv") is None:
        pytest.skip("needs setpriv")
    if layers.missing():
        pytest.skip("needs both layers")
    rights = "-all,+dac_read_search"
    prefix = ["setpriv", f"--reuid={USER}", f"--regid={USER}", "--clear-groups"]
    prefix += [f"--inh-caps={rights}", "--ambient-caps=+dac_read_search", f"--bounding-set={rights}"]
    with tempfile.TemporaryDirectory(prefix="ahd-user-") as folder:
        place = Path(folder)
        for name in ("evaluators", "problems", "tests"):  # with the compiled loops, where they can be written
            shutil.copytree(ROOT / name, place / name, ignore=shutil.ignore_patterns("references"))
        for path in (place, *place.rglob("*")):
            os.chown(path, USER, USER)
        report = told([], tuple(prefix), place)
    assert report["user"] == USER
    check(report, set(Layer))


@pytest.mark.slow
@pytest.mark.parametrize("without", [[Layer.LANDLOCK], [Layer.SECCOMP], list(Layer)], ids="+".join)
def test_with_layers_absent(without: list[Layer]) -> None:
    """With the filter alone all is refused that is with both. With Landlock alone, files and TCP are.

    With neither, no process is left, no score is changed and none is better than earned; then the cases of
    files and network may get what they want, as with Landlock alone those may that it knows nothing of: mode,
    owner, times and attributes of files, and sockets other than TCP and abstract ones. Those are the cases of
    these kinds whose ``by`` names none of the layers in force. Run are those that a layer stands against: for
    the others layers make no difference.
    """
    if layers.missing():
        pytest.skip("needs both layers")
    report = told(without)
    check(report, set(Layer) - set(without))
    if len(without) == 2 and os.geteuid() == 0:
        reached = {what for found in report["touched"].values() for what in found}
        assert reached == {"files", "secret", "TCP", "UDP", "UNIX", "ABSTRACT"}, (
            "nothing here could have been touched"
        )
