"""Where the best heuristic comes from: its ancestors to the initial population, and what steps changed."""

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ahd.display.text import clean_block
from ahd.store import Proposal

LONG = 2000
"""Characters from which codes are compared by lines."""


@dataclass(frozen=True)
class Step:
    """One step of the main line: ``parent`` became ``child``. ``parent`` None: the child has no stored parent
    (initial population, or written from a known heuristic). ``others`` are the child's further parents, None
    for a known heuristic; ``diff`` is unified, without file names, empty where the code is the same."""

    child: Proposal
    parent: Proposal | None
    others: tuple[int | None, ...]
    diff: tuple[str, ...]


@dataclass(frozen=True)
class Lineage:
    """``ancestors`` of the best, itself included, newest first; ``steps`` of the main line, newest first."""

    ancestors: tuple[Proposal, ...]
    steps: tuple[Step, ...]


def lineage(rows: Sequence[Proposal], best: Proposal | None) -> Lineage:
    """The ancestors of ``best``. The main line follows, at every child, the parent whose text is most like
    the child's. A parent is older than its child: what a damaged file says otherwise is passed over."""
    if best is None:
        return Lineage((), ())
    by_id = {row.id: row for row in rows}
    found, waiting = {best.id: best}, [best]
    while waiting:
        for parent in stored_parents(waiting.pop(), by_id):
            if parent.id not in found:
                found[parent.id] = parent
                waiting.append(parent)
    return Lineage(tuple(found[key] for key in sorted(found, reverse=True)), _main_line(best, by_id))


def stored_parents(child: Proposal, by_id: Mapping[int, Proposal]) -> list[Proposal]:
    """The parents of ``child`` among the proposals of the run."""
    return [by_id[key] for key in child.parents if key is not None and key < child.id and key in by_id]


def _main_line(best: Proposal, by_id: Mapping[int, Proposal]) -> tuple[Step, ...]:
    steps, child = [], best
    while True:
        parents = stored_parents(child, by_id)
        parent = max(parents, key=lambda each: likeness(_told(each), _told(child))) if parents else None
        others = tuple(key for key in child.parents if parent is None or key != parent.id)
        steps.append(Step(child, parent, others, changes(parent.code, child.code) if parent else ()))
        if parent is None:
            return tuple(steps)
        child = parent


def _told(row: Proposal) -> str:
    return row.completion or row.code


def likeness(first: str, second: str) -> float:
    """How alike two texts are, 0 to 1 (Ratcliff and Obershelp)."""
    if max(len(first), len(second)) > LONG:
        return difflib.SequenceMatcher(None, first.splitlines(), second.splitlines(), False).ratio()
    return difflib.SequenceMatcher(None, first, second, False).ratio()


def changes(before: str, after: str) -> tuple[str, ...]:
    """The lines of a unified difference with two lines around each change, without the names of files."""
    old, new = (clean_block(text).rstrip().splitlines() for text in (before, after))
    return tuple(list(difflib.unified_diff(old, new, n=2, lineterm=""))[2:])
