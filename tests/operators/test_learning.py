"""Rewards reach the model unchanged, or not at all."""

from collections.abc import Iterator, Sequence

import pytest

from operators.learning import learn
from operators.model import Direction, Reply, Request, UpdateReport


class Recorder:
    """A model that only remembers its updates."""

    name = "recorder"
    parameters = 1

    def __init__(self) -> None:
        self.updates: list[tuple[list[int], list[float], float]] = []

    def generate(
        self, requests: Sequence[Request], directions: Sequence[Direction | None]
    ) -> Iterator[tuple[int, Reply]]:
        raise AssertionError("learning generates nothing")

    def update(self, seeds: Sequence[int], weights: Sequence[float], alpha: float) -> UpdateReport:
        self.updates.append((list(seeds), list(weights), alpha))
        return UpdateReport(norm=1.0, weights_hash="00", moved=0.5, seconds=0.0)

    def weights_hash(self) -> str:
        return "00"

    def close(self) -> None: ...


def test_seeds_weights_and_alpha_are_passed_on() -> None:
    """One batch is one update with the numbers as they came."""
    model = Recorder()
    report = learn(model, [3, 4], [1.0, -1.0], 5e-4)
    assert report is not None
    assert report.norm == 1.0
    assert model.updates == [([3, 4], [1.0, -1.0], 5e-4)]


@pytest.mark.parametrize("weights", [[], [0.0], [0.0, -0.0]])
def test_nothing_to_learn_leaves_the_model_alone(weights: list[float]) -> None:
    """Weights that are all zero make no update."""
    model = Recorder()
    assert learn(model, list(range(len(weights))), weights, 5e-4) is None
    assert not model.updates


@pytest.mark.parametrize(
    ("seeds", "weights", "alpha"),
    [([1], [1.0, 2.0], 1e-3), ([1], [float("nan")], 1e-3), ([1], [float("inf")], 1e-3)]
    + [([1], [1.0], float("nan")), ([1], [1.0], -1e-3)],
)
def test_bad_numbers_are_refused(seeds: list[int], weights: list[float], alpha: float) -> None:
    """Unequal lengths and numbers that are not finite never reach the weights."""
    model = Recorder()
    with pytest.raises(ValueError, match=r"weights|alpha"):
        learn(model, seeds, weights, alpha)
    assert not model.updates
