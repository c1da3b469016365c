"""The live model: what the issue promises about perturbing, restoring, updating and generating."""

import json
import subprocess
import sys
import time
from typing import Any

import pytest

from ahd.config import ConfigError
from operators.model import Direction, Reply, Request

pytestmark = [pytest.mark.live, pytest.mark.slow]

PROMPT = "Write one line of Python that scores the next city of a tour. " * 12
"""Longer than one block of the prefix cache (128 tokens)."""


def ask(seed: int = 1, tokens: int = 12, **kwargs: Any) -> Request:
    return Request(PROMPT, seed=seed, prefill="score =", max_tokens=tokens, **kwargs)


def generate(model: Any, requests: list[Request], directions: list[Direction | None]) -> list[Reply]:
    replies = dict(model.generate(requests, directions))
    return [replies[index] for index in range(len(requests))]


def next_token(model: Any, fresh: bool = True) -> dict[int, float]:
    """Log-probabilities of the twenty likeliest next tokens under the weights as they are now."""
    from vllm import SamplingParams

    if fresh:
        assert model._engine.reset_prefix_cache()
    request_id = f"probe-{time.monotonic_ns()}"
    params = SamplingParams(temperature=0, max_tokens=1, logprobs=20)
    model._engine.add_request(request_id, {"prompt_token_ids": model._tokens(ask())}, params)
    outputs: list[Any] = []
    while model._engine.has_unfinished_requests():
        outputs += model._engine.step()
    return {token: entry.logprob for token, entry in outputs[-1].outputs[0].logprobs[0].items()}


def test_engine_computes_with_the_loaded_weights(live: Any) -> None:
    """Every live copy, packed ones included, is the rounded master, and nothing is left out."""
    assert live.stale_weights() == []
    assert live.parameters == 134_515_008


def test_twenty_perturbations_leave_no_trace(live: Any) -> None:
    """Perturb and restore 20 times: the hash of the masters and the hash of what the engine computes with
    are what they were."""
    before = live.weights_hash(), live.live_hash()
    request = [ask(tokens=1)]
    changed = set()
    for seed in range(20):
        live._move_to(Direction(seed, 1e-3))
        if seed % 10 == 0:
            changed.add(live.live_hash())
        live._move_to(None)
    generate(live, request, [Direction(99, 1e-3)])
    assert (live.weights_hash(), live.live_hash()) == before
    assert len(changed) == 2
    assert before[1] not in changed


def test_perturbation_reaches_every_weight(live: Any) -> None:
    """Under a perturbation, every live copy is round(master + sigma * noise), fused and packed ones and
    the tied output layer's own copy included."""
    live._rpc("es_apply", 5, 0.02)
    assert live._rpc("es_stale", 5, 0.02) == []
    stale = set(live.stale_weights())
    live._rpc("es_restore")
    assert stale >= set(live._rpc("es_names"))
    assert any("@" in name for name in stale)
    assert live.stale_weights() == []


@pytest.mark.parametrize(
    "layer",
    [
        "embed_tokens",
        "q_proj",
        "k_proj",
        "v_proj",
        "o_proj",
        "gate_proj",
        "up_proj",
        "down_proj",
        "input_layernorm",
        "post_attention_layernorm",
        "model.norm",
    ],
)
def test_every_layer_type_changes_the_logits(live: Any, layer: str) -> None:
    """A perturbation of one kind of layer alone changes the next token's log-probabilities, and its
    restoration brings back exactly the old ones."""
    before = next_token(live)
    live._rpc("es_apply", 3, 0.02, layer)
    during = next_token(live)
    live._rpc("es_restore")
    assert during != before
    assert next_token(live) == before


