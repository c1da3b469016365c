"""The live model: what the issue promises about perturbing, restoring, updating and generating."""

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from ahd.config import ConfigError, Kind
from ahd.es.perturbation import Perturbation
from ahd.models.tags import tagged
from operators.grammar import reply_grammar
from operators.model import Direction, Reply, Request, UpdateRefused
from operators.skeleton import STOP
from problems.tsp import problem as tsp
from tests.conftest import LAYERS

pytestmark = [pytest.mark.live, pytest.mark.slow]

PROMPT = "Write one line of Python that scores the next city of a tour. " * 12
"""Longer than one block of the prefix cache (128 tokens)."""


def ask(seed: int = 1, tokens: int = 12, **kwargs: Any) -> Request:
    return Request(PROMPT, seed=seed, prefill="score =", max_tokens=tokens, **kwargs)


def generate(model: Any, requests: list[Request], directions: list[Direction | None]) -> list[Reply]:
    replies = dict(model.generate(requests, directions))
    return [replies[index] for index in range(len(requests))]


def next_token(model: Any, direction: Direction | None = None) -> dict[int, float]:
    """Log-probabilities of the twenty likeliest next tokens under a direction, or the weights as they are."""
    from vllm import SamplingParams

    slots = model._weights.move_to([direction]) if direction else {}
    assert model._engine.reset_prefix_cache()
    request_id = tagged(f"probe-{time.monotonic_ns()}", slots.get(direction, 0))
    params = SamplingParams(temperature=0, max_tokens=1, logprobs=20)
    model._engine.add_request(request_id, {"prompt_token_ids": model._tokens(ask())}, params)
    outputs: list[Any] = []
    while model._engine.has_unfinished_requests():
        outputs += model._engine.step()
    model._weights.move_to([])
    return {token: entry.logprob for token, entry in outputs[-1].outputs[0].logprobs[0].items()}


def test_engine_computes_with_the_loaded_weights(live: Any) -> None:
    """Every live copy, packed ones included, is the rounded master, and nothing is left out."""
    assert live.stale_weights() == []
    assert live.parameters == 49152 * 576 + LAYERS * 3_540_096 + 576


@pytest.mark.parametrize("scope", ["all", "norms"])
def test_twenty_perturbations_leave_no_trace(live: Any, scope: str) -> None:
    """Perturb and restore 20 times: the hash of the masters and the hash of what the engine computes with
    are what they were. A direction that rides in the activations never touches the weights at all."""
    live.use(Perturbation(scope=scope))
    before = live.weights_hash(), live.live_hash()
    changed = set()
    for seed in range(20):
        live._weights.move_to([Direction(seed, 1e-3)])
        if seed % 10 == 0:
            changed.add(live.live_hash())
        live._weights.move_to([])
    generate(live, [ask(tokens=1)], [Direction(99, 1e-3)])
    live.use(Perturbation())
    assert (live.weights_hash(), live.live_hash()) == before
    assert changed == {before[1]} if scope == "norms" else len(changed) == 2 and before[1] not in changed


def test_perturbation_reaches_every_weight(live: Any) -> None:
    """Under a perturbation, every live copy is round(master + sigma * noise), fused and packed ones and
    the tied output layer's own copy included; without one, it is the rounded master."""
    before = dict.fromkeys(live._rpc("es_names"))
    live._rpc("es_apply", 5, 0.02)
    assert live.stale_weights() == []
    copies = live._rpc("es_copies")
    live._rpc("es_restore")
    assert live.stale_weights() == []
    restored = live._rpc("es_copies")
    assert {name for name in copies if copies[name] != restored[name]} == set(copies)
    assert set(before) <= set(copies)


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
    """A perturbation of one kind of layer alone, by a regular expression, changes the next token's
    log-probabilities, and its restoration brings back exactly the old ones."""
    live.use(Perturbation(Kind.FULL, layer))
    before = next_token(live)
    during = next_token(live, Direction(3, 0.05))
    assert during != before
    assert next_token(live) == before
    live.use(Perturbation())


def test_output_layer_alone_changes_the_logits(live: Any) -> None:
    """The tied output layer has a packed copy of its own: with the embedding put back by hand, the
    perturbed copy alone changes the logits."""
    model = live._engine.model_executor.driver_worker.worker.model_runner.get_model()
    if not [name for name in live._rpc("es_copies") if "@" in name]:
        pytest.skip("the output layer shares the embedding's memory here")
    live.use(Perturbation(Kind.FULL, "embed_tokens"))
    before = next_token(live)
    embedding = model.model.embed_tokens.weight.data
    kept = embedding.clone()
    live._rpc("es_apply", 3, 0.02)
    embedding.copy_(kept)
    during = next_token(live)
    live._rpc("es_restore")
    assert during != before
    assert next_token(live) == before
    live.use(Perturbation())


