"""``ahd show`` and ``ahd best``: a stored run read back, without the engine."""

import json
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from ahd.announce import directions
from ahd.config import ConfigError, Insights
from ahd.confirm import corrected, dropped
from ahd.display.jsonl import as_json as plain_json
from ahd.display.replay import kept, stored_start
from ahd.display.text import clean, clean_block, duration, percent, rate, signed_percent, snippet
from ahd.ending import stored_end
from ahd.es.moments import mean_and_spread
from ahd.events import Member, Started
from ahd.figures import figures
from ahd.finalists import chosen
from ahd.gap import relative_gap
from ahd.insights.questions import Question, questions
from ahd.insights.rules import by_rule
from ahd.store import Proposal, Store, UpdateRow
from operators.notes import noted
from operators.reflection import insights_in

_TEST = (
    "test",
    "test_gap",
    "test_what",
    "test_detail",
    "test_known",
    "test_reference",
    "test_reference_source",
)
"""Facts of the end of a run that ``summary`` tells; those of newer versions are None in older runs."""
REASONS = 3
"""Most frequent reasons named for each outcome."""
UPDATES_SHOWN = 12


@dataclass(frozen=True)
class Run:
    """A run folder as read."""

    folder: Path
    status: str
    weights_hash: str
    started: Started
    rows: Sequence[Proposal]
    updates: Sequence[UpdateRow]
    finished: dict[str, Any] | None
    schedule: str
    wall_seconds: float
    members: tuple[Member, ...]
    """The population, the result of the run first."""
    questions: Sequence[Question] = ()
    chosen: int | None = None

    def gap(self, objective: float | None) -> float | None:
        return relative_gap(objective, self.started.reference)

    def number(self, objective: float | None) -> str:
        return "-" if objective is None else f"{objective:.{self.started.decimals}f}"


def read(folder: Path) -> Run:
    """Read a run folder.

    Raises:
        ConfigError: if it is not a run folder, cannot be read, or the run stopped before it began.
    """
    store = Store.open(folder)
    try:
        started, rows, gone, first = stored_start(store), store.proposals(), dropped(store), chosen(store)
        members = kept(started, rows, gone, first)
        return Run(
            folder,
            store.status,
            store.weights_hash(),
            started,
            corrected(rows, gone),
            store.updates(),
            stored_end(store),
            store.meta("schedule") or "",
            store.wall_seconds(),
            members,
            questions(store),
            first if members and members[0].proposal == first else None,
        )
    finally:
        store.close()


def show(run: Path, as_json: bool) -> None:
    """Print a summary of the run folder ``run``: tables, or one JSON object.

    Raises:
        ConfigError: see ``read``.
    """
    data = read(run)
    facts = summary(data)
    if as_json:
        print(json.dumps(plain_json(facts), indent=2, allow_nan=False))
    else:
        _print(data, facts)


def outcomes(run: Path, as_json: bool) -> None:
    """Print what became of the proposals of the run folder ``run``, by operator and with every reason: a
    table, or a JSON array.

    Raises:
        ConfigError: see ``read``.
    """
    rows = read(run).rows
    facts = _outcomes(rows, None)
    if as_json:
        print(json.dumps(plain_json(facts), indent=2, allow_nan=False))
    else:
        Console(highlight=False).print(
            _outcome_table(facts, list(dict.fromkeys(row.operator for row in rows)))
        )


