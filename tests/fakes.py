"""Stand-ins for the slow parts: a problem, a model and an evaluator, all pure functions."""

import hashlib
from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from pathlib import Path

import numpy as np

from ahd.events import Event
from evaluators.outcome import Outcome, Status
from evaluators.probe import Probe
from operators.model import Direction, Reply, Request, UpdateReport
from problems.problem import Problem, Skeleton

SMALL_TSP = Path(__file__).parent / "small_tsp.py"
SMALL = ["small-tsp", "--problem-path", str(SMALL_TSP)]
"""Of a command that searches: a problem whose search and end take a second or two."""


def digest(*parts: object) -> int:
    return int.from_bytes(hashlib.blake2b(repr(parts).encode(), digest_size=4).digest(), "big")


PREFIX = "def choose(a, b):\n    score ="
PROBLEM = Problem(
    name="fake",
    title="a problem for tests",
    description="Choose.",
    function="choose",
    arguments=("a", "b"),
    template='def choose(a: int, b: int) -> int:\n    """Choose."""',
    skeleton=Skeleton(PREFIX, "\n    return score\n", "a, b: numbers"),
    heuristics={"plain": f"{PREFIX} a\n    return score\n"},
    sizes={"train": (3,), "val": (3,), "test": (3,)},
    instances=lambda split, size: np.zeros((2, size)),
    run=lambda heuristic, instances: instances,
    objective=lambda instances, decisions: 0.0,
    reference=lambda split, size: None,
)


class FakeModel:
    """Writes ``a + <number>``; the number depends on the seed, the weights and the direction."""

    name = "fake"
    parameters = 4

    def __init__(self, valid: bool = True) -> None:
        self.weights = np.zeros(4)
        self.valid = valid
        self.generated: list[int] = []
        self.fail_after: int | None = None

    def _noise(self, seed: int) -> np.ndarray:
        return np.random.default_rng(seed).standard_normal(4)

    def generate(
        self, requests: Sequence[Request], directions: Sequence[Direction | None]
    ) -> Iterator[tuple[int, Reply]]:
        order = sorted(range(len(requests)), key=lambda i: digest(requests[i].seed))
        for index in order:
            if self.fail_after is not None and len(self.generated) >= self.fail_after:
                raise KeyboardInterrupt
            request, direction = requests[index], directions[index]
            weights = self.weights
            if direction is not None:
                weights = weights + direction.sigma * self._noise(direction.seed)
            self.generated.append(request.seed)
            number = digest(request.seed, request.prompt, weights.tobytes()) % 40
            text = f" a + {number}" if self.valid and number % 3 else f" ) {number}"
            yield index, Reply(text, 10, 5, 0.01, 0.001)

    def update(self, seeds: Sequence[int], weights: Sequence[float], alpha: float) -> UpdateReport:
        steps = zip(weights, seeds, strict=True)
        step = alpha / len(seeds) * sum(weight * self._noise(seed) for weight, seed in steps)
        self.weights = self.weights + step
        return UpdateReport(float(np.linalg.norm(step)), self.weights_hash(), 1.0, 0.0)

    def reset(self) -> None:
        self.weights = np.zeros(4)

    def weights_hash(self) -> str:
        return hashlib.sha256(self.weights.tobytes()).hexdigest()

    def close(self) -> None: ...


class FakeEvaluator:
    """Objectives from the code's digest, sixteen different ones; code that does not compile fails."""

    def __init__(self) -> None:
        self.sources: list[str] = []

    def submit(
        self,
        source: str,
        split: str = "train",
        size: int | None = None,
        time_limit: float | None = None,
        *,
        probe: Probe | None = None,
    ) -> "Future[Outcome]":
        self.sources.append(source)
        future: Future[Outcome] = Future()
        try:
            compile(source, "candidate", "exec")
        except SyntaxError as error:
            future.set_result(Outcome(Status.SYNTAX_ERROR, None, str(error), 0.01))
        else:
            objective = 1.0 + digest(source) % 16
            seen = f"{objective}" if probe else ""
            known = probe is not None and seen in probe.known
            told = "decides as an earlier candidate" if known else ""
            future.set_result(Outcome(Status.OK, objective, told, 0.01, behaviour=seen))
        return future


class Recorder:
    """A display that keeps the events."""

    def __init__(self) -> None:
        self.events: list[Event] = []

    def __enter__(self) -> "Recorder":
        return self

    def __exit__(self, *exc: object) -> None: ...

    def show(self, event: Event) -> None:
        self.events.append(event)
