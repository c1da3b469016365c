"""The panels of the dashboard. Untrusted text is cleaned and never read as markup."""

from rich import box
from rich.console import Group, RenderableType
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from ahd.config import Method
from ahd.display.chart import shares, sparkline, staircase
from ahd.display.progress import Progress
from ahd.display.text import clean, count, duration, percent, rate, signed_percent, snippet
from ahd.es.perturbation import scales

ACCENT, GOOD, WARN, BAD, DIM, FRAME = "cyan", "green", "yellow", "red", "grey58", "grey42"
SPLIT_STYLES = {"model": ("█", "cyan"), "ES": ("▒", "magenta"), "evaluation": ("▓", "green")}
"""What the share of each kind of work is drawn with, told apart without colours too."""


def line(*parts: tuple[str, str] | str) -> Text:
    """One line that is cut, never wrapped."""
    return Text.assemble(*parts, no_wrap=True, overflow="ellipsis")


def bar(share: float, width: int, style: str) -> Text:
    """A horizontal bar with half-cell resolution."""
    halves = round(2 * width * min(1.0, max(0.0, share)))
    full, half = divmod(halves, 2)
    rest = "─" * (width - full - half)
    return line(("━" * full + "╸" * half, style), (rest, DIM))


def frame(title: str, body: RenderableType, height: int, subtitle: str = "") -> Panel:
    return Panel(
        body,
        title=line((title, f"bold {ACCENT}")),
        title_align="left",
        subtitle=line((subtitle, DIM)) if subtitle else None,
        subtitle_align="right",
        box=box.ROUNDED,
        border_style=FRAME,
        height=height,
        padding=(0, 1),
    )


def beside(left: Text, right: Text, width: int) -> Text:
    """``left`` and ``right`` at the two ends of one line; the right is dropped when both do not fit."""
    space = width - left.cell_len - right.cell_len
    if space < 1:
        left.truncate(width, overflow="ellipsis")
        return left
    return Text.assemble(left, " " * space, right, no_wrap=True)


def header(progress: Progress, width: int, now: float) -> Panel:
    """Problem, method, model, seed, folder and what confines candidates; the budget with time gone and left.
    4 lines."""
    started, inner = progress.started, width - 4
    assert started is not None
    config = started.config
    facts = line(
        (clean(config.problem), "bold"),
        ("  ·  ", DIM),
        (str(config.method), "bold magenta"),
        ("  ·  ", DIM),
        f"seed {config.seed}",
        ("  ·  ", DIM),
        f"{clean(started.model, 40)} ",
        (f"{count(started.parameters)} weights, {clean(started.style)}", DIM),
    )
    share = progress.spent / progress.budget if progress.budget else 0.0
    left = progress.left(now)
    if progress.phase == "init":
        place = f"initial population, {progress.init_spent} tried"
    else:
        place = f"generation {progress.generation}"
    figures = line(
        (f" {progress.spent}", "bold"),
        (f"/{progress.budget}", DIM),
        (f" {percent(share, 0)}", ACCENT),
        (f" · {place} · ", DIM),
        duration(progress.elapsed(now)),
        (f" {progress.since}", DIM),
        (" · " if left is not None else "", DIM),
        duration(left) if left is not None else "",
        (" left" if left is not None else "", DIM),
    )
    width_of_bar = max(8, inner - figures.cell_len)
    budget = line(bar(share, width_of_bar, ACCENT), figures)  # type: ignore[arg-type]
    title = "ahd · only watching" if progress.watching else "ahd"
    title += f" · sandbox: {clean(started.sandbox, 40)}" if started.sandbox else ""
    return frame(title, Group(facts, budget), 4, clean(str(started.folder), max(8, width - 12)))


def best(progress: Progress, width: int, height: int) -> Panel:
    """Best objective, its gap, its lead over the best known heuristic, and how it came down."""
    inner, rows = width - 4, height - 2
    started = progress.started
    assert started is not None
    gap = progress.gap(progress.best)
    head = line((progress.number(progress.best), f"bold {GOOD}" if progress.best is not None else DIM))
    told = line((signed_percent(gap), "bold"), (" over the reference", DIM)) if gap is not None else Text()
    lines: list[RenderableType] = [beside(head, told, inner)]
    if progress.rival and progress.gain is not None:
        name, value = progress.rival
        ahead = progress.gain >= 0
        lines.append(
            line(
                (percent(abs(progress.gain), 2), GOOD if ahead else WARN),
                (" better than " if ahead else " worse than ", DIM),
                clean(name, 30),
                (f" {progress.number(value)}", DIM),
            )
        )
    if started.reference is not None and len(lines) + 1 < rows:
        lines.append(
            line(
                ("reference ", DIM),
                progress.number(started.reference),
                (f" {clean(started.reference_source)}", DIM),
            )
        )
    if rows - len(lines) >= 2:
        lines += _staircase(progress, inner, rows - len(lines))
    return frame("Best", Group(*lines[:rows]), height)


