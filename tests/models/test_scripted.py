"""The scripted model keeps the promises of the model protocol."""

import ast
import subprocess
import sys

import numpy as np
import pytest

from ahd.config import Kind, RunConfig
from ahd.es.noise import noise
from ahd.es.perturbation import Perturbation
from ahd.models.load import load_model
from ahd.models.scripted import ScriptedModel, scripted_tsp
from ahd.models.weights import Masters
from operators.model import Direction, Request


def total(request: Request, weights: np.ndarray) -> str:
    return f"{weights.sum():.9f} end of reply"


def along(seed: int, scale: float) -> np.ndarray:
    """The step of full noise on the model's 7 by 8 matrix and its 8 gains."""
    parts = [noise(seed, "script.proj.weight", 0, 56), noise(seed, "script.norm.weight", 0, 8)]
    return np.float32(scale) * np.concatenate(parts)


def base() -> list[tuple[str, np.ndarray]]:
    return [
        ("script.proj.weight", np.zeros((7, 8), np.float32)),
        ("script.norm.weight", np.ones(8, np.float32)),
    ]


FLAT = np.repeat(np.float32([0, 1]), [56, 8])


def test_replies_depend_on_the_perturbed_weights() -> None:
    """A direction moves the weights by sigma times its noise, for its own request only; a negative sigma
    is the mirror image."""
    model = ScriptedModel(total)
    requests = [Request("p", seed=i, stop=(" end",)) for i in range(4)]
    replies = dict(model.generate(requests, [None, Direction(4, 0.5), None, Direction(4, -0.5)]))
    moved = along(4, 0.5).sum()
    assert replies[0].text == replies[2].text == "8.000000000"
    assert float(replies[1].text) == pytest.approx(8 + moved, abs=1e-5)
    assert float(replies[3].text) == pytest.approx(8 - moved, abs=1e-5)
    assert np.array_equal(model.weights, FLAT)


PERTURBATIONS = [
    Perturbation(),
    Perturbation(scope="linear"),
    Perturbation(scope="norms"),
    Perturbation(Kind.LOWRANK, "all", 2),
    Perturbation(Kind.LOWRANK, "linear"),
]
LOG = [([1, 2], [1.0, -1.0], 0.1), ([3, 1, 3], [0.5, 0.0, 1.0], 0.2)]


@pytest.mark.parametrize("perturbation", PERTURBATIONS, ids=str)
def test_updates_can_be_replayed(perturbation: Perturbation) -> None:
    """Base and log give the same hash in any process that has the arithmetic; a reset gives back the base's;
    weights out of scope stay."""
    model = ScriptedModel(total, perturbation=perturbation)
    replay = Masters(base(), perturbation)
    first = model.weights_hash()
    assert first == replay.hash()
    for seeds, weights, alpha in LOG:
        report = model.update(seeds, weights, alpha)
        norm, _ = replay.update(seeds, weights, alpha)
        assert report.weights_hash == model.weights_hash() == replay.hash() != first
        assert report.norm == norm > 0
    for name, where in (("script.proj.weight", slice(56)), ("script.norm.weight", slice(56, 64))):
        assert (name in replay.arrays) != np.array_equal(model.weights[where], FLAT[where])
    model.reset()
    assert model.weights_hash() == first


def test_an_update_is_the_formula() -> None:
    """update moves by alpha / N * sum w_i eps_i; a seed may occur twice."""
    model = ScriptedModel(total)
    for seeds, weights, alpha in LOG:
        model.update(seeds, weights, alpha)
    steps = along(1, 0.05) - along(2, 0.05) + along(3, 0.2 / 3 * 1.5)
    assert np.allclose(model.weights, FLAT + steps, atol=1e-6)


def test_masters_hash_depends_on_names_and_values_not_on_order() -> None:
    """The hash is over tensors in name order, and is the same whatever is in scope."""
    one, two = np.ones(3, np.float32), np.zeros((2, 2), np.float32)
    found = Masters([("a", one), ("b", two)], Perturbation()).hash()
    assert found == Masters([("b", two), ("a", one)], Perturbation()).hash()
    assert found == Masters([("a", one), ("b", two)], Perturbation(scope="b")).hash()
    assert found != Masters([("b", one), ("a", two)], Perturbation()).hash()
    assert found != Masters([("a", one + 1), ("b", two)], Perturbation()).hash()


def test_completions_are_deterministic_and_mixed() -> None:
    """The ready-made model gives the same completion for the same seed; most, not all, parse."""
    requests = [Request("p", seed=seed, prefill="    score =") for seed in range(100)]
    texts = [[reply.text for _, reply in scripted_tsp().generate(requests, [None] * 100)] for _ in range(2)]
    assert texts[0] == texts[1]
    parsed = 0
    for text in texts[0]:
        try:
            ast.parse(text.strip())
        except SyntaxError:
            continue
        parsed += 1
    assert 60 < parsed < 100
    assert len(set(texts[0])) > 50


def test_no_engine_is_imported() -> None:
    """--model scripted loads neither torch nor vLLM."""
    code = (
        "import sys; from ahd.models.load import load_model; from ahd.config import RunConfig\n"
        "load_model(RunConfig('tsp', model='scripted'))\n"
        "print([name for name in ('torch', 'vllm', 'transformers') if name in sys.modules])"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"
    assert load_model(RunConfig("tsp", model="scripted")).name == "scripted"