def best(run: Path, as_json: bool) -> None:
    """Print the code of the best heuristic of the run folder ``run``, headed by its objective.

    Raises:
        ConfigError: see ``read``; also if there is no valid heuristic yet.
    """
    data = read(run)
    if not data.members:
        raise ConfigError(f"{run} has no valid heuristic yet: go on with `ahd resume {run}`")
    top = data.members[0]
    row = next((row for row in data.rows if row.id == top.proposal), None)
    code = row.code if row else _best_file(run)
    gap = data.gap(top.objective)
    if as_json:
        facts = {
            "problem": data.started.config.problem,
            "objective": top.objective,
            "gap": gap,
            "proposal": top.proposal,
            "operator": top.operator,
            "parents": row.parents if row else [],
            "thought": row.thought if row else "",
            "code": code,
        }
        print(json.dumps(plain_json(facts), indent=2, allow_nan=False))
        return
    told = (
        f", {signed_percent(gap)} from the reference {data.number(data.started.reference)}"
        if gap is not None
        else ""
    )
    origin = f"proposal {top.proposal} by {top.operator}" if row else f"the known heuristic {top.operator}"
    head = clean(f"{data.started.config.problem}: objective {data.number(top.objective)}{told}; {origin}")
    text = f"# {head}\n{clean_block(code).rstrip()}\n"
    encoding = sys.stdout.encoding or "utf-8"
    sys.stdout.write(text.encode(encoding, "replace").decode(encoding))


def _best_file(run: Path) -> str:
    try:
        return (run / "best.py").read_text(encoding="utf-8")
    except OSError as error:
        raise ConfigError(
            f"{run / 'best.py'} cannot be read ({error.strerror}): `ahd resume {run}` writes it again"
        ) from None


def summary(run: Run) -> dict[str, Any]:
    """The facts that ``ahd show --json`` prints, as plain values."""
    started = run.started
    found = figures(run.rows, run.updates, run.wall_seconds, run.questions)
    top = run.members[0] if run.members else None
    return {
        "folder": str(run.folder),
        "status": run.status,
        "config": plain_json(started.config),
        "model": started.model,
        "parameters": started.parameters,
        "style": started.style,
        "schedule": run.schedule or started.schedule,
        "budget": started.config.budget,
        "reference": started.reference,
        "reference_source": started.reference_source,
        "known": started.known,
        "best": {
            "objective": top.objective if top else None,
            "gap": run.gap(top.objective) if top else None,
            "proposal": top.proposal if top else None,
            "operator": top.operator if top else None,
        },
        "chosen": run.chosen,
        "test": {key: run.finished.get(key) for key in _TEST} if run.finished else None,
        "population": [plain_json(member) | {"gap": run.gap(member.objective)} for member in run.members],
        "operators": _operators(run.rows),
        "outcomes": _outcomes(run.rows, REASONS),
        "updates": [_update(update) for update in run.updates],
        "updates_planned": started.updates_planned,
        "weights_hash": run.weights_hash,
        **found,
    }


def _operators(rows: Sequence[Proposal]) -> dict[str, dict[str, Any]]:
    """What each operator did. ``better``: new best objectives of the run; ``over_parents``: share of the
    proposals that are better than all their parents, None where no parent's objective is stored."""
    found: dict[str, dict[str, Any]] = {}
    lowest: float | None = None
    objectives = {row.id: row.objective for row in rows}
    over: dict[str, list[bool]] = {}
    for row in rows:
        tally = found.setdefault(
            row.operator, dict.fromkeys(("proposals", "valid", "duplicates", "better"), 0)
        )
        tally["proposals"] += 1
        tally["valid"] += row.objective is not None
        tally["duplicates"] += row.duplicate_of is not None
        if row.objective is not None and (lowest is None or row.objective < lowest):
            lowest = row.objective
            tally["better"] += 1
        known = (objectives.get(parent or 0) for parent in row.parents)
        parents = [objective for objective in known if objective is not None]
        if parents:
            over.setdefault(row.operator, []).append(
                row.objective is not None and row.objective < min(parents)
            )
    for name, tally in found.items():
        tally["validity"] = tally["valid"] / tally["proposals"]
        tally["over_parents"] = mean(over[name]) if name in over else None
    return found


def _outcomes(rows: Sequence[Proposal], most: int | None) -> list[dict[str, Any]]:
    """Each outcome with its count, in all and by operator, and its ``most`` frequent reasons (None: all)."""
    counts = Counter(row.outcome for row in rows)
    reasons = {
        name: Counter(row.detail for row in rows if row.outcome == name and row.detail) for name in counts
    }
    return [
        {
            "outcome": name,
            "count": number,
            "operators": dict(Counter(row.operator for row in rows if row.outcome == name)),
            "reasons": [{"detail": text, "count": times} for text, times in reasons[name].most_common(most)],
        }
        for name, number in counts.most_common()
    ]


