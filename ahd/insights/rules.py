"""Insights by rule: what the better heuristics have that the others lack, and what most failures are."""

import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from statistics import median

from ahd.feedback import reason
from ahd.insights.traits import HOLE, Traits, traits
from ahd.store import Proposal

LEAST = 8
"""Distinct valid heuristics that it takes to compare some with the others."""
CLEAR = 1.64
"""Standard errors by which two shares have to differ: by chance one trait in twenty does, on either side."""
REPEATED = 2
"""Heuristics that have to have a trait, on the side that it is told of."""
MOST_TRAITS = 2
"""Traits told of either side."""
FREQUENT = 0.2
"""Share of the failures from which a reason is told."""
_PARTICULAR = re.compile(r"'[^']*'|\d+")


def by_rule(past: Sequence[Proposal], failures: bool = True) -> tuple[str, ...]:
    """At most three lines: traits that are more frequent in the best quarter of the distinct valid heuristics
    than in the others, traits that are rarer there, and with ``failures`` their most frequent kind."""
    better, worse = compared(past)
    told = (
        ("better ones have", ", ".join(better)),
        ("worse ones have", ", ".join(worse)),
        ("most failures:", most_frequent(past) if failures else ""),
    )
    return tuple(f"{head} {tail}" for head, tail in told if tail)


def distinct(past: Sequence[Proposal]) -> list[Proposal]:
    """The valid proposals with distinct objectives, best first."""
    valid = [row for row in past if row.objective is not None and row.duplicate_of is None]
    return sorted(valid, key=lambda row: (row.objective, row.id))


def compared(past: Sequence[Proposal]) -> tuple[list[str], list[str]]:
    """The traits of the better and those of the worse, most telling first, with median numbers."""
    found = [traits(row.code) for row in distinct(past)]
    if len(found) < LEAST:
        return [], []
    count = math.ceil(len(found) / 4)
    best, others = found[:count], found[count:]
    return _more_frequent(best, others), _more_frequent(others, best)


def most_frequent(past: Sequence[Proposal]) -> str:
    """The newest failure of the most frequent kind; empty when none is frequent. A kind is a reason but for
    names and numbers."""
    reasons = [reason(row.outcome, row.detail) for row in past if row.objective is None][::-1]
    kinds = [_PARTICULAR.sub("", each) for each in reasons]
    kind, count = Counter(kinds).most_common(1)[0] if kinds else ("", 0)
    return reasons[kinds.index(kind)] if count > 1 and count >= FREQUENT * len(kinds) else ""


def _more_frequent(mine: Sequence[Traits], theirs: Sequence[Traits]) -> list[str]:
    """The traits that are clearly more frequent in ``mine``, clearest first."""
    counts = Counter(trait for each in mine for trait in each)
    others = Counter(trait for each in theirs for trait in each)
    scores = {
        trait: _score(count, len(mine), others[trait], len(theirs))
        for trait, count in counts.items()
        if count >= REPEATED
    }
    order = sorted(scores, key=lambda trait: (-scores[trait], trait))
    return [_filled(trait, mine) for trait in _apart(each for each in order if scores[each] >= CLEAR)]


def _score(count: int, of: int, other_count: int, other_of: int) -> float:
    """Difference of two shares in standard errors of it if they were equal."""
    pooled = (count + other_count) / (of + other_of)
    error = math.sqrt(pooled * (1 - pooled) * (1 / of + 1 / other_of))
    return (count / of - other_count / other_of) / error if error else 0.0


def _apart(order: Iterable[str]) -> list[str]:
    """The first few traits of which none is a part of another."""
    kept: list[str] = []
    for trait in order:
        core = trait.lstrip("+-{}*/ ")
        if not any(core in other or other.lstrip("+-{}*/ ") in trait for other in kept):
            kept.append(trait)
    return kept[:MOST_TRAITS]


def _filled(trait: str, found: Sequence[Traits]) -> str:
    """A trait with the medians of its numbers; a factor of 1 is left out."""
    text = trait
    for numbers in zip(*(each[trait] for each in found if trait in each), strict=True):
        text = text.replace(HOLE, f"{float(f'{median(numbers):.2g}'):g}", 1)
    return text.replace(" 1 * ", " ", 1) if trait.startswith(("+", "-")) else text
