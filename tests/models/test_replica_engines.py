"""Replicas of a live engine, on a Ray cluster of their own."""

from dataclasses import replace
from pathlib import Path

import pytest

from ahd.models.replicas import Replicas
from operators.model import Direction, Model, Request


@pytest.mark.slow
@pytest.mark.live
def test_two_engines_are_one_model(shallow: Path) -> None:
    """Two replicas of a model answer perturbed requests, and after an update both have the hash of
    the masters rebuilt from base and log. Equal requests get equal replies from either; a grammar holds."""
    pytest.importorskip("ray")
    import torch

    from ahd.es.perturbation import Perturbation
    from ahd.models.weights import Masters

    perturbation, folder = Perturbation(), str(shallow)

    def build() -> Model:
        from ahd.models.live import LiveModel

        return LiveModel(folder, max_length=512, perturbation=perturbation)

    masters = Masters.load(shallow, torch.bfloat16, perturbation)
    model = Replicas(build, 2)
    try:
        assert model.weights_hash() == masters.hash()
        requests = [Request("Count to ten.", 1, max_tokens=8, temperature=0.0)] * 4
        directions = [Direction(1, 2e-3), Direction(2, 2e-3), None, None]
        before = texts(model, requests, directions)
        assert before[2] == before[3]
        assert all(before)
        masters.update([1, 2], [1.0, -1.0], 5e-3)
        assert model.update([1, 2], [1.0, -1.0], 5e-3).weights_hash == masters.hash()
        model.reset()
        assert texts(model, requests, directions) == before
        held = [replace(each, grammar='start: "yes" | "no"') for each in requests]
        assert set(texts(model, held, directions)) <= {"yes", "no"}
    finally:
        model.close()


def texts(model: Model, requests: list[Request], directions: list[Direction | None]) -> list[str]:
    return [reply.text for _, reply in sorted(model.generate(requests, directions), key=lambda each: each[0])]