def _update(row: UpdateRow) -> dict[str, Any]:
    mean, spread = mean_and_spread(row.rewards)
    return {
        "number": row.id,
        "operator": row.operator,
        "directions": len(row.step_seeds),
        "sigma": row.sigma,
        "alpha": row.alpha,
        "reward_mean": mean,
        "reward_std": spread,
        "norm": row.norm,
        "moved": row.moved,
        "weights_hash": row.weights_hash,
        "seconds": row.seconds,
        "rollback_to": row.rollback_to,
        "note": row.note,
    }


def share(value: float | None) -> str:
    """A share in percent; a dash where there is none."""
    return "-" if value is None else percent(value)


def _table(title: str, *columns: str) -> Table:
    """A table with text columns marked ``<``, one marked ``~`` that takes the room left, or ``~~`` that also
    goes on in a further line, else numbers."""
    table = Table(title=Text(title, style="bold cyan"), title_justify="left", box=None, padding=(0, 2, 0, 0))
    table.expand = any(name.startswith("~") for name in columns)
    for name in columns:
        table.add_column(
            Text(name.lstrip("<~"), style="grey58"),
            justify="left" if name[0] in "<~" else "right",
            ratio=1 if name.startswith("~") else None,
            overflow="ellipsis",
            no_wrap=not name.startswith("~~"),
        )
    return table


def _row(table: Table, *cells: object) -> None:
    table.add_row(*(Text(clean(str(cell))) for cell in cells))


def _print(run: Run, facts: dict[str, Any]) -> None:
    console = Console(highlight=False)
    config, started = run.started.config, run.started
    heads = Table.grid(padding=(0, 2))
    heads.add_column(style="grey58", no_wrap=True)
    heads.add_column()
    test = facts["test"]
    shares = facts["shares"]
    for name, value in (
        ("run", f"{run.folder} ({run.status})"),
        *([] if run.status in ("done", "running") else [("go on with", f"ahd resume {run.folder}")]),
        ("problem", f"{config.problem}, method {config.method}, seed {config.seed}"),
        ("model", f"{started.model}, {started.parameters:,} weights, {started.style} style"),
        ("schedule", facts["schedule"]),
        ("directions", directions(config)),
        (
            "spent",
            f"{facts['spent']} of {config.budget} proposals, and {facts['init_spent']} for the initial "
            "population",
        ),
        *([("insights", _insights(run, facts))] if config.insights is not Insights.OFF else []),
        ("best, train", _with_gap(run, facts["best"]["objective"], facts["best"]["gap"])),
        *([("chosen", f"proposal {run.chosen}, the best on fresh training sets")] if run.chosen else []),
        (
            "best, test",
            f"{_with_gap(run, test['test'], test['test_gap'])} on {test['test_what']}{_test_known(run, test)}"
            if test and test["test"] is not None
            else "not measured",
        ),
        ("reference", f"{run.number(started.reference)} {started.reference_source}".strip()),
        ("known", ", ".join(f"{name} {run.number(value)}" for name, value in started.known.items()) or "-"),
        ("speed", f"{rate(facts['tokens_per_second'])} tokens/s, wall time {duration(run.wall_seconds)}"),
        (
            "time",
            f"of the work: model {percent(shares['model'])}, ES {percent(shares['es'])}, evaluation "
            f"{percent(shares['evaluation'])}; of wall time: ES {percent(facts['es_share_of_wall'])}",
        ),
        ("updates", _counts(facts, started.updates_planned)),
        ("weights", run.weights_hash[:16] or "-"),
    ):
        heads.add_row(Text(name), Text(clean(value)))
    console.print(heads)
    for table in _tables(run, facts):
        console.print()
        console.print(table)
    for update in run.updates:
        if update.note:
            console.print(Text(clean(update.note)), soft_wrap=True)


