"""What ``comparison.json`` has to hold for a report: the one place that knows its shape.

Everything but ``arms`` may be missing, and is then left out of the page. Objectives: smaller is better. ::

    {"problem": "tsp", "budget": 200, "reference": 5.70445, "decimals": 5,
     "settings": {"model": "...", "anything": "shown as it is"},
     "arms": [{"name": "esopt", "runs": [
         {"seed": 1, "train": 6.44, "test": 6.38, "proposals": 200, "tokens": 5000, "seconds": 74.0}]}],
     "differences": [{"first": "esopt", "second": "eoh", "measure": "test", "mean": -0.1, "low": -0.2,
         "high": 0.0, "p": 0.04, "effect": -0.6, "seeds": 10, "seeds_for_power": 28}],
     "curves": {"proposals": {"esopt": {"grid": [1, 2], "mean": [9, 8], "low": [8, 7], "high": [10, 9]}},
                "seconds": {}}}

``differences`` are first minus second, paired by seed; ``low`` and ``high`` bound the interval, ``effect`` is
standardised. A curve is the best objective so far, its mean over seeds and a band.
"""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ahd.config import ConfigError

FILE = "comparison.json"
MEASURES = {"train": "training objective", "test": "test objective"}
AXES = {"proposals": "proposals spent", "seconds": "seconds of wall time"}


@dataclass(frozen=True)
class ArmRun:
    """One run of an arm; None: not known."""

    seed: int | None
    train: float | None
    test: float | None
    proposals: float | None
    tokens: float | None
    seconds: float | None


@dataclass(frozen=True)
class Arm:
    name: str
    runs: tuple[ArmRun, ...]

    def values(self, measure: str) -> list[float]:
        """What is known of ``train``, ``test``, ``proposals``, ``tokens`` or ``seconds``, run by run."""
        found = (getattr(run, measure) for run in self.runs)
        return [value for value in found if value is not None]


@dataclass(frozen=True)
class Difference:
    """``first`` minus ``second``; None: not known."""

    first: str
    second: str
    measure: str
    mean: float
    low: float | None
    high: float | None
    p: float | None
    effect: float | None
    seeds: float | None
    seeds_for_power: float | None


@dataclass(frozen=True)
class Curve:
    """Four columns of one length; ``low`` and ``high`` may be empty."""

    grid: tuple[float, ...]
    mean: tuple[float, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]


@dataclass(frozen=True)
class Comparison:
    folder: Path
    problem: str
    settings: dict[str, str]
    reference: float | None
    decimals: int
    arms: tuple[Arm, ...]
    differences: tuple[Difference, ...]
    curves: dict[str, dict[str, Curve]]
    """By ``AXES`` and arm."""

    def number(self, value: float | None) -> str:
        return "-" if value is None else f"{value:.{self.decimals}f}"


def read(folder: Path) -> Comparison:
    """Read ``comparison.json`` of a folder.

    Raises:
        ConfigError: it is not there, is no JSON object, or has no arms.
    """
    path = folder / FILE
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(f"{path} cannot be read: {error.strerror}") from None
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"{path} is not JSON ({error}); make the comparison again") from None
    arms = tuple(_arm(each) for each in _objects(data, "arms"))
    if not arms:
        raise ConfigError(f"{path}: arms is missing or empty; make the comparison again")
    curves = data.get("curves")
    decimals = _number(data, "decimals")
    return Comparison(
        folder,
        str(data.get("problem") or folder.name),
        _settings(data),
        _number(data, "reference"),
        5 if decimals is None else max(0, min(int(decimals), 12)),
        arms,
        tuple(found for each in _objects(data, "differences") if (found := _difference(each))),
        {axis: _curves(curves.get(axis)) for axis in AXES} if isinstance(curves, Mapping) else {},
    )


def _settings(data: Mapping[str, Any]) -> dict[str, str]:
    own = data.get("settings")
    told = {"budget": data.get("budget"), **(own if isinstance(own, Mapping) else {})}
    return {str(name): str(value) for name, value in told.items() if value is not None}


def _arm(data: Mapping[str, Any]) -> Arm:
    names = ("train", "test", "proposals", "tokens", "seconds")
    runs = tuple(
        ArmRun(
            None if (seed := _number(run, "seed")) is None else int(seed),
            *(_number(run, name) for name in names),
        )
        for run in _objects(data, "runs")
    )
    return Arm(str(data.get("name", "?")), runs)


def _difference(data: Mapping[str, Any]) -> Difference | None:
    mean = _number(data, "mean")
    if mean is None:
        return None
    rest = (_number(data, name) for name in ("low", "high", "p", "effect", "seeds", "seeds_for_power"))
    first, second, measure = (str(data.get(name, "?")) for name in ("first", "second", "measure"))
    return Difference(first, second, measure, mean, *rest)


def _curves(data: Any) -> dict[str, Curve]:
    if not isinstance(data, Mapping):
        return {}
    found = {}
    for name, each in data.items():
        if isinstance(each, Mapping):
            grid, mean, low, high = (_numbers(each.get(key)) for key in ("grid", "mean", "low", "high"))
            if grid and len(grid) == len(mean):
                band = len(low) == len(high) == len(grid)
                found[str(name)] = Curve(grid, mean, low if band else (), high if band else ())
    return found


def _objects(data: Any, name: str) -> list[Mapping[str, Any]]:
    found = data.get(name) if isinstance(data, Mapping) else None
    is_list = isinstance(found, Sequence) and not isinstance(found, str)
    return [each for each in found if isinstance(each, Mapping)] if is_list and found else []


def _number(data: Mapping[str, Any], name: str) -> float | None:
    value = data.get(name)
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return None
    return value


def _numbers(data: Any) -> tuple[float, ...]:
    """Numbers of a column, NaN where one is missing, so that lines have a gap there."""
    if not isinstance(data, Sequence) or isinstance(data, str):
        return ()
    found = (_number({"x": value}, "x") for value in data)
    return tuple(math.nan if value is None else value for value in found)