def _staircase(progress: Progress, width: int, height: int) -> list[Text]:
    values = [value for _, value in progress.history]
    ends = [progress.number(max(values)), progress.number(min(values))] if values else ["", ""]
    margin = max(map(len, ends))
    floor = progress.started.reference if progress.started else None
    drawn = staircase(progress.history, progress.proposals, width - margin - 2, height, floor)
    labels = [ends[0], *[""] * (height - 2), ends[1]]
    if ends[0] == ends[1]:
        labels[0] = ""
    return [
        line((f"{label:>{margin}}", DIM), (" ┤" if label else " │", DIM), (dots, GOOD))
        for label, dots in zip(labels, drawn, strict=True)
    ]


def evolution(progress: Progress, width: int, height: int) -> Panel:
    """Sigma, updates, rewards and steps of the evolution strategy; why nothing moves if nothing does."""
    inner, rows = width - 4, height - 2
    started = progress.started
    assert started is not None
    method, planned = started.config.method, started.updates_planned
    lines: list[Text] = []
    if not method.learns:
        lines.append(line(("frozen", "bold"), (" the weights stay as they are", DIM)))
        if method is Method.NOISE:
            lines.append(line(("every mutation is perturbed, nothing is learnt", DIM)))
            lines.append(line(("sigma   ", DIM), f"{scales(started.config)[0]:.1e} at the start"))
    else:
        done = len(progress.updates)
        label = line((f"{done}", "bold"), (f" of {planned} ", DIM))
        width_of_bar = max(4, inner - 8 - label.cell_len)
        lines.append(
            line(("updates ", DIM), label, bar(done / planned if planned else 0.0, width_of_bar, "magenta"))  # type: ignore[arg-type]
        )
        lines += _steps(progress, inner) if done else [line(("no update yet", DIM))]
    if method.perturbs and rows - len(lines) >= 1:
        lines.append(line(("spent   ", DIM), duration(progress.es_seconds), (" in ES work", DIM)))
    return frame("Evolution strategy", Group(*lines[:rows]), height)


def _steps(progress: Progress, inner: int) -> list[Text]:
    moved = " of weights moved" if inner >= 40 else " moved"
    last, means = progress.updates[-1], [update.reward_mean for update in progress.updates]
    return [
        line(("sigma   ", DIM), f"{last.sigma:.2e}"),
        line(("reward  ", DIM), f"{last.reward_mean:+.4g}", (" spread ", DIM), f"{last.reward_std:.3g}"),
        line(("        ", DIM), (sparkline(means, inner - 8), "magenta")),
        line(("step    ", DIM), f"{last.norm:.3g}", (" norm, ", DIM), percent(last.moved), (moved, DIM)),
        line(("weights ", DIM), *_taken_back(progress), (clean(last.weights_hash[:12]), DIM)),
    ]


def _taken_back(progress: Progress) -> list[tuple[str, str]]:
    back, left = progress.rollbacks, progress.left_out
    parts = [f"{number} {what}  " for number, what in ((back, "rolled back"), (left, "left out")) if number]
    return [(part, WARN) for part in parts]


def population(progress: Progress, width: int, height: int) -> Panel:
    """The members, best first, with the telling part of their code."""
    table = Table.grid(padding=(0, 1), expand=True)
    for justify, style in (("right", DIM), ("right", ""), ("right", ""), ("left", "magenta"), ("right", DIM)):
        table.add_column(justify=justify, style=style, no_wrap=True)  # type: ignore[arg-type]
    table.add_column(ratio=1, no_wrap=True, overflow="ellipsis")
    table.add_row(*(Text(name, style=DIM) for name in ("", "objective", "gap", "by", "#", "code")))
    for rank, member in enumerate(progress.members[: max(0, height - 3)], 1):
        known = member.proposal is None
        table.add_row(
            Text(str(rank)),
            Text(progress.number(member.objective), style=f"bold {GOOD}" if rank == 1 else ""),
            Text(signed_percent(progress.gap(member.objective), 1)),
            Text("known" if known else clean(member.operator, 8)),
            Text("" if known else str(member.proposal)),
            Text(snippet(member.code), style="" if rank == 1 else "default"),
        )
    body: RenderableType = table if progress.members else line(("no valid heuristic yet", DIM))
    return frame("Population", body, height)


