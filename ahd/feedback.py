"""Error feedback: why a recent attempt failed, as one line of the next prompt."""

import re
from collections.abc import Collection, Sequence

from ahd.store import Proposal

RECENT = 40
"""How many proposals back the failure of a parent's child is still told."""
_PLACE = re.compile(r" \(line \d+\)$")


def reason(outcome: str, detail: str) -> str:
    """Why a proposal failed, without the line: the code it counts in is not shown. ``detail`` begins with the
    type of the error, if there was one."""
    return _PLACE.sub("", detail) or outcome.replace("_", " ")


def line(outcome: str, detail: str) -> str:
    """The note on a failure."""
    return f"an attempt failed: {reason(outcome, detail)}"


def feedback(past: Sequence[Proposal], parents: Collection[int | None], slot: int) -> tuple[str, ...]:
    """The note for a slot whose prompt shows ``parents``; none when nothing has failed lately.

    It tells the newest failure among the last ``RECENT`` proposals that had one of these parents, else one of
    the failures of the last batch, in turn. ``past`` are the proposals of all earlier batches in their order.
    """
    failed = [row for row in past[-RECENT:] if row.objective is None]
    own = [row for row in failed if not set(parents).isdisjoint(row.parents)]
    last = [row for row in failed if row.batch == past[-1].batch]
    told = own[-1] if own else last[slot % len(last)] if last else None
    return () if told is None else (line(told.outcome, told.detail),)
