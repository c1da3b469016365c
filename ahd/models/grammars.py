"""One automaton for all requests with the same grammar.

vLLM 0.32 checks and reads a grammar anew for every request, and llguidance builds the automaton of each while
tokens are masked: a fifth of what the default model itself takes. Copies of one matcher share what they have
built, and their masks are the same.
"""

from typing import Any

from vllm.v1.structured_output import backend_guidance
from vllm.v1.structured_output.backend_guidance import GuidanceBackend, GuidanceGrammar

_COPIES = 50
"""Copies that share one automaton. It may not have more than 250,000 states, and a reply adds up to 4,000."""

_compile = GuidanceBackend.compile_grammar
_validate = backend_guidance.validate_guidance_grammar
_valid: set[str] = set()


def install() -> None:
    """Put the sharing versions in place. Safe to call twice."""
    GuidanceBackend.compile_grammar = shared
    backend_guidance.validate_guidance_grammar = validate_once


def shared(self: Any, kind: Any, grammar: str, stop_token_ids: set[int] | None = None) -> Any:
    """``GuidanceBackend.compile_grammar``: a copy of the matcher that was compiled last, where that is one of
    the same grammar."""
    key = kind, grammar
    last, copies, matcher = getattr(self, "_last", (None, 0, None))
    if matcher is None or last != key or copies >= _COPIES:
        copies, matcher = 0, _compile(self, kind, grammar, stop_token_ids).ll_matcher
    self._last = key, copies + 1, matcher
    return GuidanceGrammar(matcher.deep_copy(), self.ll_tokenizer, self.vocab_size)


def validate_once(params: Any, tokenizer: Any = None) -> None:
    """``validate_guidance_grammar``, once per grammar."""
    grammar = params.structured_outputs.grammar
    if grammar in _valid:
        return
    _validate(params, tokenizer)
    if grammar is not None:
        _valid.add(grammar)
