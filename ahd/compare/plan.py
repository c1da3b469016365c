"""What is to be compared: problems, arms and seeds at one budget."""

import hashlib
import json
import re
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any

from ahd.config import ConfigError, Method, RunConfig, parse_option
from problems.registry import packaged

VERSION = 1
MOST_SEEDS = 10_000
_OWN = {"problem", "method", "seed", "search_temperature"}
"""Fields of a run's configuration that the plan sets run by run."""
_OF_ALL = {
    "budget",
    "model",
    "style",
    "problem_path",
    "trust_remote_code",
    "memory_mb",
    "sandbox",
    "timeout",
} | {
    "workers",
    "dtype",
    "tensor_parallel",
    "replicas",
    "ray_address",
    "server",
    "population",
    "init_share",
    "temperature",
}
"""Fields that all runs of a comparison share: what is spent, where and how a run works, how it begins."""

SEARCH_OPTIONS = ("tune", "probe", "finalists", "structured", "feedback", "insights")
"""Options in which runs found in a folder may differ and still be compared, as arms of their own."""


@dataclass(frozen=True)
class Arm:
    """A method; with a ``temperature``, everything after the initial population is sampled at that one;
    with ``options``, names of ``RunConfig``'s fields and their values, those are the arm's own."""

    method: Method
    temperature: float | None = None
    options: tuple[tuple[str, Any], ...] = ()

    @property
    def label(self) -> str:
        """``eoh``, ``eoh@0.7`` or ``esopt+reward=paper+antithetic``."""
        text = self.method.value + ("" if self.temperature is None else f"@{_written(self.temperature)}")
        for name, value in self.options:
            text += "+" + name.replace("_", "-")
            if isinstance(value, bool):
                text += "" if value else "=false"
            else:
                text += f"={_written(value)}"
        return text

    @property
    def own(self) -> frozenset[str]:
        """Names of the fields that the arm sets."""
        return frozenset(name for name, _ in self.options)

    @classmethod
    def parse(cls, text: str) -> "Arm":
        """Read a label.

        Raises:
            ConfigError: it is none.
        """
        head, *rest = text.strip().split("+")
        name, at, temperature = head.partition("@")
        try:
            arm = cls(Method(name), float(temperature) if at else None)
        except ValueError:
            told = ", ".join(method.value for method in Method)
            raise ConfigError(
                f"--methods {text}: needs methods ({told}), each perhaps with a temperature as in eoh@0.7 "
                "and options as in esopt+reward=paper"
            ) from None
        options = tuple(_option(text, part) for part in rest)
        names = [name for name, _ in options]
        if twice := [name for name in names if names.count(name) > 1]:
            raise ConfigError(f"--methods {text}: {twice[0]} is given twice; give it once")
        return replace(arm, options=options)


def _written(value: Any) -> str:
    """An option's value in a label: short, with every digit that it has."""
    short = f"{value:g}" if isinstance(value, float) else str(value)
    return repr(value) if isinstance(value, float) and float(short) != value else short


def arms_of(configs: Sequence[RunConfig]) -> list[Arm]:
    """The arm of each run, told from what the runs differ in: method, temperature, and those options of the
    search that change what is proposed without a step of the weights."""
    temperatures = {config.temperature for config in configs}

    def arm(config: RunConfig) -> Arm:
        temperature = config.search_temperature
        if temperature is None and len(temperatures) > 1:
            temperature = config.temperature
        return Arm(
            config.method, temperature, tuple((name, getattr(config, name)) for name in varied(config))
        )

    def varied(config: RunConfig) -> list[str]:
        return [
            name
            for name in SEARCH_OPTIONS
            if getattr(config, name) != getattr(RunConfig, name)
            and len({getattr(each, name) for each in configs}) > 1
        ]

    return [arm(config) for config in configs]


def _option(arm: str, text: str) -> tuple[str, Any]:
    """A field and its value from ``reward=paper`` or ``antithetic``."""
    name, is_there, value = text.partition("=")
    name = name.strip().replace("-", "_")
    if name in _OWN | _OF_ALL:
        raise ConfigError(
            f"--methods {arm}: {name.replace('_', '-')} is the same for all arms of a comparison"
        )
    if not re.fullmatch(r"[\w.-]*", value):
        raise ConfigError(f"--methods {arm}: {value} cannot be an arm's own; use letters, digits, dots and -")
    try:
        return name, parse_option(name, value if is_there else "true")
    except ConfigError as error:
        raise ConfigError(f"--methods {arm}: {error}") from None


@dataclass(frozen=True)
class Planned:
    """One run of a plan. ``place`` is where its folder is in the comparison's."""

    config: RunConfig
    arm: Arm
    place: Path


