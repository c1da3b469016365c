"""Candidates, good and bad, in the sandbox: the known heuristics, and code that has to fail or to change
nothing."""

import statistics
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from ahd.problem_check.finding import Finding, failed, ok, warning
from evaluators.outcome import Outcome, SandboxError, Status
from evaluators.sandbox import Sandbox
from problems.problem import Problem

SHORT = 1.0
"""CPU seconds for a candidate that never ends."""
SLOW = 2.0
"""Seconds from which an evaluation is told to be long."""
REFUSED = (Status.INVALID_SOLUTION, Status.NONFINITE, Status.RUNTIME_ERROR)
RETURNS = {
    "None": "None",
    "a text": "'x'",
    "NaN": "float('nan')",
    "infinity": "float('inf')",
    "a wrong shape": "__import__('numpy').zeros((3, 1, 2))",
}


@dataclass(frozen=True)
class Bad:
    """Code that has to come to one of these ends."""

    name: str
    source: str
    expected: tuple[Status, ...]
    mend: str = ""
    limit: float | None = None


def bad_candidates(problem: Problem) -> Iterator[Bad]:
    """Code that cannot be ok whatever the problem is."""
    head = f"def {problem.function}({', '.join(problem.arguments)}):"
    yield Bad("a syntax error", head + " return (", (Status.SYNTAX_ERROR,))
    yield Bad("no function", "x = 1", (Status.NO_FUNCTION,))
    other = f"def {problem.function}(): return 0"
    yield Bad("other parameters", other, (Status.BAD_SIGNATURE,))
    yield Bad("an exception", head + " raise RuntimeError('no')", (Status.RUNTIME_ERROR,))
    yield Bad("an endless loop", head + "\n    while True: pass", (Status.TIMEOUT,), limit=SHORT)
    mend = "refuse it: by `evaluators.decisions.as_integer` in `run`, or by shape and range in `objective`"
    for name, value in RETURNS.items():
        yield Bad(f"returns {name}", f"{head} return {value}", REFUSED, mend)
    yield Bad("returns a huge number", f"{head} return 10 ** 30", (*REFUSED, Status.OK), mend)


def meddling(problem: Problem, before: str = "", after: str = "") -> str:
    """The simplest heuristic, with statements before and after it decides."""
    names = ", ".join(problem.arguments)
    return (
        f"{problem.simplest[1]}\n\n_honest = {problem.function}\n\n\n"
        f"def {problem.function}({names}):\n    import copy\n{_indented(before)}"
        f"    decided = copy.deepcopy(_honest({names}))\n{_indented(after)}    return decided\n"
    )


def _indented(statements: str) -> str:
    return "".join(f"    {line}\n" for line in statements.splitlines())


def _spoiling(problem: Problem) -> str:
    lines = []
    for name in problem.arguments:
        for spoil in (f"{name}[...] = 0", f"{name}.clear()"):
            lines.append(f"try: {spoil}\nexcept Exception: pass")
    return meddling(problem, after="\n".join(lines))


def _talking(problem: Problem, file: Path) -> str:
    lines = "print('x' * 1000)\n"
    for attempt in ("open('/etc/passwd').read()", f"open({str(file)!r}, 'w').write('x')"):
        lines += f"try: {attempt}\nexcept Exception: pass\n"
    return meddling(problem, before=lines)


@dataclass(frozen=True)
class Scored:
    """The known heuristics: objectives by name, and the seconds of an evaluation of the simplest."""

    objectives: Mapping[str, float]
    seconds: float


def check_candidates(
    problem: Problem, step: Callable[[str], None] = lambda what: None
) -> tuple[list[Finding], Scored]:
    """Evaluate all; ``step`` is told what comes next."""
    findings: list[Finding] = []
    step("known heuristics")
    try:
        known, seconds = _known(problem, findings)
        step("bad candidates")
        _bad(problem, known, findings)
    except SandboxError as error:
        mend = "`run` and `instances` must not fail, and `objective` raises InvalidSolution or NonFinite only"
        findings.append(failed("sandbox", str(error), mend))
        return findings, Scored({}, 0.0)
    return findings, Scored(known, seconds)


