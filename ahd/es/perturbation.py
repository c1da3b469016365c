"""What a direction is in weight space: which weights it touches, and how.

Three treatments of one tensor, each a pure function of (seed, name of the tensor, index):

- ``ADDITIVE``: ``W + s * eps``, eps standard normal in every element (arXiv 2608.17310).
- ``LOW_RANK``: ``W + s * A B^T / sqrt(r)`` for a matrix, with A (rows, r) and B (columns, r) standard normal,
  so that every element of the step has the variance of the full noise (arXiv 2511.16652).
- ``RELATIVE``: ``g * (1 + s * eps)`` for the gain of a norm.

The last two never need a changed matrix: they can be applied to the activations of single rows, so that many
directions share one batch.
"""

import re
from dataclasses import dataclass
from enum import Enum
from functools import cached_property

from ahd.config import ConfigError, Kind, RunConfig

SCOPES = ("all", "linear", "norms")


class Treatment(Enum):
    """How a direction moves one tensor."""

    NONE = 0
    ADDITIVE = 1
    LOW_RANK = 2
    RELATIVE = 3


@dataclass(frozen=True)
class Perturbation:
    """Kind, scope and rank of a run's directions.

    ``scope`` is ``all`` (every tensor), ``linear`` (the matrices inside the layers), ``norms`` (the
    gains of the norms) or a regular expression that is searched for in the names of the tensors.

    Raises:
        ConfigError: the scope is no regular expression.
    """

    kind: Kind = Kind.FULL
    scope: str = "all"
    rank: int = 1

    def __post_init__(self) -> None:
        if self.scope not in SCOPES:
            try:
                re.compile(self.scope)
            except re.error as error:
                raise ConfigError(
                    f"--scope {self.scope}: no regular expression ({error}): give one, "
                    "or all, linear or norms"
                ) from None

    @property
    def batched(self) -> bool:
        """Whether directions ride in the activations, so that all of them share a batch."""
        return self.kind is Kind.LOWRANK or self.scope == "norms"

    def treatment(self, name: str, dimensions: int) -> Treatment:
        """What happens to the Hugging Face tensor ``name`` with so many dimensions.

        Low rank takes matrices by factors and gains of norms relatively; it leaves biases alone.
        """
        if not self._in_scope(name, dimensions):
            return Treatment.NONE
        if not self.batched:
            return Treatment.ADDITIVE
        if dimensions == 2 and self.scope != "norms":
            return Treatment.LOW_RANK
        return Treatment.RELATIVE if is_gain(name, dimensions) else Treatment.NONE

    def _in_scope(self, name: str, dimensions: int) -> bool:
        if self.scope == "all":
            return True
        if self.scope == "linear":
            return dimensions == 2 and not is_vocabulary(name)
        if self.scope == "norms":
            return is_gain(name, dimensions)
        return self._pattern.search(name) is not None

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        return re.compile(self.scope)


def is_gain(name: str, dimensions: int) -> bool:
    """Whether a tensor is the gain of a norm, by its name: ``input_layernorm.weight`` and the like."""
    return dimensions == 1 and re.search(r"norm\w*\.weight$", name) is not None


def is_vocabulary(name: str) -> bool:
    """Whether a matrix has one row per token: the embedding or the output layer."""
    return re.search(r"(embed\w*|wte|lm_head|output_embeddings)\.weight$", name) is not None


def perturbation_of(config: RunConfig) -> Perturbation:
    """The perturbation a run asks for."""
    usual = "linear" if config.kind is Kind.LOWRANK else "norms"
    return Perturbation(config.kind, config.scope or usual, config.rank)


def scales(config: RunConfig) -> tuple[float, float]:
    """``(sigma, alpha)`` of a run: what it says, else what fits its kind and scope (docs/learning.md); for
    the paper's kind its own values."""
    if perturbation_of(config).scope == "norms":
        sigma, alpha = 0.07, 0.03
    elif config.kind is Kind.LOWRANK:
        sigma, alpha = 8e-3, 8e-3
    else:
        sigma, alpha = 1e-3, 5e-4
    return (
        sigma if config.sigma is None else config.sigma,
        alpha if config.alpha is None else config.alpha,
    )
