"""The best heuristic of a run has to score again, in a new process, what it scored when it was found, and to
be as good on instances that it was not found with."""

import json
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, replace

from ahd.population import Individual, Population
from ahd.store import Proposal, Store
from evaluators.outcome import Outcome

NOT_REPRODUCED = "not_reproduced"
TRAINING_ONLY = "training_only"
OUTCOMES = (NOT_REPRODUCED, TRAINING_ONLY)
"""The outcomes that dropped proposals are shown with: they did not score again what they scored, or are
worth less elsewhere (``ahd.carry_over``). The run file has the reasons under these keys."""
TRIES = 2
"""A failure may be the machine's; another objective never is."""

PART = 10
"""Heuristics after which the user is told how many are done."""


@dataclass(frozen=True)
class Dropped:
    """Why a proposal was dropped: one of ``OUTCOMES``, and in words."""

    outcome: str
    reason: str


def confirm(
    population: Population,
    submit: Callable[[str], "Future[Outcome]"],
    store: Store,
    tell: Callable[[str], None],
    fault: Callable[[Individual], str] = lambda best: "",
    count: int = 1,
) -> None:
    """Drop the best of the population until the first ``count`` score what they scored and have no
    ``fault``; the run file remembers which.

    The rows of the run file stay as they are: a run that is resumed has to meet them again.
    """
    reasons = {outcome: _reasons(store, outcome) for outcome in OUTCOMES}
    passed = 0
    while passed < min(count, len(population)):
        best = population.members[passed]
        outcome, reason = NOT_REPRODUCED, _difference(best, submit)
        if not reason:
            outcome, reason = TRAINING_ONLY, fault(best)
        if not reason:
            passed += 1
            if passed % PART == 0 and passed < count:
                tell(f"{passed} of {min(count, len(population))} are compared")
            continue
        tell(f"proposal {best.proposal} is dropped: {reason}")
        population.members.remove(best)
        if best.proposal is not None:
            reasons[outcome][best.proposal] = reason
            store.set_meta(**{outcome: json.dumps(reasons[outcome])})


def _difference(best: Individual, submit: Callable[[str], "Future[Outcome]"]) -> str:
    """How a second evaluation differs from the first; empty: it does not."""
    for _ in range(TRIES):
        outcome = submit(best.code).result()
        if outcome.objective is not None:
            break
    if outcome.objective == best.objective:
        return ""
    again = outcome.objective
    found = f"{outcome.status}: {outcome.detail}" if again is None else f"{again:.10g}"
    return f"its objective was {best.objective:.10g}, evaluated again {found}"


def dropped(store: Store) -> dict[int, Dropped]:
    """Proposals that were dropped, and why.

    Raises:
        ConfigError: the run file is damaged.
    """
    return {
        number: Dropped(outcome, reason)
        for outcome in OUTCOMES
        for number, reason in _reasons(store, outcome).items()
    }


def _reasons(store: Store, outcome: str) -> dict[int, str]:
    """
    Raises:
        ConfigError: the run file is damaged.
    """
    try:
        return {int(number): str(reason) for number, reason in (store.meta_record(outcome) or {}).items()}
    except ValueError:
        raise store.damaged(f"{outcome} in table meta") from None


def corrected(rows: Sequence[Proposal], gone: Mapping[int, Dropped]) -> list[Proposal]:
    """``rows`` as they are shown: what was dropped has no objective, and neither have its duplicates."""

    def shown(row: Proposal) -> Proposal:
        reason = gone.get(row.id) or gone.get(row.duplicate_of or 0)
        return replace(row, outcome=reason.outcome, objective=None, detail=reason.reason) if reason else row

    return list(map(shown, rows))