def test_output_layer_alone_changes_the_logits(live: Any) -> None:
    """The tied output layer has a packed copy of its own: with the embedding put back by hand, the
    perturbed copy alone changes the logits."""
    before = next_token(live)
    model = live._engine.model_executor.driver_worker.worker.model_runner.get_model()
    embedding = model.model.embed_tokens.weight.data
    kept = embedding.clone()
    live._rpc("es_apply", 3, 0.02, "embed_tokens")
    embedding.copy_(kept)
    during = next_token(live)
    live._rpc("es_restore")
    assert during != before
    assert next_token(live) == before


def test_prefix_cache_is_emptied_when_weights_change(live: Any) -> None:
    """Without a reset the engine answers with stale keys and values of the old weights (the trap);
    ``generate`` answers as an engine that never saw the prompt."""
    next_token(live)
    live._rpc("es_apply", 3, 0.02)
    stale = next_token(live, fresh=False)
    fresh = next_token(live)
    live._move_to(Direction(3, 0.02))
    moved = next_token(live, fresh=False)
    live._move_to(None)
    assert stale != fresh
    assert moved == fresh


def test_mixed_directions_equal_one_by_one(live: Any) -> None:
    """Each reply of a mixed list is what its direction gives alone; frozen requests are one batch."""
    a, b = Direction(1, 0.02), Direction(2, 0.02)
    requests = [ask(seed) for seed in range(5)]
    mixed = generate(live, requests, [None, a, b, None, Direction(3, 0.02)])
    frozen = generate(live, [requests[0], requests[3]], [None, None])
    alone = [generate(live, [requests[i]], [d])[0] for i, d in ((1, a), (2, b), (4, Direction(3, 0.02)))]
    texts = [reply.text for reply in mixed]
    assert [texts[0], texts[3]] == [reply.text for reply in frozen]
    assert [texts[1], texts[2], texts[4]] == [reply.text for reply in alone]


def test_seconds_add_up_to_the_wall_time(live: Any) -> None:
    """Generation and perturbation seconds of the replies cover the time spent, the caller's own left out."""
    started, paused = time.perf_counter(), 0.0
    total = 0.0
    for _, reply in live.generate(
        [ask(seed, tokens=20) for seed in range(4)], [None, None, Direction(1, 1e-3), None]
    ):
        total += reply.seconds + reply.perturb_seconds
        time.sleep(0.2)
        paused += 0.2
    wall = time.perf_counter() - started - paused
    assert total == pytest.approx(wall, rel=0.1, abs=0.1)


def test_closing_the_iterator_restores_the_weights(live: Any) -> None:
    """A caller that stops early leaves no running request and no perturbation behind."""
    before = live.live_hash()
    replies = live.generate([ask(1, tokens=1), ask(2, tokens=500)], [Direction(1, 0.02)] * 2)
    next(replies)
    assert live.live_hash() != before
    replies.close()
    assert not live._engine.has_unfinished_requests()
    assert live.live_hash() == before


def test_replies_obey_the_request(live: Any) -> None:
    """The same seed gives the same reply, another seed another; stop strings end it and are left out;
    the given start is not repeated; token counts and limits are right."""
    first, again, other = (generate(live, [ask(seed, tokens=30)], [None])[0] for seed in (1, 1, 2))
    assert first.text == again.text != other.text
    assert first.completion_tokens <= 30
    assert first.prompt_tokens == len(live._tokens(ask()))
    assert not first.text.lstrip().startswith("score =")
    letter = next(c for c in first.text.strip() if c.isalpha())
    stopped = generate(live, [ask(1, tokens=30, stop=(letter,))], [None])[0]
    assert stopped.text == first.text.partition(letter)[0]
    with pytest.raises(ConfigError, match="leaves no room"):
        generate(live, [Request("word " * 2000, seed=1)], [None])


