"""Runs all checks of a problem and tells what they found."""

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from ahd.display.text import clean, clean_block, count
from ahd.problem_check.candidates import check_candidates
from ahd.problem_check.finding import Finding, Level, failed, ok
from ahd.problem_check.instances import check_instances
from ahd.problem_check.prompts import Shown, check_prompts
from ahd.problem_check.reference import check_reference
from ahd.problem_check.second import check_second
from ahd.problem_check.target import load_target
from ahd.style import SMALL_MODEL
from ahd.ticker import Ticker
from evaluators.frames import one_line
from operators.prompt import Style

STEPS = 6
READERS: dict[Style, str] = {
    "skeleton": f"models of less than {count(SMALL_MODEL)} weights, such as the default one",
    "free": "larger models",
}


@dataclass
class Report:
    """All findings about a problem, and its prompts."""

    problem: str
    findings: list[Finding] = field(default_factory=list)
    prompts: list[Shown] = field(default_factory=list)
    seconds: float = 0.0
    """Of one evaluation of the simplest heuristic on the training instances."""

    @property
    def failed(self) -> list[Finding]:
        return [each for each in self.findings if each.level is Level.FAILED]


def check_problem(target: str, step: Callable[[str], None] = lambda what: None) -> Report:
    """Check the problem of a file, or of a name; ``step`` is told what comes next.

    Raises:
        BrokenProblemFile, UnknownProblem: it cannot be loaded.
    """
    step("loading")
    problem = load_target(target)
    report = Report(problem.name, [ok("loads", f"{problem.name}: {problem.title}")])

    def add(what: str, findings: Iterable[Finding]) -> None:
        """Let no defect of the problem end the checks."""
        try:
            for each in findings:
                report.findings.append(each)
        except (Exception, SystemExit) as error:
            report.findings.append(failed(what, f"fails with {one_line(error)}", "mend this first"))

    step("instances")
    add("instances", check_instances(problem))
    if report.failed:
        return report
    found, scored = check_candidates(problem, step)
    report.findings += found
    report.seconds = scored.seconds
    step("second process")
    add("second process", check_second(target, problem))
    step("prompts")
    add("reference", check_reference(problem, scored.objectives))
    found, report.prompts = check_prompts(problem, scored.objectives)
    report.findings += found
    return report


def run_check(target: str, as_json: bool, show_prompts: bool) -> int:
    """Print the findings, or the prompts and the findings that are not ok; the exit code is 0 where none
    failed, else 1.

    Raises:
        BrokenProblemFile, UnknownProblem: it cannot be loaded.
    """
    with Ticker("checking", STEPS) as ticker:
        report = check_problem(target, ticker.step)
    if as_json:
        print(json.dumps(_record(report, show_prompts)))
        return int(bool(report.failed))
    for each in report.findings:
        if show_prompts and each.level is Level.OK:
            continue
        print(f"{each.level:8} {clean(each.what)}: {clean(each.found)}")
        if each.mend:
            print(f"{'':8} mend: {clean(each.mend)}")
    if show_prompts:
        for style, readers in READERS.items():
            _print_prompts([each for each in report.prompts if each.style == style], style, readers)
    warnings = sum(each.level is Level.WARNING for each in report.findings)
    total, bad = len(report.findings), len(report.failed)
    told = f"{warnings} warning{'s' * (warnings != 1)}"
    print(f"\n{report.problem}: {total - bad - warnings} ok, {told}, {bad} failed")
    return int(bool(bad))


def _print_prompts(prompts: Sequence[Shown], style: Style, readers: str) -> None:
    if prompts:
        print(f"\n{style} style, for {readers}:")
    for shown in prompts:
        print(f"\n===== {shown.operator}, {shown.style} style, {shown.length} characters =====")
        print(clean_block(shown.prompt.text))
        if shown.prompt.prefill:
            print(f"----- the reply is made to start with -----\n{clean_block(shown.prompt.prefill)}")


def _record(report: Report, show_prompts: bool) -> dict[str, object]:
    record: dict[str, object] = {
        "problem": report.problem,
        "ok": not report.failed,
        "seconds": report.seconds,
        "checks": [each.as_dict() for each in report.findings],
    }
    if show_prompts:
        record["prompts"] = [each.as_dict() for each in report.prompts]
    return record
