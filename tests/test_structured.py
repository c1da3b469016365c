"""A run that is held to a grammar: what it asks, and what it is refused for."""

from dataclasses import replace

import pytest

from ahd.config import ConfigError, RunConfig, Style
from ahd.population import Population
from ahd.schedule import Batch
from ahd.structured import check_style, grammar_of
from ahd.tasks import plan_batch, request_of
from operators.grammar import LONGEST, reply_grammar
from operators.model import Request
from operators.skeleton import MAX_TOKENS, STOP
from problems.tsp import problem


def asked(config: RunConfig) -> Request:
    (task,) = plan_batch(
        config, Style.SKELETON, problem, Batch(1, 1, "i1", 1, False), 0.0, Population(config.population)
    )
    return request_of(config, Style.SKELETON, problem, task)


def test_requests_have_the_grammar_and_room_for_it() -> None:
    """As many tokens as the grammar has characters, also where the run says how many; nothing else of a
    request changes."""
    usual, held, short = (
        asked(RunConfig("tsp", **options))  # type: ignore[arg-type]
        for options in ({}, {"structured": True}, {"structured": True, "max_tokens": 20})
    )
    assert (usual.grammar, usual.max_tokens) == ("", MAX_TOKENS)
    assert held == replace(usual, grammar=reply_grammar(problem.skeleton, STOP), max_tokens=LONGEST)
    assert short == replace(usual, grammar=reply_grammar(problem.skeleton, STOP, 20), max_tokens=20)
    assert grammar_of(RunConfig("tsp", structured=True, max_tokens=20), problem) == short.grammar


def test_whole_functions_have_no_grammar() -> None:
    """A model that turns out to write them is refused in one line; without a grammar it is not."""
    check_style(RunConfig("tsp"), Style.FREE)
    check_style(RunConfig("tsp", structured=True), Style.SKELETON)
    with pytest.raises(ConfigError, match=r"^--structured: .* or drop --structured$") as caught:
        check_style(RunConfig("tsp", structured=True), Style.FREE)
    assert "\n" not in str(caught.value)


def test_a_skeleton_that_cannot_be_described_is_refused() -> None:
    """In one line that names the option, the problem and its lead."""
    odd = replace(problem, name="odd", skeleton=replace(problem.skeleton, lead="np.maximum(near,"))
    with pytest.raises(ConfigError, match=r"^--structured: problem odd: `skeleton.lead` is .*, or") as caught:
        grammar_of(RunConfig("odd", structured=True), odd)
    assert "\n" not in str(caught.value)