def _known(problem: Problem, findings: list[Finding]) -> tuple[dict[str, float], float]:
    """Each known heuristic twice by one worker, once by another."""
    outcomes: dict[str, list[Outcome]] = {name: [] for name in problem.heuristics}
    for times in (2, 1):
        with Sandbox(problem) as sandbox:
            for _ in range(times):
                pending = {name: sandbox.submit(code) for name, code in problem.heuristics.items()}
                for name, future in pending.items():
                    outcomes[name].append(future.result())
    known: dict[str, float] = {}
    for name, found in outcomes.items():
        what = f"heuristic {name}"
        objectives = {outcome.objective for outcome in found}
        bad = next((outcome for outcome in found if not outcome.ok), None)
        if bad is not None:
            mend = "a known heuristic has to be valid within the time limit"
            findings.append(failed(what, f"{bad.status}: {bad.detail}", mend))
        elif len(objectives) > 1:
            told = ", ".join(f"{outcome.objective:.12g}" for outcome in found)
            mend = "draw from fixed seeds; depend on no hash, set order or clock"
            findings.append(failed(what, f"scores {told} at three evaluations", mend))
        else:
            known[name] = float(found[0].objective or 0.0)
            findings.append(ok(what, f"{known[name]:.{problem.decimals}f}, three times, in two processes"))
    seconds = statistics.median(outcome.seconds for outcome in outcomes[problem.simplest[0]])
    findings.append(_speed(problem, seconds))
    return known, seconds


def _speed(problem: Problem, seconds: float) -> Finding:
    name, rate = problem.simplest[0], 1 / max(seconds, 1e-6)
    told = f"{1000 * seconds:.1f} ms an evaluation of {name}, {rate:.1f} a second"
    if seconds > SLOW:
        mend = "fewer or smaller training instances, or loops compiled with Numba"
        return warning("speed", told, mend)
    return ok("speed", told)


def _bad(problem: Problem, known: Mapping[str, float], findings: list[Finding]) -> None:
    honest = known.get(problem.simplest[0])
    with Sandbox(problem) as sandbox, TemporaryDirectory() as folder:
        for bad in bad_candidates(problem):
            findings.append(_ended(bad, sandbox.submit(bad.source, time_limit=bad.limit).result()))
        if honest is None:
            return
        outcome = sandbox.submit(_spoiling(problem)).result()
        mend = "give candidates copies: `evaluators.decisions.immutable(array)`"
        findings.append(_unmoved("overwrites its arguments", outcome, honest, problem.decimals, mend))
        file = Path(folder) / "written"
        outcome = sandbox.submit(_talking(problem, file)).result()
        what = "prints, and opens files"
        if file.exists() and file.stat().st_size:
            findings.append(failed(what, "a file was written", "`ahd doctor` says what confines candidates"))
        elif outcome.status is Status.FORBIDDEN:
            findings.append(ok(what, "forbidden"))
        else:
            findings.append(_unmoved(what, outcome, honest, problem.decimals, "do not depend on output"))


def _ended(bad: Bad, outcome: Outcome) -> Finding:
    what = f"candidate: {bad.name}"
    if outcome.status in bad.expected:
        return ok(what, str(outcome.status))
    told = f"{outcome.status}{f': {outcome.detail}' * bool(outcome.detail)}"
    return failed(what, f"{told}, not {' or '.join(bad.expected)}", bad.mend or "let what it raises pass")


def _unmoved(name: str, outcome: Outcome, honest: float, decimals: int, mend: str) -> Finding:
    what = f"candidate: {name}"
    if outcome.objective == honest:
        return ok(what, "scores what it scored")
    told = outcome.detail if outcome.objective is None else f"{outcome.objective:.{decimals}f}"
    return failed(what, f"{outcome.status}: {told}, instead of {honest:.{decimals}f}", mend)
