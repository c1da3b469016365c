"""The synthetic run written through the store, as a run folder."""

import json
from dataclasses import asdict
from pathlib import Path

from ahd.events import Finished, Proposed, Started, Updated
from ahd.store import Proposal, Store, UpdateRow
from tests.display.synthetic_run import synthetic


def store_run(folder: Path, hostile: str = "", proposals: int = 120, all_fail: bool = False) -> Path:
    """Write a run of ``proposals`` to ``folder``; ``all_fail``: no initial proposal was valid."""
    batch = 0
    store = Store.create(folder, next(e.config for _, e in synthetic(0) if isinstance(e, Started)))
    with store.session() as session:
        for now, event in synthetic(proposals, hostile=hostile, finish="done"):
            match event:
                case Started():
                    text = json.dumps(asdict(event) | {"folder": str(folder)}, default=str)
                    store.set_meta(started_event=text, schedule=event.schedule, base_hash="00ff")
                case Proposed():
                    batch = event.id // 10
                    store.add_proposal(_row(event, batch, now, hostile, all_fail))
                case Updated():
                    rewards = (event.reward_mean - 0.1, event.reward_mean + 0.1)
                    store.add_update(
                        UpdateRow(
                            event.number,
                            batch,
                            "m1",
                            (1, 2),
                            rewards,
                            (-1.0, 1.0),
                            event.sigma,
                            5e-4,
                            event.norm,
                            event.moved,
                            event.weights_hash,
                            event.seconds,
                            now,
                            (1, 2),
                            (-1.0, 1.0),
                            event.rollback_to,
                            event.note,
                        )
                    )
                case Finished():
                    store.set_meta(finished=json.dumps(asdict(event), default=str))
        session.status = "done"
    store.close()
    return folder


def _row(event: Proposed, batch: int, now: float, hostile: str, all_fail: bool) -> Proposal:
    fails = all_fail and event.phase == "init"
    code = f"def f(a):\n    score = a * {event.id}{hostile}\n    return score\n"
    return Proposal(
        event.id,
        batch,
        event.id % 10,
        event.phase,
        event.generation,
        event.operator,
        (),
        "p",
        "",
        "r",
        code,
        f"a * {event.id}{hostile}",
        "",
        "timeout" if fails else event.outcome,
        None if fails else event.objective,
        event.detail if event.outcome != "ok" else "",
        None,
        event.id,
        None,
        None,
        None,
        100,
        event.completion_tokens,
        event.model_seconds,
        event.es_seconds,
        event.evaluation_seconds,
        now,
    )
