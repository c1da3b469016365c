"""The page of a run: one HTML file that asks for nothing else, neither a script nor the network."""

from importlib import resources
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from ahd import __version__
from ahd.display.text import clean, clean_block, count, duration, percent, rate, signed_percent, snippet
from ahd.events import Member
from ahd.gap import relative_gap
from ahd.report.charts import named
from ahd.report.code import diff_lines, highlighted
from ahd.report.drawing import Chart
from ahd.report.options import options
from ahd.report.palette import variables
from ahd.report.read import RunReport
from ahd.report.svg import inline
from ahd.show import Run

MOST_STEPS = 30
"""Steps of the main line whose differences are shown."""
MOST_UPDATES = 100
COUNTED = (
    "Duplicates have the code or the objective of an earlier proposal, valid or not. Over parents: share "
    "better than all their parents, of all proposals made from earlier ones, valid or not. New best: better "
    "than every proposal before. The initial population counts too."
)
"""What the columns of the table of operators count."""


def environment() -> Environment:
    """Jinja with everything escaped; filters make text of candidates and models safe to show."""
    loader = PackageLoader("ahd.report", "templates")
    jinja = Environment(
        loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    jinja.filters |= {
        "line": lambda value, limit=300: clean(str(value), limit),
        "block": lambda value: clean_block(str(value)),
        "percent": percent,
        "signed": signed_percent,
        "duration": duration,
        "count": count,
        "rate": rate,
        "snippet": snippet,
        "python": highlighted,
        "diff": diff_lines,
        "svg": inline,
    }
    # Our own file, not a template: its braces are CSS.
    css = (resources.files("ahd.report") / "style.css").read_text(encoding="utf-8")
    jinja.globals |= {
        "css": Markup(css),
        "light": Markup(variables(dark=False)),
        "dark": Markup(variables(dark=True)),
        "version": __version__,
    }
    return jinja


def run_page(report: RunReport, charts: list[Chart]) -> str:
    """HTML of a run."""
    config = report.run.started.config
    return (
        environment()
        .get_template("run.html.jinja")
        .render(
            title=f"{config.problem}, {config.method}, seed {config.seed}",
            report=report,
            run=report.run,
            facts=report.facts,
            config=config,
            started=report.run.started,
            charts=named(charts),
            headline=headline(report),
            rival=rival(report),
            members=[_member(report, each) for each in report.run.members],
            steps=report.lineage.steps[:MOST_STEPS],
            more_steps=max(0, len(report.lineage.steps) - MOST_STEPS),
            updates=report.facts["updates"][-MOST_UPDATES:],
            number=report.run.number,
            known=known(report),
            test_reference=test_reference(report),
            counting=COUNTED,
            options=options(report),
        )
    )


def headline(report: RunReport) -> list[tuple[str, str, str]]:
    """The figures that count: label, value, and what it is measured against."""
    run, facts = report.run, report.facts
    best, test = facts["best"], facts["test"] or {}
    measured = test.get("test") is not None
    far = _against(run, test.get("test_gap"), test.get("test_reference"))
    not_tested = test.get("test_detail") or ("the run has not ended" if run.status != "done" else "")
    return [
        (
            "best, training",
            run.number(best["objective"]),
            _against(run, best["gap"], run.started.reference),
        ),
        (
            "best, test",
            run.number(test.get("test")) if measured else "not measured",
            f"{far} on {test['test_what']}".strip() if measured else not_tested,
        ),
        (
            "proposals",
            f"{facts['spent']} of {facts['budget']}",
            f"and {facts['init_spent']} for the initial population",
        ),
        (
            "valid",
            percent(facts["validity"]),
            f"of the {facts['spent']}; {facts['duplicates']} of them are duplicates",
        ),
        ("updates", f"{facts['updates_made']} of {facts['updates_planned']}", _moves(facts)),
        (
            "wall time",
            duration(run.wall_seconds),
            f"{rate(facts['tokens_per_second'])} tokens/s; ES {percent(facts['es_share_of_wall'])}",
        ),
    ]


def _against(run: Run, gap: float | None, reference: float | None) -> str:
    if gap is None:
        return ""
    value = "" if reference is None else f" {run.number(reference)}"
    return f"{signed_percent(gap)} from the reference{value}"


def test_reference(report: RunReport) -> str:
    """What the gap on the test instances is to, and its source; empty: the run file does not say."""
    test = report.facts["test"] or {}
    if test.get("test_reference") is None:
        return ""
    source = test.get("test_reference_source")
    return report.run.number(test["test_reference"]) + (f" ({source})" if source else "")


def known(report: RunReport) -> list[tuple[str, str, str, str]]:
    """The known heuristics: name, objective and gap on the training instances, objective on the test
    instances with its gap, a dash where it was not measured."""
    run, test = report.run, report.facts["test"] or {}
    measured, reference = test.get("test_known") or {}, test.get("test_reference")
    rows = []
    for name, value in run.started.known.items():
        objective = measured.get(name)
        gap = signed_percent(relative_gap(objective, reference))
        told = run.number(objective) + (f" ({gap})" if gap else "")
        rows.append((name, run.number(value), signed_percent(run.gap(value)) or "-", told))
    return rows


def _moves(facts: dict[str, Any]) -> str:
    if not facts["updates_planned"] and not facts["updates_made"]:
        return "the weights stayed as they were"
    parts = [f"{facts['rollbacks']} rolled back"] * bool(facts["rollbacks"])
    parts += [f"{facts['left_out']} left out"] * bool(facts["left_out"])
    return ", ".join(parts) or "of the model's weights"


def rival(report: RunReport) -> str:
    """The best beside the best known heuristic, on the training and, where both were measured, on the test
    instances, in one sentence; empty: there is nothing to compare."""
    best_known, objective = report.run.started.best_known, report.facts["best"]["objective"]
    if best_known is None or objective is None:
        return ""
    name, value = best_known
    told = f"On the training instances the best heuristic is {_beside(objective, value)} the best known one, "
    told += f"{name} ({report.run.number(value)})"
    test = report.facts["test"] or {}
    found, measured = test.get("test"), (test.get("test_known") or {}).get(name)
    if found is not None and measured is not None:
        told += f", on the test instances {_beside(found, measured)} that one ({report.run.number(measured)})"
    return told + "."


def _beside(objective: float, value: float) -> str:
    """``5.39% worse than``; 0 has no percentage."""
    if objective == value:
        return "as good as"
    amount = percent(abs(objective - value) / abs(value), 2) + " " if value else ""
    return f"{amount}{'better' if objective < value else 'worse'} than"


def _member(report: RunReport, member: Member) -> dict[str, Any]:
    return {
        "objective": report.run.number(member.objective),
        "gap": signed_percent(report.run.gap(member.objective)),
        "operator": member.operator,
        "proposal": member.proposal or "known",
        "code": snippet(member.code),
    }
