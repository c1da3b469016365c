"""The language model as operators and search see it. ``ahd.models`` implements this protocol."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True)
class Request:
    """One reply asked of the model.

    ``prompt`` is the user message; ``prefill`` is text the reply is made to start with (empty for
    free style; it is NOT repeated in the reply's text); generation ends at ``max_tokens`` or at any
    of the ``stop`` strings (which are left out of the text). ``seed`` fixes the sampling. ``grammar``, where
    there is one, describes all that may be written, the stop string with it (``operators.grammar``).
    """

    prompt: str
    seed: int
    prefill: str = ""
    stop: tuple[str, ...] = ()
    max_tokens: int = 768
    temperature: float = 1.0
    top_p: float = 0.98
    grammar: str = ""


@dataclass(frozen=True)
class Direction:
    """A seeded Gaussian direction in weight space and the scale it is added with. A negative scale is
    the mirror image, the other half of an antithetic pair."""

    seed: int
    sigma: float


@dataclass(frozen=True)
class Reply:
    """What the model wrote. ``seconds`` is the generation time that falls to this reply,
    ``perturb_seconds`` the time spent perturbing the weights for it."""

    text: str
    prompt_tokens: int
    completion_tokens: int
    seconds: float
    perturb_seconds: float = 0.0


@dataclass(frozen=True)
class UpdateReport:
    """What an update did: L2 norm of the step over all weights, hash of the weights after it,
    share of the live (rounded) weights that changed, seconds taken."""

    norm: float
    weights_hash: str
    moved: float
    seconds: float


class ModelError(RuntimeError):
    """The model failed and cannot go on. The message says what happened, in one line."""


class UpdateRefused(RuntimeError):
    """The update would take a weight out of the range of its number format. The weights are as before."""


class Model(Protocol):
    """A language model with live weights."""

    @property
    def name(self) -> str: ...

    @property
    def parameters(self) -> int:
        """Number of weights."""
        ...

    def generate(
        self, requests: Sequence[Request], directions: Sequence[Direction | None]
    ) -> Iterator[tuple[int, Reply]]:
        """Yield ``(index, reply)`` as replies finish, in any order.

        Request ``i`` is answered by the weights moved along ``directions[i]`` (``None``: by the live
        weights as they are). When the iterator is exhausted or closed, the live weights are
        bit-identical to what they were before.
        """
        ...

    def update(self, seeds: Sequence[int], weights: Sequence[float], alpha: float) -> UpdateReport:
        """Move the live weights by ``alpha / N * sum_i weights[i] * eps(seeds[i])``, N = len(seeds). A seed
        may occur more than once.

        Raises:
            UpdateRefused: a weight would no longer be finite.
        """
        ...

    def reset(self) -> None:
        """Weights back to those of the base model, bit for bit."""
        ...

    def weights_hash(self) -> str:
        """SHA-256 over the weights in a fixed order."""
        ...

    def close(self) -> None: ...
