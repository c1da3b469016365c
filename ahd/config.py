"""Everything that defines a run, as one frozen dataclass."""

import json
import shlex
from dataclasses import asdict, dataclass, fields
from enum import StrEnum


class Method(StrEnum):
    """How proposals are made and whether the model learns."""

    ESOPT = "esopt"
    """EoH with evolution strategies on the live weights (arXiv 2608.17310)."""
    EOH = "eoh"
    """EoH with a frozen model (arXiv 2401.02051)."""
    NOISE = "noise"
    """Perturb as ``esopt`` does, never update: the ablation."""
    SAMPLE = "sample"
    """Independent i1 samples of a frozen model."""
    SAMPLE_ESOPT = "sample-esopt"
    """Independent i1 samples, each under its own perturbation, with updates."""

    @property
    def evolves(self) -> bool:
        return self in (Method.ESOPT, Method.EOH, Method.NOISE)

    @property
    def perturbs(self) -> bool:
        return self in (Method.ESOPT, Method.NOISE, Method.SAMPLE_ESOPT)

    @property
    def learns(self) -> bool:
        return self in (Method.ESOPT, Method.SAMPLE_ESOPT)


class Style(StrEnum):
    """How the model is asked for code."""

    AUTO = "auto"
    SKELETON = "skeleton"
    FREE = "free"


class ConfigError(ValueError):
    """Bad input: the message is one line naming the option, what is wrong and how to mend it."""


@dataclass(frozen=True)
class RunConfig:
    """The configuration of one run; stored with it and read back by ``ahd resume``.

    ``budget`` counts operator proposals; ``init_share`` bounds the proposals of the initial
    population as a share of it. ``sigma`` and ``alpha`` are the perturbation scale at the start and
    the step size (arXiv 2608.17310; see ``ahd.es``). ``timeout`` is CPU seconds per candidate on the
    training instances (0: the problem's own limit). ``temperature`` and ``top_p`` None and
    ``max_tokens`` 0: chosen by style.
    """

    problem: str
    method: Method = Method.ESOPT
    budget: int = 2000
    seed: int = 1
    model: str = "smollm2-135m"
    style: Style = Style.AUTO
    population: int = 10
    parents: int = 2
    sigma: float = 1e-3
    alpha: float = 5e-4
    temperature: float | None = None
    top_p: float | None = None
    max_tokens: int = 0
    init_share: float = 0.2
    timeout: float = 0.0
    memory_mb: int = 2048
    workers: int = 1
    problem_path: str = ""

    def __post_init__(self) -> None:
        for name, low, high in (
            ("population", 1, 10_000),
            ("budget", 1, 10_000_000),
            ("sigma", 0.0, 1.0),
            ("alpha", 0.0, 1.0),
            ("temperature", 0.0, 10.0),
            ("top_p", 1e-6, 1.0),
            ("init_share", 0.0, 10.0),
            ("timeout", 0.0, 86400.0),
            ("max_tokens", 0, 32768),
            ("memory_mb", 256, 1 << 20),
            ("workers", 1, 1024),
            ("parents", 1, 100),
            ("seed", 0, 2**32 - 1),
        ):
            value = getattr(self, name)
            if value is not None and not low <= value <= high:
                option = "--" + name.replace("_", "-")
                raise ConfigError(f"{option} {value}: needs a value from {low} to {high}")
        if self.budget < self.population:
            raise ConfigError(
                f"--budget {self.budget} is smaller than the population of {self.population}: "
                f"give at least {self.population}, or a smaller --population"
            )

    @property
    def init_limit(self) -> int:
        """Most proposals the initial population may cost."""
        return max(1, int(self.init_share * self.budget))

    @property
    def command(self) -> str:
        """The command that starts this run again."""
        words = ["ahd", "run", self.problem]
        for each in fields(self)[1:]:
            value = getattr(self, each.name)
            if value != each.default or each.name in ("method", "budget", "seed"):
                words += ["--" + each.name.replace("_", "-"), str(value)]
        return shlex.join(words)

    def to_json(self) -> str:
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> "RunConfig":
        """Read back what ``to_json`` wrote.

        Raises:
            ConfigError: on damage, unknown fields (a newer version's file) or values out of range.
        """
        try:
            data = dict(json.loads(text))
            data["method"], data["style"] = Method(data["method"]), Style(data["style"])
        except (ValueError, TypeError, KeyError):
            raise ConfigError("the configuration is damaged; restore the run file from a copy") from None
        unknown = set(data) - {field.name for field in fields(cls)}
        if unknown:
            raise ConfigError(f"configuration has unknown fields {sorted(unknown)}: update ahd")
        try:
            return cls(**data)
        except TypeError:
            raise ConfigError("the configuration is damaged; restore the run file from a copy") from None