@dataclass(frozen=True)
class Plan:
    """``base`` holds the budget and all other options of the runs; its problem, method and seed mean nothing.

    Raises:
        ConfigError: something is missing, named twice, or out of range.
    """

    problems: tuple[str, ...]
    arms: tuple[Arm, ...]
    seeds: tuple[int, ...]
    base: RunConfig

    def __post_init__(self) -> None:
        labels = [arm.label for arm in self.arms]
        for what, values, least in (
            ("problems", list(self.problems), 1),
            ("--methods", labels, 2),
            ("--seeds", [str(seed) for seed in self.seeds], 1),
        ):
            if len(values) < least:
                raise ConfigError(f"{what} {','.join(values)}: needs {least} or more")
            twice = [value for value in values if values.count(value) > 1]
            if twice:
                raise ConfigError(f"{what}: {twice[0]} is named twice; name it once")
        if len(self.seeds) > MOST_SEEDS:
            raise ConfigError(f"--seeds: {len(self.seeds)} of them; needs {MOST_SEEDS} or fewer")
        for run in self.runs():
            if not re.fullmatch(r"[\w.-]+", run.config.problem):
                raise ConfigError(
                    f"{run.config.problem!r} is no name of a problem; `ahd problems` lists them"
                )

    def config(self, problem: str, arm: Arm, seed: int) -> RunConfig:
        """The configuration of a run. A file of --problem-path is for problems that the package lacks."""
        return replace(
            self.base,
            problem=problem,
            method=arm.method,
            seed=seed,
            search_temperature=arm.temperature,
            **dict(arm.options),
            problem_path="" if problem in packaged() else self.base.problem_path,
        )

    def runs(self) -> Iterator[Planned]:
        """All runs, seed by seed, so that what is done first can be compared first."""
        for seed in self.seeds:
            for problem in self.problems:
                for arm in self.arms:
                    place = Path("runs") / problem / f"{arm.label}-{seed}"
                    yield Planned(self.config(problem, arm, seed), arm, place)

    @property
    def settings(self) -> dict[str, Any]:
        """The budget and the options of ``base`` that are not usual."""
        usual, own = asdict(RunConfig(problem="")), asdict(self.base)
        return {
            each.name: own[each.name]
            for each in fields(RunConfig)
            if each.name not in _OWN and (each.name == "budget" or own[each.name] != usual[each.name])
        }

    @property
    def name(self) -> str:
        """The folder of this comparison in ``results``; more seeds go into the same."""
        told = json.dumps(self.facts() | {"seeds": None}, sort_keys=True)
        digest = hashlib.blake2b(told.encode(), digest_size=4).hexdigest()
        return f"compare-{'-'.join(self.problems)[:60]}-{digest}"

    @property
    def command(self) -> str:
        """The command that starts it again, without its folder."""
        options = iter(shlex.split(self.base.command)[3:])
        words = ["ahd", "compare", *self.problems]
        words += ["--methods", ",".join(arm.label for arm in self.arms), "--seeds", _seeds_text(self.seeds)]
        for word in options:
            if word in ("--method", "--seed"):
                next(options)
            else:
                words.append(word)
        return shlex.join(words)

    def facts(self) -> dict[str, Any]:
        """The plan as plain values."""
        return {
            "version": VERSION,
            "problems": list(self.problems),
            "arms": [arm.label for arm in self.arms],
            "seeds": list(self.seeds),
            "settings": self.settings,
        }

    @classmethod
    def from_facts(cls, facts: Any) -> "Plan":
        """Read back what ``facts`` gave.

        Raises:
            ConfigError: it is damaged, or from another version.
        """
        if not isinstance(facts, dict) or facts.get("version") != VERSION:
            raise ConfigError("it is no plan that this ahd reads: choose another --out")
        try:
            base = RunConfig.from_json(json.dumps({"problem": ""} | facts["settings"]))
            arms = tuple(Arm.parse(label) for label in facts["arms"])
            return cls(tuple(map(str, facts["problems"])), arms, tuple(map(int, facts["seeds"])), base)
        except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
            raise ConfigError(f"the plan is damaged ({error}); choose another --out") from None


def parse_seeds(text: str) -> tuple[int, ...]:
    """``5``: the first five, 1 to 5. ``11-15``, ``3,7`` and ``1-4,9``: those.

    Raises:
        ConfigError: it is none of these.
    """
    wrong = ConfigError(f"--seeds {text}: needs how many, as 5, or which, as 11-15 or 3,7,9")
    if re.fullmatch(r"\d{1,6}", text):
        count = int(text)
        if not 1 <= count <= MOST_SEEDS:
            raise ConfigError(f"--seeds {text}: needs a number from 1 to {MOST_SEEDS}")
        return tuple(range(1, count + 1))
    found: list[int] = []
    for part in text.split(","):
        match = re.fullmatch(r"\s*(\d{1,10})(?:-(\d{1,10}))?\s*", part)
        if not match:
            raise wrong
        first, last = int(match[1]), int(match[2] or match[1])
        if not 0 <= last - first < MOST_SEEDS:
            raise wrong
        found += range(first, last + 1)
    return tuple(found)


def parse_arms(text: str) -> tuple[Arm, ...]:
    """``esopt,eoh,eoh@0.7``.

    Raises:
        ConfigError: see ``Arm.parse``.
    """
    return tuple(Arm.parse(part) for part in text.split(",") if part.strip())


def _seeds_text(seeds: Sequence[int]) -> str:
    if list(seeds) == list(range(1, len(seeds) + 1)):
        return str(len(seeds))
    if list(seeds) == list(range(seeds[0], seeds[0] + len(seeds))):
        return f"{seeds[0]}-{seeds[-1]}"
    return ",".join(map(str, seeds))