def test_a_part_of_a_fused_layer_moves_alone(live: Any) -> None:
    """Scope by regular expression: of the three matrices in one fused layer only the named one moves, by a
    direction and by an update, and the others keep their bits."""
    before = live._rpc("es_copies")
    name = "model.layers.1.self_attn.k_proj.weight"
    live.use(Perturbation(Kind.FULL, r"layers\.1\.self_attn\.k_proj"))
    live._rpc("es_apply", 3, 0.02)
    during = live._rpc("es_copies")
    live._rpc("es_restore")
    live.update([1, 2], [1.0, -1.0], 0.01)
    after = live._rpc("es_copies")
    assert {each for each in before if during[each] != before[each]} == {name}
    assert {each for each in before if after[each] != before[each]} == {name}
    live.use(Perturbation())
    assert live._rpc("es_copies") == before


@pytest.mark.parametrize("perturbation", [Perturbation(), Perturbation(scope="norms")])
def test_prefix_cache_never_serves_other_weights(live: Any, perturbation: Perturbation) -> None:
    """A prompt answered before, under other weights, is answered as by an engine that never saw it: under
    another direction, under none, and after an update."""
    live.use(perturbation)
    request, direction = [ask(temperature=0.0, tokens=16)], [Direction(3, 0.02)]

    def answers() -> list[str]:
        texts = [generate(live, request, chosen)[0].text for chosen in ([None], direction, [None])]
        live.update([7], [1.0], 0.01)
        texts.append(generate(live, request, [None])[0].text)
        live.reset()
        return texts

    cached = answers()
    assert live._engine.reset_prefix_cache()
    fresh = []
    original = live._submit

    def submit(*args: Any) -> str:
        live._engine.reset_prefix_cache()
        return str(original(*args))

    live._submit = submit
    fresh = answers()
    del live._submit
    assert cached == fresh
    assert cached[0] == cached[2]
    live.use(Perturbation())


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


@pytest.mark.parametrize(
    "perturbation",
    [
        Perturbation(),
        Perturbation(scope="norms"),
        Perturbation(Kind.LOWRANK, "all", 2),
    ],
    ids=str,
)
def test_update_can_be_replayed_from_its_log(live: Any, shallow: Path, perturbation: Perturbation) -> None:
    """Base files and the list of updates give the engine's hash, without an engine; the live weights
    follow the masters; zero weights change nothing; a reset brings back the base."""
    import torch

    from ahd.models.weights import Masters

    live.use(perturbation)
    base = live.weights_hash(), live.live_hash()
    masters = Masters.load(shallow, getattr(torch, live.dtype), perturbation)
    assert masters.hash() == base[0]
    log = [([1, 2, 3], [1.0, -0.5, 0.25], 5e-3), ([4, 5, 4], [0.0, 2.0, 1.0], 5e-3), ([6], [0.0], 5e-3)]
    for seeds, weights, alpha in log:
        report = live.update(seeds, weights, alpha)
        norm, _ = masters.update(seeds, weights, alpha)
        assert report.weights_hash == masters.hash() == live.weights_hash() == live._rpc("es_hash")
        assert report.norm == pytest.approx(norm)
        assert (report.norm > 0) == (report.moved > 0)
        assert live.stale_weights() == []
    assert report.norm == report.moved == 0
    assert live.live_hash() != base[1]
    live.reset()
    assert (live.weights_hash(), live.live_hash()) == base
    live.use(Perturbation())


def test_an_update_out_of_range_is_refused(live: Any) -> None:
    """An update that could make a weight infinite is refused before anything moves."""
    before = live.weights_hash(), live.live_hash()
    with pytest.raises(UpdateRefused, match="smaller --alpha"):
        live.update([1], [1e38], 10.0)
    assert (live.weights_hash(), live.live_hash()) == before
    generate(live, [ask(tokens=1)], [None])


PROBE = """
import json, sys
from dataclasses import replace
from ahd.models import runtime
runtime.set_environment()
from ahd.config import Kind
from ahd.es.perturbation import Perturbation
from ahd.models.live import LiveModel
from ahd.models.tags import tagged
from operators.model import Direction, Request
from vllm import SamplingParams

model = LiveModel(sys.argv[2], dtype="float32", max_length=512)
prompts = ["Name three large cities and say which one you like best.", "Count to ten.", "What is rain?"]
requests = [Request(prompt, seed=0, temperature=0.0, max_tokens=12) for prompt in prompts]

def logprobs(direction):
    slots = model._weights.move_to([direction])
    model._engine.reset_prefix_cache()
    params = SamplingParams(temperature=0, max_tokens=12, logprobs=5)
    tokens = model._tokens(requests[0])
    model._engine.add_request(tagged("x", slots.get(direction, 0)), {"prompt_token_ids": tokens}, params)
    while model._engine.has_unfinished_requests():
        outputs = model._engine.step()
    model._weights.move_to([])
    final = outputs[-1].outputs[0]
    steps = [{token: entry.logprob for token, entry in step.items()} for step in final.logprobs]
    return {"tokens": tokens, "greedy": list(final.token_ids), "steps": steps}

answers = {}
for kind, scope, rank, sigma in json.loads(sys.argv[1]):
    model.use(Perturbation(Kind(kind), scope, rank))
    directions = [Direction(8, sigma), None, Direction(9, -sigma), Direction(8, sigma), Direction(10, sigma)]
    asked = [requests[i] for i in (0, 0, 1, 2, 0)]
    together = dict(model.generate(asked, directions))
    alone = [dict(model.generate([r], [d]))[0].text for r, d in zip(asked, directions)]
    answers[f"{kind} {scope} {rank}"] = {
        "together": [together[i].text for i in range(5)], "alone": alone, **logprobs(Direction(8, sigma)),
    }
    sampling = {"grammar": sys.argv[3], "temperature": 0.9, "max_tokens": 24}
    held = [replace(request, seed=seed, **sampling) for seed, request in enumerate(asked)]
    together = dict(model.generate(held, directions))
    answers[f"{kind} {scope} {rank}"] |= {
        "held together": [together[i].text for i in range(5)],
        "held alone": [dict(model.generate([r], [d]))[0].text for r, d in zip(held, directions)],
    }
print(json.dumps(answers))
model.close()
"""

