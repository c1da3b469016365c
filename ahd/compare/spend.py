"""What runs have spent, and that runs which are compared have spent the same."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ahd.compare.result import Seconds, Spend
from ahd.config import ConfigError, RunConfig
from ahd.figures import figures
from ahd.insights.questions import Question
from ahd.store import Proposal, UpdateRow


class UnequalSpend(ConfigError):
    """Runs that did not spend the same number of proposals, or not yet all of theirs."""


def spend(
    rows: Sequence[Proposal],
    updates: Sequence[UpdateRow],
    wall_seconds: float,
    questions: Sequence[Question] = (),
) -> Spend:
    """What a run spent, from its rows and its questions for insights."""
    found = figures(rows, updates, wall_seconds, questions)
    return Spend(
        proposals=found["spent"],
        init_proposals=found["init_spent"],
        valid=found["valid"],
        prompt_tokens=found["prompt_tokens"],
        completion_tokens=found["completion_tokens"],
        evaluations=sum(row.evaluated for row in rows),
        updates=found["updates_made"],
        seconds=Seconds(**found["seconds"]),
        wall_seconds=wall_seconds,
    )


def check_complete(
    folder: Path,
    config: RunConfig,
    rows: Sequence[Proposal],
    status: str,
    finished: Mapping[str, Any] | None,
    mend: str = "",
) -> None:
    """Refuse a run that has not come to its end; ``mend`` tells how to get there.

    Raises:
        UnequalSpend: it has not.
    """
    spent = sum(row.phase == "search" for row in rows)
    mend = mend or f"go on with `ahd resume {folder}`, or move its folder away"
    if spent != config.budget:
        raise UnequalSpend(f"{folder} has spent {spent} of its {config.budget} proposals: {mend}")
    if status != "done" or finished is None or finished.get("status") != "done":
        raise UnequalSpend(f"{folder} has spent its {spent} proposals but was not ended: {mend}")


def check_equal(setting: str, spent: Mapping[Path, int]) -> None:
    """Refuse runs of a setting that spent different numbers of proposals.

    Raises:
        UnequalSpend: naming a run of the most frequent figure and the first that differs.
    """
    counts = list(spent.values())
    if len(set(counts)) < 2:
        return
    usual = max(sorted(set(counts)), key=counts.count)
    example = next(folder for folder, count in spent.items() if count == usual)
    other, count = next((folder, count) for folder, count in spent.items() if count != usual)
    raise UnequalSpend(
        f"{setting}: {other} has spent {count} proposals, {example} {usual}; only equal spends are compared: "
        f"repeat the first with --budget {usual}, or move its folder away"
    )
