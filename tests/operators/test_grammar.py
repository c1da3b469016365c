"""Whatever the grammar lets through fills the skeleton as it is, and nothing that is needed is kept out."""

import random
from dataclasses import replace
from functools import cache
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from operators.grammar import LONGEST, NoGrammar, reply_grammar
from operators.hole import hole_of
from operators.parsing import completion_in, parse_reply
from operators.skeleton import STOP
from problems.problem import Problem, Skeleton
from problems.registry import load, packaged

llguidance = pytest.importorskip("llguidance")

BYTES = 256
LEADS = ("", "near *", "2 -", "(near + home)", "0.5", "-near", "not", "near if rest.min() > 0 else home")


@cache
def _tokenizer() -> Any:
    """One token per byte."""
    return llguidance.LLTokenizer("byte")


@cache
def _first(skeleton: Skeleton, longest: int) -> Any:
    grammar = llguidance.LLMatcher.grammar_from_lark(reply_grammar(skeleton, STOP, longest))
    matcher = llguidance.LLMatcher(_tokenizer(), grammar)
    assert not matcher.is_error(), matcher.get_error()
    return matcher


def _matcher(skeleton: Skeleton, longest: int = LONGEST) -> Any:
    return _first(skeleton, longest).deep_copy()


def accepts(skeleton: Skeleton, reply: str) -> bool:
    """Whether the grammar lets a reply through, and lets it end there."""
    matcher = _matcher(skeleton)
    text = reply.encode()
    return bool(matcher.try_consume_tokens(list(text)) == len(text) and matcher.is_accepting())


def written(skeleton: Skeleton, seed: int, longest: int = LONGEST) -> str:
    """What comes out when every byte is drawn from those that are allowed, up to a stop string or, where the
    reply may end, with some chance there."""
    import numpy as np
    from llguidance.numpy import allocate_token_bitmask, fill_next_token_bitmask

    rng = random.Random(seed)
    ending = rng.choice([0.0, 0.02, 0.3])
    matcher = _matcher(skeleton, longest)
    mask = allocate_token_bitmask(1, _tokenizer().vocab_size)
    reply = ""
    while not any(stop in reply for stop in STOP):
        fill_next_token_bitmask(matcher, mask, 0)
        assert not matcher.is_error(), matcher.get_error()
        allowed = np.flatnonzero(np.unpackbits(mask.view(np.uint8), bitorder="little"))
        going_on = [token for token in allowed.tolist() if token < BYTES and token != ord("\n")]
        ends = [token for token in allowed.tolist() if token == ord("\n")]
        can_end = bool(ends) or matcher.is_accepting()
        assert going_on or can_end
        if not going_on or (can_end and rng.random() < ending):
            break
        token = rng.choice(going_on)
        assert matcher.consume_token(token)
        reply += chr(token)
    assert len(reply) <= longest
    return min((reply.partition(stop)[0] for stop in STOP), key=len)


def fills(problem: Problem, reply: str) -> bool:
    """Whether the parser takes a reply whole, lead included."""
    text = problem.skeleton.lead + reply
    return parse_reply(text, problem, "skeleton").completion == text.strip()


@pytest.mark.parametrize("name", packaged())
@given(seed=st.integers(0, 2**32))
@settings(deadline=None, max_examples=25)
def test_every_reply_fills_the_skeleton(name: str, seed: int) -> None:
    """At random, the grammar writes nothing but completions that parse as they are, to the last character."""
    problem = load(name)
    assert fills(problem, written(problem.skeleton, seed))


@pytest.mark.parametrize("lead", LEADS)
@given(seed=st.integers(0, 2**32))
@settings(deadline=None, max_examples=25)
def test_every_reply_goes_on_after_any_lead(lead: str, seed: int) -> None:
    """The same after a lead that is a whole expression of any kind, the beginning of one, or nothing."""
    problem = load("tsp")
    problem = replace(problem, skeleton=replace(problem.skeleton, lead=lead))
    assert fills(problem, written(problem.skeleton, seed))


@given(seed=st.integers(0, 2**32), longest=st.integers(2, 24))
@settings(deadline=None, max_examples=40)
def test_short_replies_are_closed_in_time(seed: int, longest: int) -> None:
    """However little room there is, the reply is whole when it is used up."""
    problem = load("tsp")
    assert fills(problem, written(problem.skeleton, seed, longest))