CASES = [
    ("full", "all", 1, 0.01),
    ("full", "norms", 1, 0.05),
    ("lowrank", "linear", 1, 0.01),
    ("lowrank", "all", 3, 0.01),
]


@pytest.fixture(scope="module")
def probe(shallow: Path) -> Any:
    """What a float32 engine answers under directions of every kind."""
    run = subprocess.run(
        [sys.executable, "-c", PROBE, json.dumps(CASES), str(shallow), reply_grammar(tsp.skeleton, STOP, 24)],
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(run.stdout)


@pytest.mark.parametrize("case", CASES, ids=lambda case: " ".join(map(str, case)))
def test_together_equals_one_by_one(probe: Any, case: tuple[str, str, int, float]) -> None:
    """Greedy replies of different directions and of none, in one call, are word for word those of each
    request alone (float32)."""
    answers = probe["{} {} {}".format(*case)]
    assert answers["together"] == answers["alone"]
    assert len(set(answers["together"])) >= 4


@pytest.mark.parametrize("case", CASES, ids=lambda case: " ".join(map(str, case)))
def test_together_equals_one_by_one_under_a_grammar(probe: Any, case: tuple[str, str, int, float]) -> None:
    """Sampled and held to a grammar, each with the seed of its own, the same (float32)."""
    answers = probe["{} {} {}".format(*case)]
    assert answers["held together"] == answers["held alone"]
    assert len(set(answers["held together"])) >= 4


@pytest.mark.parametrize("case", CASES, ids=lambda case: " ".join(map(str, case)))
def test_perturbed_model_equals_transformers_with_the_same_step(
    probe: Any, shallow: Path, case: tuple[str, str, int, float]
) -> None:
    """In float32, the perturbed engine writes the same greedy tokens as transformers with the same step
    merged into the tensors of the file, and its log-probabilities differ by less than 1e-3."""
    import torch
    from transformers import AutoModelForCausalLM

    from ahd.es.factors import COLUMNS, ROWS, factor
    from ahd.es.noise import noise

    kind, scope, rank, sigma = case
    answers = probe[f"{kind} {scope} {rank}"]
    model = AutoModelForCausalLM.from_pretrained(shallow, dtype=torch.float32, local_files_only=True)
    with torch.no_grad():
        for name, tensor in model.named_parameters():
            gain = name.endswith("norm.weight") or "layernorm" in name
            if scope == "norms" or (kind == "lowrank" and gain):
                if gain and scope != "linear":
                    tensor.mul_(1 + sigma * torch.from_numpy(noise(8, name, 0, tensor.numel())))
            elif kind == "lowrank":
                if scope == "all" or "embed" not in name:
                    a = factor(8, name, ROWS, 0, tensor.shape[0], rank)
                    b = factor(8, name, COLUMNS, 0, tensor.shape[1], rank)
                    tensor.add_(torch.from_numpy(a @ b.T), alpha=sigma / rank**0.5)
            else:
                tensor.add_(torch.from_numpy(noise(8, name, 0, tensor.numel())).view_as(tensor), alpha=sigma)
        sequence = answers["tokens"] + answers["greedy"]
        logits = model(torch.tensor([sequence])).logits[0].float().log_softmax(-1)
    for step, chosen in enumerate(answers["greedy"]):
        expected = logits[len(answers["tokens"]) - 1 + step]
        assert int(expected.argmax()) == chosen
        for token, logprob in answers["steps"][step].items():
            assert logprob == pytest.approx(float(expected[int(token)]), abs=1e-3)


def test_a_model_that_cannot_be_loaded_is_one_line(tmp_path: Any, capfd: pytest.CaptureFixture[str]) -> None:
    """A broken model folder gives one line that says where the details are; nothing else is printed."""
    from ahd.models.live import LiveModel

    (tmp_path / "config.json").write_text('{"model_type": "llama", "architectures": ["Nothing"]}')
    with pytest.raises(ConfigError, match=r"cannot load it here: .*\(log: .*\)") as caught:
        LiveModel(str(tmp_path))
    assert "\n" not in str(caught.value)
    assert capfd.readouterr() == ("", "")
