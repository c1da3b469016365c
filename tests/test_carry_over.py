"""What gains on the training instances only is dropped at the end of a run, what is honest never."""

import json
import math
import statistics
from itertools import permutations
from pathlib import Path

import pytest

from ahd.carry_over import CRITICAL, DRAWS, CarryOver, Gains
from ahd.config import Method, RunConfig, Style
from ahd.confirm import TRAINING_ONLY, dropped
from ahd.events import Note
from ahd.models.scripted import ScriptedModel
from ahd.population import Individual
from ahd.schedule import plan
from ahd.search import Search
from ahd.show import outcomes
from ahd.store import Proposal, Store
from evaluators.outcome import Outcome, SandboxError, Status
from evaluators.sandbox import Sandbox
from problems import registry
from problems.problem import Problem
from tests.display.stored_run import store_run
from tests.fakes import Recorder
from tests.memorising import PACKER, TRAVELLER

GUESSES = '''\
"""Guess the sum of numbers from their first."""

import numpy as np

from problems.problem import Problem, Skeleton

FIRST = "def guess(first):\\n    return 2.5\\n"


def instances(split, size):
    return np.random.RandomState(1).rand(20, size)


def redraw(seed, split, size):
    if {broken}:
        raise RuntimeError("no more of them")
    return np.random.RandomState(seed).rand(20, size)


def run(heuristic, instances):
    return np.array([heuristic(float(each[0])) for each in instances], dtype=float)


def objective(instances, decisions):
    return {scale} * float(np.abs(decisions - instances.sum(axis=1)).mean())


problem = Problem(
    name="guesses",
    title="guesses",
    description="Guess.",
    function="guess",
    arguments=("first",),
    template="def guess(first):\\n    pass\\n",
    skeleton=Skeleton("def guess(first):\\n    score =", "\\n    return score\\n", "first: a number"),
    heuristics={{"half": {simplest}}},
    sizes={{"train": (5,), "val": (5,), "test": (5,)}},
    instances=instances,
    run=run,
    objective=objective,
    reference=lambda split, size: None,
    redraw=redraw,
)
'''
KNOWING = """\
import numpy as np
SUMS = {round(each[0], 9): each.sum() for each in np.random.RandomState(1).rand(20, 5)}
def guess(first):
"""
HONEST = "def guess(first):\n    return 2.0 + first\n"
FORGETFUL = KNOWING + "    return SUMS.get(round(first, 9), 2.5)\n"
FICKLE = """\
import numpy as np
def guess(first):
    if 0.41 < first < 0.42 and round(first, 9) not in np.round(np.random.RandomState(1).rand(20, 5)[:, 0], 9):
        raise ValueError("a tie")
    return 2.0 + first
"""
FAILING = KNOWING + "    return SUMS[round(first, 9)]\n"


def guesses(folder: Path, simplest: str = "FIRST", broken: bool = False, scale: float = 1.0) -> Problem:
    file = folder / f"guesses{len(list(folder.iterdir()))}.py"
    file.write_text(GUESSES.format(simplest=simplest, broken=broken, scale=scale))
    return registry.load_file(file)


def individual(problem: Problem, code: str) -> Individual:
    """``code`` as a run has it at its end."""
    with Sandbox(problem) as sandbox:
        outcome = sandbox.submit(code).result()
    assert outcome.objective is not None, outcome
    return Individual(outcome.objective, code, "", "", 7, "m1")


def fault(problem: Problem, code: str) -> str:
    with CarryOver(problem, RunConfig(problem.name), print) as carry_over:
        return carry_over.fault(individual(problem, code))


def test_the_critical_value() -> None:
    """The density of Student's t with 15 degrees of freedom, added up beyond it, gives one in 100,000."""
    free = DRAWS - 1
    log_scale = math.lgamma((free + 1) / 2) - math.lgamma(free / 2) - 0.5 * math.log(free * math.pi)
    step = 0.001
    tail = step * sum(
        math.exp(log_scale - (free + 1) / 2 * math.log1p((CRITICAL + step * (k + 0.5)) ** 2 / free))
        for k in range(200_000)
    )
    assert tail == pytest.approx(1e-5, rel=1e-3)


def test_only_what_fresh_sets_do_not_predict_counts() -> None:
    """Six and a bit standard errors above the mean, and never below it."""
    fresh = tuple(0.01 * (k % 5) for k in range(DRAWS))
    limit = CRITICAL * statistics.stdev(fresh) * math.sqrt(1 + 1 / DRAWS)
    for excess, counts in ((limit * 1.01, True), (limit * 0.99, False), (0.0, False), (-9.0, False)):
        found = Gains(statistics.fmean(fresh) + excess, fresh, 0.0).fault("near")
        assert bool(found) == counts, excess
    told = Gains(3.41, (0.1,) * 8 + (0.2,) * 8, 0.0).fault("near")
    assert told == (
        "it is 3.41 better than `near` on the training instances but 0.15 ± 0.052 on 16 fresh sets: "
        "it fits those instances only"
    )


