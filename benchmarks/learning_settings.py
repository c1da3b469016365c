"""Settings of the learning side by side, on the seeds that chose between them."""

import math
from collections.abc import Sequence

from benchmarks.learning_file import Record
from benchmarks.learning_report import METRICS, Arm, arms, summaries
from benchmarks.paired import difference, estimate

SHOWN = ("valid", "distinct", "better", "reward_new")


def settings_table(records: Sequence[Record]) -> str:
    """Every arm against the usual one, the first ``esopt`` of the records, in Markdown.

    A cell holds the mean over seeds of the last quarter, and the mean of the paired differences to the usual
    arm with its 95% t interval.

    Raises:
        ValueError: no arm learns.
    """
    first = next((record for record in records if record["method"] == "esopt"), None)
    if first is None:
        raise ValueError("no finished line of esopt")
    found = arms(records)
    usual = next(arm for arm in found if arm.settings == first["settings"] and arm.method == "esopt")
    lines = [
        f"| arm | seeds | minutes | {' | '.join(METRICS[metric] for metric in SHOWN)} |",
        "|---" * (3 + len(SHOWN)) + "|",
    ]
    for arm in sorted(found, key=lambda arm: arm is not usual):
        minutes = estimate([record["seconds"] for record in arm.records.values()]).mean / 60
        cells = [_cell(arm, usual, metric) for metric in SHOWN]
        lines.append(f"| {_told(arm, usual)} | {len(arm.records)} | {minutes:.1f} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def _told(arm: Arm, usual: Arm) -> str:
    """The method, and the settings that are not those of the usual arm."""
    unlike = {
        name: value
        for name, value in arm.settings.items()
        if name in usual.settings and usual.settings[name] != value
    }
    if "kind" in unlike or "scope" in unlike:
        unlike = {name: value for name, value in unlike.items() if name not in ("sigma", "alpha")}
    told = ", ".join(f"{name} {value}" for name, value in unlike.items())
    return f"`{arm.method}`" + (f", {told}" if told else ", the first" if arm is usual else "")


def _cell(arm: Arm, usual: Arm, metric: str) -> str:
    text = f"{estimate(summaries(arm, metric, arm.records)['last']).mean:.3f}"
    seeds = sorted(arm.records.keys() & usual.records.keys())
    if arm is usual or not seeds:
        return text
    ours, theirs = (summaries(each, metric, seeds)["last"] for each in (arm, usual))
    found = difference(ours, theirs).estimate
    if math.isnan(found.low):
        return f"{text} ({found.mean:+.3f})"
    return f"{text} ({found.mean:+.3f}, {found.low:+.3f} to {found.high:+.3f})"
