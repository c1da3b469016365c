"""Figures of a comparison as short text: the same in tables and on pages."""

from ahd.compare.result import Difference, Setting

METRIC = {"train": "training", "test": "test"}
"""Metrics of ``ahd.compare.result.METRICS`` in words."""
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


def identical(setting: Setting) -> list[str]:
    """A sentence for every arm that has the same objectives as the one it is compared with on every seed."""
    found = []
    for arm in dict.fromkeys(each.arm for each in setting.differences):
        compared = [each for each in setting.differences if each.arm == arm and each.values]
        same = [each for each in compared if each.identical]
        if not same:
            continue
        count = len(same[0].seeds)
        where = " and ".join(METRIC.get(each.metric, each.metric) for each in same)
        told = f"On {where} {arm} and {same[0].against} are identical on "
        told += f"all {count} seeds." if count > 1 else "the one seed."
        told += _last_gain(setting, (arm, same[0].against))
        if len(same) == len(compared):
            told += " Take a larger budget or a harder problem to tell them apart."
        found.append(told)
    return found


def _last_gain(setting: Setting, arms: tuple[str, str]) -> str:
    """After which proposal no run of these arms got better; empty: some did until the end."""
    curves = [each.by_proposals for each in setting.arms if each.arm in arms]
    at = max(curve.x[curve.mean.index(curve.mean[-1])] for curve in curves)
    if at >= setting.budget or any(curve.mean[-1] is None for curve in curves):
        return ""
    return f" No run got better after {f'proposal {at:.0f}' if at else 'its initial population'}."
