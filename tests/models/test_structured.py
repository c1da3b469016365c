"""Replies held to a grammar, by the engine in this process."""

from types import SimpleNamespace
from typing import Any

import pytest

from ahd.config import Kind
from ahd.es.perturbation import Perturbation
from operators.grammar import LONGEST, reply_grammar
from operators.model import Direction, Request
from operators.parsing import parse_reply
from operators.registry import OPERATORS
from operators.skeleton import STOP
from problems.registry import load

pytestmark = [pytest.mark.live, pytest.mark.slow]


def requests(name: str, count: int, temperature: float = 0.9, longest: int = LONGEST) -> list[Request]:
    problem = load(name)
    prompt = OPERATORS["i1"].prompt(problem, [], "skeleton")
    grammar = reply_grammar(problem.skeleton, STOP, longest)
    return [
        Request(prompt.text, seed, prompt.prefill, prompt.stop, longest, temperature, 0.95, grammar)
        for seed in range(count)
    ]


@pytest.mark.parametrize(
    ("name", "perturbation", "sigma"),
    [
        ("tsp", Perturbation(scope="norms"), 1.0),
        ("knapsack", Perturbation(Kind.LOWRANK, "all"), 0.5),
        ("bin-packing-online", Perturbation(), 0.1),
    ],
)
def test_rubbish_still_fills_the_skeleton(
    live: Any, name: str, perturbation: Perturbation, sigma: float
) -> None:
    """Under directions so large that nothing of the model is left, and at a high temperature, every reply is
    a whole completion, ended by itself."""
    problem = load(name)
    asked = requests(name, 8, temperature=2.0)
    live.use(perturbation)
    replies = dict(live.generate(asked, [Direction(seed % 2, sigma) for seed in range(len(asked))]))
    live.use(Perturbation())
    texts = [problem.skeleton.lead + replies[index].text for index in range(len(asked))]
    assert [parse_reply(text, problem, "skeleton").completion for text in texts] == [t.strip() for t in texts]
    assert len(set(texts)) > 1


def test_a_reply_that_is_short_of_room_is_closed(live: Any) -> None:
    """With as many tokens as characters, it is whole at any length."""
    problem = load("tsp")
    for longest in (2, 7, 20):
        replies = dict(live.generate(requests("tsp", 6, 2.0, longest), [None] * 6))
        for reply in replies.values():
            text = problem.skeleton.lead + reply.text
            assert parse_reply(text, problem, "skeleton").completion == text.strip()
            assert reply.completion_tokens <= longest


def test_the_same_seed_gives_the_same_reply(live: Any) -> None:
    """In the same batch, whatever was asked before."""
    asked = requests("tsp", 6)
    first = {index: reply.text for index, reply in live.generate(asked, [None] * 6)}
    list(live.generate(requests("knapsack", 4), [None] * 4))
    assert {index: reply.text for index, reply in live.generate(asked, [None] * 6)} == first
    assert len(set(first.values())) > 1


def test_copies_of_a_matcher_mask_as_new_ones(live: Any) -> None:
    """Sharing an automaton changes no mask, before and after it is begun anew."""
    import numpy as np
    from llguidance.numpy import allocate_token_bitmask, fill_next_token_bitmask
    from vllm.v1.structured_output.backend_types import StructuredOutputOptions

    from ahd.models import grammars

    manager = live._engine.engine_core.engine_core.structured_output_manager
    list(live.generate(requests("tsp", 1), [None]))
    tokenizer, size = manager.backend.ll_tokenizer, manager.backend.vocab_size
    backend = SimpleNamespace(
        ll_tokenizer=tokenizer,
        vocab_size=size,
        disable_any_whitespace=False,
        disable_additional_properties=False,
    )
    kind = StructuredOutputOptions.GRAMMAR
    text = reply_grammar(load("tsp").skeleton, STOP)
    rng = np.random.default_rng(1)
    masks = [allocate_token_bitmask(1, tokenizer.vocab_size) for _ in range(2)]
    for _ in range(grammars._COPIES + 5):
        new = grammars._compile(backend, kind, text).ll_matcher
        copy = grammars.shared(backend, kind, text).ll_matcher
        for _ in range(6):
            for matcher, mask in zip((new, copy), masks, strict=True):
                fill_next_token_bitmask(matcher, mask, 0)
            assert (masks[0] == masks[1]).all()
            allowed = np.flatnonzero(np.unpackbits(masks[0].view(np.uint8), bitorder="little"))
            token = int(rng.choice(allowed))
            if token in tokenizer.eos_tokens:
                break
            assert new.consume_token(token) == copy.consume_token(token)
