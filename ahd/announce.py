"""Events from stored rows: what a display is told of a proposal or an update, live or read back."""

from statistics import fmean, pstdev

from ahd.events import Evolved, Member, Proposed, Updated
from ahd.population import Population
from ahd.store import Proposal, UpdateRow


def proposed(
    row: Proposal, spent: int, init_spent: int, best: float | None, replayed: bool = False
) -> Proposed:
    """The event of a stored proposal; the counts include it."""
    return Proposed(
        id=row.id,
        phase=row.phase,
        generation=row.generation,
        operator=row.operator,
        outcome=row.outcome,
        objective=row.objective,
        detail=row.detail,
        duplicate=row.duplicate_of is not None,
        completion_tokens=row.completion_tokens,
        model_seconds=row.model_seconds,
        es_seconds=row.es_seconds,
        evaluation_seconds=row.evaluation_seconds,
        spent=spent,
        init_spent=init_spent,
        best=best,
        replayed=replayed,
    )


def updated(row: UpdateRow, replayed: bool = False) -> Updated:
    """The event of a logged update."""
    return Updated(
        number=row.id,
        sigma=row.sigma,
        reward_mean=fmean(row.rewards),
        reward_std=pstdev(row.rewards),
        norm=row.norm,
        moved=row.moved,
        weights_hash=row.weights_hash,
        seconds=row.seconds,
        replayed=replayed,
    )


def evolved(population: Population) -> Evolved:
    """The event of a population after survival."""
    return Evolved(
        tuple(
            Member(each.objective, each.operator, each.proposal, each.completion or each.code)
            for each in population.members
        )
    )
