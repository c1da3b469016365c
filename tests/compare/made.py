"""Finished runs written straight into run files."""

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from ahd.config import Method, RunConfig
from ahd.events import Finished, Started
from ahd.store import Proposal, Store, UpdateRow

BUDGET = 12
KNOWN = {"nearest neighbour": 9.0}


def made(
    folder: Path,
    method: str = "eoh",
    seed: int = 1,
    train: float | None = 6.0,
    test: float | None = 6.5,
    budget: int = BUDGET,
    spent: int | None = None,
    status: str = "done",
    init: Sequence[str] = ("first", "second"),
    problem: str = "tsp",
    known: dict[str, float] | None = None,
    **options: object,
) -> Path:
    """A run that found ``train`` with the last but one of its proposals; ``spent`` < ``budget``: it stopped.

    Initial proposals reply ``init`` and score 9 and 8; a proposal costs 3 + 0.5 seconds, the one update of a
    method that learns 2.
    """
    config = RunConfig(problem, Method(method), budget, seed, "scripted", population=2, **options)  # type: ignore[arg-type]
    started = Started(config, folder, "scripted", 64, "skeleton", "", 0, 5.0, "made", 3, known or KNOWN)
    store = Store.create(folder, config)
    spent = budget if spent is None else spent
    with store.session() as session:
        store.set_meta(started_event=json.dumps(asdict(started), default=str), dtype="float32")
        for number in range(1, len(init) + spent + 1):
            at = number - len(init)
            objective = 10.0 - number if at <= 0 else train if at == spent - 1 else None
            store.add_proposal(_row(number, at, seed, init, objective))
        if config.method.learns:
            store.add_update(_update())
        finished = Finished(status, folder, train, 0.2, test, 0.3, "4 instances of size 5", "", {})
        if status == "done" and spent == budget:
            store.set_meta(finished=json.dumps(asdict(finished), default=str))
            session.status = "done"
    store.close()
    return folder


def _row(number: int, at: int, seed: int, init: Sequence[str], objective: float | None) -> Proposal:
    return Proposal(
        id=number,
        batch=1 if at > 0 else 0,
        slot=number,
        phase="search" if at > 0 else "init",
        generation=int(at > 0),
        operator="m1" if at > 0 else "i1",
        parents=(),
        prompt="p",
        prefill="",
        reply="r" if at > 0 else init[number - 1],
        code="",
        completion="",
        thought="",
        outcome="error" if objective is None else "ok",
        objective=objective,
        detail="",
        duplicate_of=None,
        request_seed=seed,
        direction_seed=None,
        sigma=None,
        reward=None,
        prompt_tokens=10,
        completion_tokens=5,
        model_seconds=3.0,
        es_seconds=0.0,
        evaluation_seconds=0.0 if objective is None else 0.5,
        created=1.0,
    )


def _update() -> UpdateRow:
    return UpdateRow(1, 1, "m1", (1,), (0.0,), (0.0,), 0.1, 0.1, 0.0, 0.0, "00", 2.0, 1.0)
