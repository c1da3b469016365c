"""A made-up run as a stream of timed events, for looking at the displays and for their tests."""

import random
from collections.abc import Iterator
from pathlib import Path

from ahd.config import Method, RunConfig
from ahd.events import Event, Evolved, Finished, Loading, Member, Note, Proposed, Started, Updated

HOSTILE = "[bold red]boo[/] \x1b[31m\x1b]0;title\x07 \u202eright\u202c [/nonsense] \x00 :smiley: [link=x]"
ROLLED_BACK = "update 5: 3 batches in a row below 5.0% valid: the weights are those after update 2 again"

_CODE = '''import numpy as np

def select_next_node(current, destination, unvisited, distances):
    """Choose the next node."""
    nearest = distances[current][unvisited]
    to_start = distances[destination][unvisited]
    score = {hole}
    return int(unvisited[np.argmin(score)])
'''
_HOLES = (
    "nearest - 0.25 * to_start",
    "nearest * (1 + 0.1 * np.log1p(to_start)) - 0.35 * to_start / (1 + nearest)",
    "nearest ** 2 - to_start",
    "nearest",
    "np.where(nearest < np.median(nearest), nearest, nearest + to_start)",
)


def synthetic(
    proposals: int = 400,
    budget: int = 500,
    method: Method = Method.ESOPT,
    seed: int = 1,
    hostile: str = "",
    finish: str = "",
) -> Iterator[tuple[float, Event]]:
    """``(seconds, event)`` of a run that stops after ``proposals``; ``finish``: status of its end."""
    rng = random.Random(seed)
    config = RunConfig("tsp" + hostile, method, budget)
    folder = Path("results/tsp-esopt-20260731-101500")
    now = 0.0
    yield now, Loading("loading SmolLM2-135M-Instruct" + hostile)
    now += 12.4
    yield now, Loading("loading SmolLM2-135M-Instruct" + hostile, 12.4)
    planned = 38 if method.learns else 0
    yield (
        now,
        Started(
            config,
            folder,
            "SmolLM2-135M-Instruct",
            134_515_008,
            "skeleton",
            "20 generations: e1 e2 10 each, m1 m2 30 each",
            planned,
            5.704,
            "iterated local search" + hostile,
            5,
            {"nearest neighbour": 7.00437, "farthest": 8.2},
        ),
    )
    if hostile:
        yield now, Note(hostile)
    members: list[Member] = []
    best, spent, init_spent, updates, objective_now = None, 0, 0, 0, 9.0
    for number in range(1, proposals + 1):
        init = init_spent < 30
        init_spent, spent = init_spent + init, spent + (not init)
        operator = "i1" if init else ("e1", "e2", "m1", "m1", "m1", "m2", "m2", "m2")[number // 10 % 8]
        draw = rng.random()
        outcome = (
            "ok"
            if draw < 0.55
            else rng.choice(["runtime_error", "syntax_error", "invalid_solution", "timeout"])
        )
        objective = None
        if outcome == "ok":
            objective_now = 6.31 + (objective_now - 6.31) * (1 - rng.expovariate(1 / 0.015))
            objective = objective_now + abs(rng.gauss(0, 0.3))
            best = objective if best is None else min(best, objective)
            code = _CODE.format(hole=rng.choice(_HOLES) + hostile)
            members = sorted(
                [*members, Member(objective, operator, number, code)], key=lambda m: m.objective
            )[:10]
        now += 0.35
        yield (
            now,
            Proposed(
                number,
                "init" if init else "search",
                0 if init else 1 + spent // 25,
                operator,
                outcome,
                objective,
                "name 'x' is not defined" + hostile,
                outcome == "ok" and rng.random() < 0.3,
                rng.randint(20, 200),
                0.25,
                0.06 if operator in ("m1", "m2") and method.perturbs else 0.0,
                0.07,
                spent,
                init_spent,
                best,
            ),
        )
        if number % 10 == 0:
            yield now, Evolved(tuple(members))
            if operator in ("m1", "m2") and method.learns and updates < planned:
                updates += 1
                now += 1.1
                sigma, mean = 1e-3 * (1 - updates / 38), -0.8 + 0.012 * updates + rng.gauss(0, 0.05)
                back, note = (2, ROLLED_BACK + hostile) if updates == 5 else (None, "")
                if note:
                    yield now, Note(note)
                hashed = f"{rng.getrandbits(256):064x}"
                yield (
                    now,
                    Updated(updates, sigma, mean, 0.31, 0.82, 0.151, hashed, 1.1, False, back, note),
                )
        if number == 40:
            yield (
                now,
                Note("the initial population took 30 proposals; 14 rejected: 6 syntax_error, 8 duplicates"),
            )
    if finish:
        done = finish == "done"
        yield (
            now,
            Finished(
                finish,
                folder,
                best,
                None if best is None else best / 5.704 - 1,
                6.402 if done else None,
                0.1281 if done else None,
                "1000 instances of size 50" + hostile,
                "" if done else "interrupted" + hostile,
                {"wall_seconds": now, "tokens_per_second": 312.0},
                {"nearest neighbour" + hostile: 6.95927} if done else {},
                5.675 if done else None,
                "optimum" + hostile,
            ),
        )
