"""Whether the model completes a skeleton or writes the whole function."""

from ahd.config import Style

SMALL_MODEL = 3_000_000_000
"""Models with fewer parameters complete skeletons: the shipped one wrote 0 of 64 valid functions
freely and more than half of its completions were valid."""


def resolve_style(style: Style, parameters: int) -> Style:
    """``auto`` becomes ``skeleton`` below three billion parameters and ``free`` from there on."""
    if style is not Style.AUTO:
        return style
    return Style.SKELETON if parameters < SMALL_MODEL else Style.FREE
