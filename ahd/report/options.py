"""The options of a run in words: what was used where one was left to the run."""

from dataclasses import fields
from typing import Any

from ahd.config import Style
from ahd.es.perturbation import scales
from ahd.report.read import RunReport
from ahd.style import SAMPLING
from operators import free, grammar, skeleton

_OFF = {
    "momentum": "none",
    "tune": "none",
    "probe": "off",
    "validity_floor": "never: no update is taken back",
    "timeout": "the problem's own",
}
"""What 0 means."""


def options(report: RunReport) -> dict[str, str]:
    """Every option by its name on the command line."""
    config = report.run.started.config
    used = _used(report)
    return {
        each.name.replace("_", "-"): used.get(each.name) or _plain(each.name, getattr(config, each.name))
        for each in fields(config)
    }


def _used(report: RunReport) -> dict[str, str]:
    """What was used for the options that were left to the run."""
    started = report.run.started
    config, style = started.config, started.style
    usual = SAMPLING[Style.FREE if style == Style.FREE else Style.SKELETON]
    tokens = free.MAX_TOKENS if style == Style.FREE else skeleton.MAX_TOKENS
    longest = f"{grammar.LONGEST}, the grammar's own" if config.structured else f"{tokens}, the style's own"
    found = {}
    if config.style is Style.AUTO:
        found["style"] = f"{style}, by the size of the model"
    if config.temperature is None:
        found["temperature"] = f"{usual.temperature:g}, the style's own"
    if config.search_temperature is None:
        found["search_temperature"] = "as temperature"
    if config.top_p is None:
        found["top_p"] = f"{usual.top_p:g}, the style's own"
    if config.max_tokens == 0:
        found["max_tokens"] = longest
    for name, value in zip(("sigma", "alpha"), scales(config), strict=True):
        if getattr(config, name) is None:
            found[name] = f"{value:g}, by kind and scope" if config.method.perturbs else "not used"
    return found


def _plain(name: str, value: Any) -> str:
    """A value as it was given."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if value == 0 and name in _OFF:
        return _OFF[name]
    return str(value) or "none"