@pytest.mark.parametrize("name", packaged())
def test_known_heuristics_are_let_through(name: str) -> None:
    """Every packaged heuristic that fills the skeleton can be written: whole without the lead, and what is
    left of it after the lead."""
    problem = load(name)
    known = [completion_in(code, problem) for code in problem.heuristics.values()]
    bare = replace(problem.skeleton, lead="")
    assert [text for text in known if text and not accepts(bare, f" {text}\n")] == []
    lead = problem.skeleton.lead
    rests = [text.removeprefix(lead) for text in known if text.startswith(lead)]
    assert [rest for rest in rests if not accepts(problem.skeleton, f"{rest}\n")] == []


@pytest.mark.parametrize(
    "reply",
    [
        "",
        "\n",
        "\n    return score",
        " - 0.5 * rest  (objective 6.47196)",
        " - 0.3 * home  # nearer",
        "**2 - home/rest",
        " + 1e-4 - -0.25 * (home - rest) ** 2 // 3 % 2",
        " * np.exp(-home / near.mean()) + np.where(near < 0.2, home, np.clip(rest, 0, 1))",
        " - np.sqrt(np.maximum(near - (home + 2 * (rest - 0.1)), 0))",
        " / distance_matrix[destination_node, unvisited_nodes]",
        " + max(home) * (near > 0.1) * (rest <= near)",
        " < home",
    ],
)
def test_what_a_search_needs_is_let_through(reply: str) -> None:
    """Arithmetic, functions, comparisons, methods, the skeleton's own subscripts, and every way to end."""
    assert accepts(load("tsp").skeleton, reply)


@pytest.mark.parametrize(
    "reply",
    [
        "est",
        "_01",
        " - score",
        " - unknown",
        " - homes",
        " - current_node",
        " - np.unknown(home)",
        " - np.random.rand(3)",
        " - (home",
        " -",
        " - 0.5 rest",
        " - 007",
        " - 0.5home",
        " < home < rest",
        "[0]",
        ", home",
        "; import os",
        " - home.__class__",
        " - np.maximum(home)",
        " - np.sqrt(home, rest)",
        " if home else rest",
        " + home  ",
        "\\\n",
    ],
)
def test_what_cannot_run_is_kept_out(reply: str) -> None:
    """Names that are not there, brackets that stay open, calls with too few arguments, chained comparisons of
    arrays, and anything that is no expression."""
    assert not accepts(load("tsp").skeleton, reply)


def test_numbers_have_functions_of_their_own() -> None:
    """Without NumPy: math, and Python's min and max of two."""
    skeleton = load("admissible-set").skeleton
    assert accepts(skeleton, " + math.sqrt(full) - max(falls, ones)")
    assert not accepts(skeleton, " + np.sqrt(full)")
    assert not accepts(skeleton, " + full.mean()")


def test_functions_of_the_skeleton_can_be_called() -> None:
    """With as many arguments as they need."""
    skeleton = Skeleton(
        "def twice(x):\n    return 2 * x\n\ndef f(a, b):\n    score =", "\n    return score\n", "", "a"
    )
    assert accepts(skeleton, " + twice(b)")
    assert not accepts(skeleton, " + twice(a, b)")


def test_a_skeleton_without_names_has_numbers() -> None:
    """A hole that sees nothing can still be filled."""
    skeleton = Skeleton("def f():\n    score =", "\n    return score\n", "")
    assert accepts(skeleton, " -0.5 * (1 + 2)")


@pytest.mark.parametrize("lead", ["np.maximum(near,", "(near + home", "near["])
def test_a_lead_with_an_open_bracket_is_refused_in_one_line(lead: str) -> None:
    """Its closing is not described: the message names the lead and the mend."""
    skeleton = replace(load("tsp").skeleton, lead=lead)
    with pytest.raises(NoGrammar, match="without open brackets") as caught:
        reply_grammar(skeleton, STOP)
    assert "\n" not in str(caught.value)


def test_it_is_made_once() -> None:
    """A problem's grammar is the same object every time."""
    skeleton = load("tsp").skeleton
    assert reply_grammar(skeleton, STOP) is reply_grammar(skeleton, STOP)
    assert hole_of(skeleton) == hole_of(skeleton)