def test_update_can_be_replayed_from_its_log(live: Any) -> None:
    """Base files and the list of updates give the engine's hash, without an engine; the live weights
    follow the masters; zero weights change nothing. (The shared engine's weights move a little here.)"""
    import torch

    from ahd.models.embedded import folder
    from ahd.models.weights import Masters

    masters = Masters.load(folder(), torch.bfloat16)
    assert masters.hash() == live.weights_hash()
    before = live.live_hash()
    log = [([1, 2, 3], [1.0, -0.5, 0.25], 5e-4), ([4, 5], [0.0, 2.0], 5e-4), ([6], [0.0], 5e-4)]
    for seeds, weights, alpha in log:
        report = live.update(seeds, weights, alpha)
        norm, _ = masters.update(seeds, weights, alpha)
        assert report.weights_hash == masters.hash() == live.weights_hash()
        assert report.norm == pytest.approx(norm)
        assert (report.norm > 0) == (0 < report.moved < 0.9)
        assert live.stale_weights() == []
    assert report.norm == report.moved == 0
    assert live.live_hash() != before


FP32 = """
import json, sys
from ahd.models import runtime
runtime.set_environment()
from ahd.models.live import LiveModel
from operators.model import Direction, Request
model = LiveModel(dtype="float32", max_length=512)
prompt = "Name three large cities and say which one you like best."
request = Request(prompt, seed=0, temperature=0.0, max_tokens=16)
texts = [dict(model.generate([request], [d]))[0].text for d in (None, Direction(8, 0.004))]
tokens = model._tokens(request)
model._rpc("es_apply", 8, 0.004)
from vllm import SamplingParams
model._engine.reset_prefix_cache()
params = SamplingParams(temperature=0, max_tokens=16, logprobs=5)
model._engine.add_request("x", {"prompt_token_ids": tokens}, params)
while model._engine.has_unfinished_requests():
    outputs = model._engine.step()
final = outputs[-1].outputs[0]
steps = [{token: entry.logprob for token, entry in step.items()} for step in final.logprobs]
print(json.dumps({"texts": texts, "tokens": tokens, "greedy": list(final.token_ids), "steps": steps}))
model.close()
"""


def test_perturbed_model_equals_transformers_with_the_same_noise() -> None:
    """In float32, the perturbed engine writes the same greedy tokens as transformers with the same noise
    added to the tensors of the file, and its log-probabilities differ by less than 2e-3."""
    import torch
    from transformers import AutoModelForCausalLM

    from ahd.es.noise import noise
    from ahd.models.embedded import ensure

    path = ensure()
    run = subprocess.run([sys.executable, "-c", FP32], capture_output=True, text=True, check=True)
    engine = json.loads(run.stdout)
    assert engine["texts"][0] != engine["texts"][1]

    model = AutoModelForCausalLM.from_pretrained(path, dtype=torch.float32, local_files_only=True)
    with torch.no_grad():
        for name, tensor in model.named_parameters():
            step = torch.from_numpy(noise(8, name, 0, tensor.numel())).view_as(tensor)
            tensor.add_(step, alpha=0.004)
        sequence = engine["tokens"] + engine["greedy"]
        logits = model(torch.tensor([sequence])).logits[0].float().log_softmax(-1)
    for step, chosen in enumerate(engine["greedy"]):
        expected = logits[len(engine["tokens"]) - 1 + step]
        assert int(expected.argmax()) == chosen
        for token, logprob in engine["steps"][step].items():
            assert logprob == pytest.approx(float(expected[int(token)]), abs=2e-3)


def test_a_model_that_cannot_be_loaded_is_one_line(tmp_path: Any, capfd: pytest.CaptureFixture[str]) -> None:
    """A broken model folder gives one line that says where the details are; nothing else is printed."""
    from ahd.models.live import LiveModel

    (tmp_path / "config.json").write_text('{"model_type": "llama", "architectures": ["Nothing"]}')
    with pytest.raises(ConfigError, match=r"cannot load it here: .*\(log: .*\)") as caught:
        LiveModel(str(tmp_path))
    assert "\n" not in str(caught.value)
    assert capfd.readouterr() == ("", "")
