"""The scripted model keeps the promises of the model protocol."""

import ast
import subprocess
import sys

import numpy as np

from ahd.config import RunConfig
from ahd.es.noise import noise
from ahd.models.load import load_model
from ahd.models.scripted import ScriptedModel, scripted_tsp
from ahd.models.weights import Masters
from operators.model import Direction, Model, Request


def total(request: Request, weights: np.ndarray) -> str:
    return f"{weights.sum():.9f} end of reply"


def test_replies_depend_on_the_perturbed_weights() -> None:
    """A direction moves the weights by sigma times its noise, for its own request only."""
    model = ScriptedModel(total)
    requests = [Request("p", seed=i, stop=(" end",)) for i in range(3)]
    replies = dict(model.generate(requests, [None, Direction(4, 0.5), None]))
    expected = (np.float32(0.5) * noise(4, "script.weight", 0, 64)).sum()
    assert replies[0].text == replies[2].text == "0.000000000"
    assert float(replies[1].text) == np.float32(expected)
    assert not model.weights.any()


def test_update_is_the_formula_and_can_be_replayed() -> None:
    """update moves by alpha / N * sum w_i eps_i; base and log give the same hash."""
    model: Model = ScriptedModel(total)
    log = [([1, 2], [1.0, -1.0], 0.1), ([3], [0.5], 0.2)]
    replay = Masters({"script.weight": np.zeros(64, dtype=np.float32)})
    for seeds, weights, alpha in log:
        report = model.update(seeds, weights, alpha)
        norm, _ = replay.update(seeds, weights, alpha)
        assert report.weights_hash == model.weights_hash() == replay.hash()
        assert report.norm == norm
    first = 0.05 * (noise(1, "script.weight", 0, 64) - noise(2, "script.weight", 0, 64))
    second = 0.1 * noise(3, "script.weight", 0, 64)
    assert np.allclose(replay.arrays["script.weight"], first + second, atol=1e-6)


def test_masters_hash_depends_on_names_and_values_not_on_order() -> None:
    """The hash is over tensors in name order."""
    one, two = np.ones(3, np.float32), np.zeros(2, np.float32)
    assert Masters({"a": one, "b": two}).hash() == Masters({"b": two, "a": one}).hash()
    assert Masters({"a": one, "b": two}).hash() != Masters({"b": one, "a": two}).hash()


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
