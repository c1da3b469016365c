"""Figures of a comparison as short text: the same in tables and on pages."""

from ahd.compare.result import Difference

MANY = 9999
"""Seeds beyond which the number says no more."""


def number(value: float | None, decimals: int) -> str:
    return "-" if value is None else f"{value:.{decimals}f}"


def short(value: float | None, signed: bool = False) -> str:
    """Three digits that count."""
    if value is None:
        return "-"
    return f"{value:+.3g}" if signed else f"{value:.3g}"


def p_value(value: float | None) -> str:
    if value is None:
        return "-"
    return "<.001" if value < 0.0005 else f"{value:.3f}"


def seeds_needed(each: Difference) -> str:
    """Seeds for 80% power."""
    needed = each.seeds_needed
    return "-" if needed is None else f">{MANY}" if needed > MANY else str(needed)
