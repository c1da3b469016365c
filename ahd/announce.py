"""Events from stored rows: what a display is told of a proposal or an update, live or read back."""

from ahd.config import Kind, RunConfig
from ahd.es.moments import mean_and_spread
from ahd.es.perturbation import scales
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
    mean, spread = mean_and_spread(row.rewards)
    return Updated(
        number=row.id,
        sigma=row.sigma,
        reward_mean=mean,
        reward_std=spread,
        norm=row.norm,
        moved=row.moved,
        weights_hash=row.weights_hash,
        seconds=row.seconds,
        replayed=replayed,
        rollback_to=row.rollback_to,
        note=row.note,
    )


def evolved(population: Population) -> Evolved:
    """The event of a population after survival."""
    return Evolved(
        tuple(
            Member(each.objective, each.operator, each.proposal, each.completion or each.code)
            for each in population.members
        )
    )


def directions(config: RunConfig) -> str:
    """What the directions of a run are and how it learns from them, in one line."""
    if not config.method.perturbs:
        return "none: the weights are frozen"
    sigma, alpha = scales(config)
    rank = f" of rank {config.rank}" if config.kind is Kind.LOWRANK else ""
    parts = [f"{config.kind}{rank}, scope {config.scope}, sigma {sigma:g}"]
    parts += ["antithetic"] * config.antithetic
    parts += [f"{config.per_direction} proposals each"] * (config.per_direction > 1)
    if config.method.learns:
        parts.append(f"alpha {alpha:g}, reward {config.reward}, shaping {config.shaping}")
        parts += [f"momentum {config.momentum:g}"] * (config.momentum > 0)
    return ", ".join(parts)