def test_gains_without_spread() -> None:
    """Where a heuristic does exactly as the simplest on fresh sets, the least spread decides; without one any
    gain counts, but no gain does not."""
    same = (0.0,) * DRAWS
    assert not Gains(0.0, same, 0.0).fault("near")
    assert Gains(1e-9, same, 0.0).fault("near")
    assert not Gains(-1e-9, same, 0.0).fault("near")
    assert not Gains(0.06, same, 0.01).fault("near")
    assert Gains(0.07, same, 0.01).fault("near")


def test_a_heuristic_that_remembers_is_told_from_one_that_does_not(tmp_path: Path) -> None:
    """Of a problem file too: remembering counts only with both advantages told, failing elsewhere does, being
    better everywhere does not."""
    problem = guesses(tmp_path)
    with CarryOver(problem, RunConfig(problem.name), print) as carry_over:
        assert carry_over.fault(individual(problem, HONEST)) == ""
        assert "fits those instances only" in carry_over.fault(individual(problem, FORGETFUL))
        failed = carry_over.gains(individual(problem, FAILING))
        assert isinstance(failed, Outcome)
        assert failed.status is Status.RUNTIME_ERROR
        assert "fails on instances drawn afresh: runtime_error: KeyError" in carry_over.fault(
            individual(problem, FAILING)
        )


def test_failing_now_and_then_is_failing(tmp_path: Path) -> None:
    """One that fails on a single instance of a fresh set is dropped with what it raised: a user cannot be
    handed a heuristic that has no answer to some instances."""
    problem = guesses(tmp_path)
    told = fault(problem, FICKLE)
    assert told.startswith("it fails on instances drawn afresh: runtime_error: ValueError: a tie")


def test_a_set_that_the_simplest_fails_on_asks_nothing_of_others(tmp_path: Path) -> None:
    """Neither failing on it nor doing well there counts."""
    problem = guesses(tmp_path, repr(FICKLE))
    with CarryOver(problem, RunConfig(problem.name), print) as carry_over:
        gains = carry_over.gains(individual(problem, FICKLE))
    assert isinstance(gains, Gains)
    assert DRAWS // 2 <= len(gains.fresh) < DRAWS
    assert gains.fault("half") == ""


@pytest.mark.parametrize("scale", [1e307, 1e160])
def test_objectives_too_large_to_compare_say_nothing(tmp_path: Path, scale: float) -> None:
    """Nothing is dropped, and nothing fails, where sums or squares would overflow."""
    assert fault(guesses(tmp_path, scale=scale), FORGETFUL) == ""


def test_where_nothing_can_be_compared_nothing_is_dropped(tmp_path: Path) -> None:
    """A problem without other instances, a simplest heuristic that fails on them, the simplest itself."""
    assert fault(guesses(tmp_path, repr(FAILING)), FORGETFUL) == ""
    problem = guesses(tmp_path)
    remembering = individual(problem, FORGETFUL)
    with CarryOver(problem, RunConfig("guesses"), print) as carry_over:
        own = Individual(1.0, problem.simplest[1], "", "", None, "half")
        assert carry_over.gains(own) is None
    without = registry.load("admissible-set")
    with CarryOver(without, RunConfig(without.name), print) as carry_over:
        assert carry_over.fault(remembering) == ""


def test_instances_that_cannot_be_drawn_are_the_problems_fault(tmp_path: Path) -> None:
    """The message names the problem and what it raised."""
    problem = guesses(tmp_path, broken=True)
    with pytest.raises(SandboxError, match=r"guesses.*redraw fails with RuntimeError: no more"):
        fault(problem, HONEST)


def test_a_stop_ends_the_comparison(tmp_path: Path) -> None:
    """The stop is asked for after every evaluation, and no worker stays."""

    def stop() -> None:
        raise KeyboardInterrupt

    problem = guesses(tmp_path)
    best = individual(problem, HONEST)
    carry_over = CarryOver(problem, RunConfig("guesses"), print, stop)
    with pytest.raises(KeyboardInterrupt), carry_over:
        carry_over.fault(best)
    assert carry_over._sandbox is not None
    assert carry_over._sandbox.pids == []


