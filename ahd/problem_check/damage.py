"""Decisions as no honest loop returns them: the objective has to refuse them, or to score them as they
are."""

import math
import numbers
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ahd.problem_check.finding import Finding, failed, ok, warning
from ahd.problem_check.instances import digest
from evaluators import candidate
from evaluators.decisions import immutable
from evaluators.frames import clean, one_line
from evaluators.outcome import InvalidSolution, NonFinite
from problems.problem import Problem

FEW = 4
"""Instances that are enough here."""
HUGE: dict[str, float] = {"i": 2**62, "f": 1e300}
CHANCE = 0.01
"""Share by which damage may be better: changed scores are other solutions, and by chance good ones."""
WHAT = "damaged decisions"


@dataclass(frozen=True)
class Damage:
    """``misshapen``: there is no way to read the decisions as one row per instance."""

    name: str
    decisions: np.ndarray
    misshapen: bool = False


def decided(problem: Problem, source: str, instances: np.ndarray) -> np.ndarray:
    """What a heuristic of the problem's own decides, run in this process."""
    heuristic = candidate.load(source, problem.function, problem.arguments)
    return np.asarray(problem.run(heuristic, instances))


def score(problem: Problem, instances: np.ndarray, decisions: np.ndarray) -> float:
    """The objective as the judge asks for it: the decisions cannot be written to."""
    return problem.objective(instances, immutable(decisions), *([0] if problem.seeded else []))


def damages(decisions: np.ndarray) -> Iterator[Damage]:
    """``decisions``, (instances, ...) int64 or float64, damaged in every way there is a name for."""
    yield Damage("an instance missing", decisions[:-1], True)
    yield Damage("an instance too many", np.concatenate([decisions, decisions[:1]]), True)
    yield Damage("no instances", decisions[:0], True)
    yield Damage("an axis too many", decisions[None], True)
    yield Damage("a single number", decisions.reshape(-1)[:1].reshape(()), True)
    yield Damage("instances exchanged", np.roll(decisions, 1, axis=0))
    if decisions.ndim > 1 and decisions.shape[1] > 1:
        yield Damage("cut", decisions[:, :-1], True)
        yield Damage("longer", np.concatenate([decisions, decisions[:, -1:]], axis=1), True)
        yield Damage("backwards", decisions[:, ::-1])
        yield Damage("the first everywhere", np.repeat(decisions[:, :1], decisions.shape[1], axis=1))
        doubled = decisions.copy()
        doubled[:, 1] = doubled[:, 0]
        yield Damage("one doubled", doubled)
    for name, value in (("all 0", 0), ("all -1", -1), ("all 1", 1)):
        yield Damage(name, np.full_like(decisions, value))
    huge = HUGE[decisions.dtype.kind]
    for name, number in (("huge", huge), ("hugely negative", -huge)):
        yield Damage(name, np.full_like(decisions, number))
        yield Damage(f"one {name}", _with_one(decisions, number))
    real = decisions.astype(np.float64)
    for name, number in (("NaN", math.nan), ("infinite", math.inf), ("minus infinite", -math.inf)):
        yield Damage(name, np.full_like(real, number))
        yield Damage(f"one {name}", _with_one(real, number))
    other = real if decisions.dtype.kind == "i" else np.nan_to_num(decisions).astype(np.int64)
    yield Damage(f"as {other.dtype}", other)


def _with_one(decisions: np.ndarray, value: float) -> np.ndarray:
    changed = decisions.copy()
    changed.reshape(-1)[0] = value
    return changed


def check_damage(problem: Problem) -> Iterator[Finding]:
    """Damage the decisions of the best known heuristic on a few training instances."""
    instances = problem.instances("train", problem.sizes["train"][0])[:FEW].copy()
    before = digest(instances)
    scored = []
    for source in problem.heuristics.values():
        decisions = decided(problem, source, instances)
        if decisions.dtype.kind not in "if" or decisions.dtype.itemsize != 8 or not decisions.size:
            mend = "return int64 or float64, one row per instance"
            yield failed("decisions", f"`run` returns {decisions.dtype} of shape {decisions.shape}", mend)
            return
        if decisions.ndim < 1 or len(decisions) != len(instances):
            found = f"`run` returns shape {decisions.shape} for {len(instances)} instances"
            yield failed("decisions", found, "return one row per instance")
            return
        scored.append((score(problem, instances, decisions), decisions))
    best, decisions = min(scored, key=lambda pair: pair[0])
    yield ok("decisions", f"{decisions.dtype}, {decisions.shape[1:] or 'one number'} for each instance")
    yield from _damaged(problem, instances, best, list(damages(decisions)))
    if digest(instances) != before:
        yield failed(WHAT, "the objective changes the instances", "work on copies")


def _damaged(problem: Problem, instances: np.ndarray, best: float, every: list[Damage]) -> Iterator[Finding]:
    refused, faulty = 0, False
    lax: list[str] = []
    better: list[str] = []
    for damage in every:
        try:
            value: object = score(problem, instances, damage.decisions)
        except (InvalidSolution, NonFinite):
            refused += 1
            continue
        except BaseException as error:
            if isinstance(error, KeyboardInterrupt):
                raise
            faulty = True
            mend = "check shape, type and range first, and raise InvalidSolution"
            yield failed(WHAT, f"{damage.name}: the objective raises {one_line(error)}", mend)
            continue
        if isinstance(value, bool) or not isinstance(value, numbers.Real) or not math.isfinite(value):
            faulty = True
            found = f"{damage.name}: the objective is {clean(repr(value))[:80]}"
            yield failed(WHAT, found, "raise NonFinite or InvalidSolution, or return a finite number")
        elif damage.misshapen:
            lax.append(damage.name)
        elif value < best - CHANCE * abs(best):
            better.append(f"{damage.name} ({value:.6g})")
    if lax:
        mend = "compare decisions.shape with what it has to be"
        yield warning(WHAT, f"accepted though misshapen: {', '.join(lax)}", mend)
    if better:
        mend = (
            "let `objective` raise InvalidSolution for what is no solution; if these are good ones, add the "
            "heuristic that makes them to the known ones"
        )
        found = f"better than the best known heuristic ({best:.6g} on these instances): {', '.join(better)}"
        yield failed(WHAT, found, mend)
    if not (faulty or lax or better):
        yield ok(WHAT, f"{refused} of {len(every)} kinds refused, the others scored and no better")
