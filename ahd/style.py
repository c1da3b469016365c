"""Whether the model completes a skeleton or writes the whole function."""

from dataclasses import dataclass

from ahd.config import Style
from operators.prompt import Style as PromptStyle

SMALL_MODEL = 3_000_000_000
"""Models with fewer parameters complete skeletons: the shipped one wrote 0 of 64 valid functions
freely and more than half of its completions were valid."""


@dataclass(frozen=True)
class Sampling:
    """How replies are sampled."""

    temperature: float
    top_p: float


SAMPLING = {Style.SKELETON: Sampling(0.9, 0.95), Style.FREE: Sampling(1.0, 0.98)}
"""Defaults by style. Free: arXiv 2608.17310. Skeleton: of 32 completions of m1 by the shipped model,
about half were valid at the paper's settings, nearly all at these; see ``docs/prompts.md``."""


def resolve_style(style: Style, parameters: int) -> Style:
    """``auto`` becomes ``skeleton`` below three billion parameters and ``free`` from there on."""
    if style is not Style.AUTO:
        return style
    return Style.SKELETON if parameters < SMALL_MODEL else Style.FREE


def prompt_style(style: Style) -> PromptStyle:
    """The resolved style as the operators name it."""
    return "skeleton" if style is Style.SKELETON else "free"
