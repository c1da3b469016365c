"""The best heuristic of a run has to score again, in a new process, what it scored when it was found."""

import json
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import replace

from ahd.population import Individual, Population
from ahd.store import Proposal, Store
from evaluators.outcome import Outcome

OUTCOME = "not_reproduced"
"""The outcome that such a proposal is shown with."""
KEY = "not_reproduced"
TRIES = 2
"""A failure may be the machine's; another objective never is."""


def confirm(
    population: Population,
    submit: Callable[[str], "Future[Outcome]"],
    store: Store,
    tell: Callable[[str], None],
) -> None:
    """Drop the best of the population until it scores what it scored; the run file remembers which.

    The rows of the run file stay as they are: a run that is resumed has to meet them again.
    """
    dropped = not_reproduced(store)
    while (best := population.best) is not None:
        reason = _difference(best, submit)
        if not reason:
            return
        tell(f"proposal {best.proposal} is dropped: {reason}")
        population.members.remove(best)
        if best.proposal is not None:
            dropped[best.proposal] = reason
            store.set_meta(**{KEY: json.dumps(dropped)})


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


def not_reproduced(store: Store) -> dict[int, str]:
    """Proposals that were dropped, and why.

    Raises:
        ConfigError: the run file is damaged.
    """
    return {int(number): str(reason) for number, reason in (store.meta_record(KEY) or {}).items()}


def corrected(rows: Sequence[Proposal], dropped: Mapping[int, str]) -> list[Proposal]:
    """``rows`` as they are shown: what was dropped has no objective."""
    return [
        replace(row, outcome=OUTCOME, objective=None, detail=dropped[row.id]) if row.id in dropped else row
        for row in rows
    ]