def operators(progress: Progress, width: int, height: int) -> Panel:
    """What each operator's proposals came to."""
    table = Table.grid(padding=(0, 1), expand=True)
    wide = width >= 46
    names = (
        ("", "tried", "valid", "", "dupl.", "better") if wide else ("", "tried", "valid", "dupl.", "better")
    )
    for name in names:
        table.add_column(justify="left" if name == "" else "right", no_wrap=True)
    table.add_row(*(Text(name, style=DIM) for name in names))
    room = max(4, width - 36)
    for name, tally in list(progress.operators.items())[-max(1, height - 3) :]:
        style = GOOD if tally.validity >= 0.5 else WARN if tally.validity >= 0.2 else BAD
        cells = [
            Text(clean(name, 8), style="magenta"),
            Text(str(tally.proposals)),
            Text(percent(tally.validity, 0), style=style),
            bar(tally.validity, room, style),
            Text(str(tally.duplicates), style=DIM),
            Text(str(tally.better), style="bold" if tally.better else DIM),
        ]
        table.add_row(*(cells if wide else cells[:3] + cells[4:]))
    return frame("Operators", table, height)


def outcomes(progress: Progress, width: int, height: int) -> Panel:
    """How the proposals ended, most frequent first."""
    total, table = max(1, progress.proposals), Table.grid(padding=(0, 1), expand=True)
    table.add_column(no_wrap=True)
    table.add_column(no_wrap=True)
    table.add_column(justify="right", no_wrap=True)
    room = max(4, width - 4 - 16 - 1 - 6)
    for name, number in progress.outcomes.most_common(max(1, height - 2)):
        style = GOOD if name == "ok" else WARN
        table.add_row(
            Text(f"{clean(name.replace('_', ' '), 16):16}"),
            bar(number / total, room, style),
            Text(f"{number}", style=DIM),
        )
    return frame("Outcomes", table, height)


def speed(progress: Progress, width: int, height: int, now: float) -> Panel:
    """Rates, and where the time goes."""
    inner = width - 4
    split = progress.split
    rates = [
        line((rate(progress.tokens_per_second), "bold"), (" tokens/s generating", DIM)),
        line((rate(progress.evaluations_per_second), "bold"), (" evaluations/s", DIM)),
        line((rate(progress.proposals_per_minute(now)), "bold"), (" proposals/min", DIM)),
    ]
    head = [rates[0]]
    for text in rates[1:]:
        joined = Text.assemble(head[-1], "   ", text, no_wrap=True)
        head[-1:] = [joined] if joined.cell_len <= inner else [head[-1], text]
    cells = shares(list(split.values()), inner)
    marks = [SPLIT_STYLES[name] for name in split]
    bar_line = line(*((mark * n, style) for (mark, style), n in zip(marks, cells, strict=True)))
    legend = Text(no_wrap=True, overflow="ellipsis")
    for name, share in split.items():
        short = "eval." if name == "evaluation" and inner < 40 else name
        mark, style = SPLIT_STYLES[name]
        legend.append(f"{mark} ", style).append(f"{short} ", DIM).append(f"{percent(share, 0)}  ")
    legend.rstrip()
    lines: list[RenderableType] = [*head[: max(1, height - 4)], bar_line, legend]
    lines.append(line((f"{count(progress.tokens)} tokens, {progress.evaluations} evaluations in all", DIM)))
    if not any(split.values()):
        lines = [line(("nothing measured yet", DIM))]
    return frame("Speed", Group(*lines[: height - 2]), height)


def latest(progress: Progress, width: int, height: int) -> Panel:
    """The last lines of the log."""
    styles = {"best": GOOD, "note": WARN, "load": DIM}
    marks = {"best": "▼ ", "note": "! ", "load": "· "}
    lines = [
        line((f"{duration(entry.at):>7} ", DIM), (marks[entry.kind], styles[entry.kind]), entry.text)
        for entry in list(progress.log)[-(height - 2) :]
    ]
    return frame("Latest", Group(*lines), height)
