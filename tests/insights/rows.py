"""Proposals made up for tests."""

from ahd.store import Proposal


def row(
    number: int,
    objective: float | None = None,
    completion: str = "a",
    detail: str = "",
    batch: int = 1,
    parents: tuple[int | None, ...] = (),
    duplicate_of: int | None = None,
) -> Proposal:
    """A proposal of m1; one without an objective failed."""
    return Proposal(
        id=number,
        batch=batch,
        slot=number,
        phase="search",
        generation=1,
        operator="m1",
        parents=parents,
        prompt="",
        prefill="",
        reply="",
        code=f"def choose(a, b):\n    score = {completion}\n    return score\n",
        completion=completion,
        thought="",
        outcome="ok" if objective is not None else "runtime_error",
        objective=objective,
        detail=detail,
        duplicate_of=duplicate_of,
        request_seed=number,
        direction_seed=None,
        sigma=None,
        reward=None,
        prompt_tokens=10,
        completion_tokens=5,
        model_seconds=0.5,
        es_seconds=0.0,
        evaluation_seconds=0.0,
        created=0.0,
    )