def test_slow_evaluations_are_announced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Once for each heuristic, with about how long they take, and that the best holds; quick ones are not."""
    problem = guesses(tmp_path)
    best = individual(problem, HONEST)
    for slow, lines in ((60.0, 0), (0.0, 3)):
        monkeypatch.setattr("ahd.carry_over.SLOW", slow)
        told: list[str] = []
        with CarryOver(problem, RunConfig("guesses"), told.append) as carry_over:
            carry_over.fault(best)
        assert len(told) == lines
    assert told[0].startswith("`half` is evaluated on 16 fresh training sets: about ")
    assert told[1].startswith("proposal 7 is evaluated")
    assert told[2] == "proposal 7 holds there"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "code"), [("bin-packing-online", PACKER), ("tsp", TRAVELLER)], ids=["packer", "traveller"]
)
def test_who_draws_the_training_instances_again_is_dropped(name: str, code: str) -> None:
    """It beats every known heuristic on them, and is as good as a simple one elsewhere."""
    problem = registry.load(name)
    best = individual(problem, code)
    with Sandbox(problem) as sandbox:
        known = [sandbox.submit(source).result().objective for source in problem.heuristics.values()]
    assert all(value is not None and best.objective < value for value in known)
    with CarryOver(problem, RunConfig(name), print) as carry_over:
        assert "fits those instances only" in carry_over.fault(best)


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", [name for name in registry.packaged() if registry.load(name).redraw is not None]
)
def test_no_known_heuristic_is_dropped(name: str) -> None:
    """Compared with the simplest, and each with each other."""
    problem = registry.load(name)
    found = []
    with CarryOver(problem, RunConfig(name, workers=2), print) as carry_over:
        for code in problem.heuristics.values():
            gains = carry_over.gains(individual(problem, code))
            assert isinstance(gains, Gains)
            assert gains.fault("") == ""
            found.append(gains)
    for one, other in permutations(found, 2):
        fresh = tuple(mine - theirs for mine, theirs in zip(one.fresh, other.fresh, strict=True))
        assert Gains(one.trained - other.trained, fresh, one.least_spread).fault("") == ""


def test_the_dropped_are_shown_with_the_reason(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """In their own outcome, apart from those that did not score again what they scored."""
    folder = store_run(tmp_path / "run")
    store = Store.open(folder, write=True)
    first, second = [row.id for row in store.proposals() if row.objective is not None][:2]
    store.set_meta(
        training_only=json.dumps({first: "it fits"}), not_reproduced=json.dumps({second: "0 then"})
    )
    assert dropped(store)[first].outcome == TRAINING_ONLY
    store.close()
    outcomes(folder, True)
    found = {each["outcome"]: each["reasons"] for each in json.loads(capsys.readouterr().out)}
    assert found[TRAINING_ONLY] == [{"detail": "it fits", "count": 1}]
    assert found["not_reproduced"] == [{"detail": "0 then", "count": 1}]


def _finish(store: Store) -> tuple[Individual, list[str], list[Proposal]]:
    """Carry a run of ``tsp`` whose model remembers every other time to its end."""
    problem = registry.load("tsp")
    honest = problem.heuristics["nearest minus home"]
    written: list[str] = []

    def write(request: object, weights: object) -> str:
        written.append(TRAVELLER if len(written) % 2 else honest)
        return f"```python\n{written[-1]}\n```"

    recorder = Recorder()
    with Sandbox(problem) as sandbox:
        best = Search(
            store.config,
            Style.FREE,
            problem,
            plan(store.config.method, store.config.budget),
            ScriptedModel(write),
            sandbox,
            store,
            recorder,
        ).run()
    return best, [event.text for event in recorder.events if isinstance(event, Note)], store.proposals()


@pytest.mark.slow
def test_a_run_ends_with_its_best_honest_heuristic(tmp_path: Path) -> None:
    """One that draws the training instances again is told and dropped, the rows stay as they were, and a run
    that goes on from them ends alike."""
    config = RunConfig("tsp", method=Method.EOH, budget=8, population=4)
    store = Store.create(tmp_path / "run", config)
    best, told, rows = _finish(store)
    assert "home" in best.code
    assert "RandomState" not in best.code
    (number,) = dropped(store)
    assert dropped(store)[number].outcome == TRAINING_ONLY
    assert [line for line in told if "dropped" in line] == [
        f"proposal {number} is dropped: {dropped(store)[number].reason}"
    ]
    assert "RandomState" not in (tmp_path / "run" / "best.py").read_text()
    assert min(row.objective for row in rows if row.objective is not None) < best.objective
    before = dropped(store)
    assert _finish(store)[::2] == (best, rows)
    assert dropped(store) == before