def _insights(run: Run, facts: dict[str, Any]) -> str:
    """What a prompt would tell now, and what asking for it has cost."""
    lines = insights_in(run.questions[-1].reply) if run.questions else ()
    count = facts["questions"]
    asked = f"{count} question{'s' * (count != 1)} to the model, {facts['question_tokens']:,} tokens"
    if run.started.config.insights is Insights.RULES:
        lines, asked = by_rule(run.rows, not run.started.config.feedback), "by rule"
    return f"{'; '.join(map(noted, lines)) or 'none yet'} ({asked})"


def _outcome_table(outcomes: Sequence[dict[str, Any]], operators: Sequence[str]) -> Table:
    """What became of the proposals: a line per outcome, by operator, and one per reason below it."""
    table = _table("outcomes", "<outcome", "count", *operators, "~~reason")
    for each in outcomes:
        by = (each["operators"].get(name, 0) for name in operators)
        _row(table, each["outcome"], each["count"], *by, "")
        for reason in each["reasons"]:
            _row(table, "", reason["count"], *("" for _ in operators), reason["detail"])
    return table


def _counts(facts: dict[str, Any], planned: int) -> str:
    text = f"{facts['updates_made']} of {planned}"
    text += f", {facts['rollbacks']} of them rolled back" if facts["rollbacks"] else ""
    return text + (f", {facts['left_out']} left out" if facts["left_out"] else "")


def _with_gap(run: Run, objective: float | None, gap: float | None) -> str:
    return run.number(objective) + (f" ({signed_percent(gap)} from the reference)" if gap is not None else "")


def _test_known(run: Run, test: dict[str, Any]) -> str:
    """What the test objective is to be compared with; runs of an older ahd have not stored it."""
    reference, source = test["test_reference"], test["test_reference_source"]
    told = [f"reference {run.number(reference)}, {source}"] if reference is not None else []
    told += [f"{name} {run.number(value)}" for name, value in (test["test_known"] or {}).items()]
    return f" ({'; '.join(told)})" if told else ""


def _tables(run: Run, facts: dict[str, Any]) -> list[Table]:
    population = _table("population", "rank", "objective", "gap", "<by", "#", "~code")
    for rank, member in enumerate(run.members, 1):
        gap = signed_percent(run.gap(member.objective))
        _row(
            population,
            rank,
            run.number(member.objective),
            gap,
            member.operator,
            member.proposal or "known",
            snippet(member.code),
        )
    operators = _table(
        "operators; over parents: share better than all of their parents, duplicates: valid or not",
        "<by",
        "proposals",
        "valid",
        "share",
        "duplicates",
        "over parents",
        "new best",
    )
    for name, tally in facts["operators"].items():
        _row(
            operators,
            name,
            tally["proposals"],
            tally["valid"],
            percent(tally["validity"]),
            tally["duplicates"],
            share(tally["over_parents"]),
            tally["better"],
        )
    outcomes = _table("outcomes; --outcomes shows every reason", "<outcome", "count", "~reasons")
    for outcome in facts["outcomes"]:
        reasons = "; ".join(
            f"{reason['count']} x {clean(reason['detail'], 70)}" for reason in outcome["reasons"]
        )
        _row(outcomes, outcome["outcome"], outcome["count"], reasons)
    updates = _table(
        "updates", "#", "<by", "directions", "sigma", "reward", "spread", "norm", "moved", "s", "~weights"
    )
    shown = facts["updates"][-UPDATES_SHOWN:]
    if len(shown) < len(facts["updates"]):
        _row(updates, "...", *[""] * 9)
    for update in shown:
        _row(
            updates,
            update["number"],
            update["operator"],
            update["directions"],
            f"{update['sigma']:.2e}",
            f"{update['reward_mean']:+.4g}",
            f"{update['reward_std']:.3g}",
            f"{update['norm']:.3g}",
            percent(update["moved"]),
            f"{update['seconds']:.1f}",
            update["weights_hash"][:12],
        )
    return [population, operators, outcomes, *([updates] if shown else [])]
