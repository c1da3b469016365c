"""Everything that defines a run, as one frozen dataclass."""

import json
import shlex
from dataclasses import asdict, dataclass, fields
from enum import StrEnum
from typing import Any

from ahd import typed


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


class Kind(StrEnum):
    """What a direction is."""

    FULL = "full"
    """Gaussian noise on every weight in scope (arXiv 2608.17310)."""
    LOWRANK = "lowrank"
    """A pair of factors per matrix (arXiv 2511.16652): all directions of a batch generate together."""


class Dtype(StrEnum):
    """The number format the engine computes in."""

    AUTO = "auto"
    """The one that is fastest on the machine the run begins on."""
    BFLOAT16 = "bfloat16"
    FLOAT16 = "float16"
    FLOAT32 = "float32"


class Reward(StrEnum):
    """What a proposal is worth."""

    PAPER = "paper"
    """Parent minus child (arXiv 2608.17310)."""
    NEW = "new"
    """Pays for valid and new, more for better than the parent; a copy earns nothing, a failure costs."""
    DISTINCT = "distinct"
    """As ``new``, but a copy costs half of what a failure costs."""


class Shaping(StrEnum):
    """How the rewards of a batch become the weights of its directions."""

    ZSCORES = "zscores"
    """Mean 0, standard deviation 1 (arXiv 2608.17310)."""
    RANKS = "ranks"
    """Centred ranks from -0.5 to 0.5, ties sharing theirs."""
    VALID = "valid"
    """Z-scores over the valid proposals only; invalid ones weigh nothing."""


class Insights(StrEnum):
    """What prompts tell of the proposals so far."""

    OFF = "off"
    RULES = "rules"
    """What the better heuristics have and what most failures are, counted."""
    MODEL = "model"
    """What the model itself says of them, every few generations."""


class ConfigError(ValueError):
    """Bad input: the message is one line naming the option, what is wrong and how to mend it."""


SANDBOX_MODES = ("auto", "strict", "off")
"""Names of ``evaluators.layers.Mode``."""


@dataclass(frozen=True)
class RunConfig:
    """The configuration of one run; stored with it and read back by ``ahd resume``.

    ``budget`` counts operator proposals; ``init_share`` bounds the proposals of the initial
    population as a share of it, and ``tune`` is the share of it that goes to the best heuristics with other
    constants (``ahd.tuning``). ``sigma`` and ``alpha`` are the perturbation scale at the start and
    the step size (arXiv 2608.17310; see ``ahd.es``); None: chosen by kind and scope. ``timeout`` is CPU
    seconds per candidate on the training instances (0: the problem's own limit). ``temperature`` and
    ``top_p`` None and ``max_tokens`` 0: chosen by style. ``search_temperature`` is that of all proposals but
    the initial population's, so that runs at different ones begin alike; None: ``temperature``.
    ``structured``: replies are held to the problem's grammar (``operators.grammar``). Prompts after
    the initial population tell why an attempt failed with ``feedback``, and ``insights`` if there are any.
    ``probe``: candidates are looked at on so many instances first (``evaluators.probe``). ``finalists``: of
    so many the result is chosen (``ahd.finalists``). ``validity_floor`` 0: weights are never rolled back.

    Raises:
        ConfigError: a value out of range, or two that contradict each other.
    """

    problem: str
    method: Method = Method.ESOPT
    budget: int = 2000
    seed: int = 1
    model: str = "smollm2-135m"
    style: Style = Style.AUTO
    population: int = 10
    parents: int = 2
    sigma: float | None = None
    alpha: float | None = None
    kind: Kind = Kind.FULL
    scope: str = ""
    rank: int = 1
    reward: Reward = Reward.NEW
    shaping: Shaping = Shaping.ZSCORES
    antithetic: bool = False
    per_direction: int = 1
    momentum: float = 0.0
    validity_floor: float = 0.05
    patience: int = 3
    temperature: float | None = None
    search_temperature: float | None = None
    top_p: float | None = None
    max_tokens: int = 0
    structured: bool = False
    feedback: bool = False
    insights: Insights = Insights.OFF
    init_share: float = 0.2
    tune: float = 0.0
    probe: int = 0
    finalists: int = 1
    timeout: float = 0.0
    memory_mb: int = 2048
    sandbox: str = "auto"
    workers: int = 1
    trust_remote_code: bool = False
    dtype: Dtype = Dtype.AUTO
    tensor_parallel: int = 1
    replicas: int = 1
    ray_address: str = ""
    server: str = ""
    problem_path: str = ""

    def __post_init__(self) -> None:
        for name, low, high in (
            ("population", 1, 10_000),
            ("budget", 1, 10_000_000),
            ("sigma", 0.0, 1.0),
            ("alpha", 0.0, 1.0),
            ("temperature", 0.0, 10.0),
            ("search_temperature", 0.0, 10.0),
            ("top_p", 1e-6, 1.0),
            ("init_share", 0.0, 10.0),
            ("tune", 0.0, 0.9),
            ("probe", 0, 1000),
            ("finalists", 1, 1000),
            ("timeout", 0.0, 86400.0),
            ("max_tokens", 0, 32768),
            ("memory_mb", 256, 1 << 20),
            ("workers", 1, 1024),
            ("parents", 1, 100),
            ("rank", 1, 256),
            ("per_direction", 1, 1000),
            ("momentum", 0.0, 0.99),
            ("validity_floor", 0.0, 1.0),
            ("patience", 1, 1000),
            ("tensor_parallel", 1, 1024),
            ("replicas", 1, 1024),
            ("seed", 0, 2**32 - 1),
        ):
            value = getattr(self, name)
            if value is not None and not low <= value <= high:
                option = "--" + name.replace("_", "-")
                raise ConfigError(f"{option} {value}: needs a value from {low} to {high}")
        if self.sandbox not in SANDBOX_MODES:
            raise ConfigError(f"--sandbox {self.sandbox}: needs one of {', '.join(SANDBOX_MODES)}")
        if self.budget < self.population:
            raise ConfigError(
                f"--budget {self.budget} is smaller than the population of {self.population}: "
                f"give at least {self.population}, or a smaller --population"
            )
        self._check_together()

    def _check_together(self) -> None:
        """Refuse options that contradict each other."""
        if self.kind is Kind.LOWRANK and self.scope == "norms":
            raise ConfigError("--kind lowrank: norms have no factors: use --kind full with --scope norms")
        if self.kind is not Kind.LOWRANK and self.rank != 1:
            raise ConfigError(f"--rank {self.rank}: only --kind lowrank has a rank: give both, or neither")
        if self.structured and self.style is Style.FREE:
            raise ConfigError(
                "--structured: only a skeleton has a grammar: drop --structured, or give --style skeleton"
            )
        if self.structured and self.model == "scripted" and not self.server:
            raise ConfigError(
                "--structured: --model scripted writes without a grammar: drop --structured, or give another "
                "--model"
            )
        if self.server and (self.replicas > 1 or self.ray_address):
            raise ConfigError(
                "--server: replicas run engines of their own: drop --replicas and --ray-address"
            )
        if self.tensor_parallel > 1 and (self.server or self.replicas > 1 or self.ray_address):
            mend = (
                "start the server with --tensor-parallel-size, without --tensor-parallel here"
                if self.server
                else "a replica has one GPU: give --replicas or --tensor-parallel"
            )
            raise ConfigError(f"--tensor-parallel {self.tensor_parallel}: {mend}")

    @property
    def init_limit(self) -> int:
        """Most proposals the initial population may cost."""
        return max(1, int(self.init_share * self.budget))

    @property
    def command(self) -> str:
        """The command that starts this run again."""
        words = ["ahd", "run", self.problem]
        for each in fields(self)[1:]:
            value, option = getattr(self, each.name), each.name.replace("_", "-")
            if value == each.default and each.name not in ("method", "budget", "seed"):
                continue
            if isinstance(value, bool):
                words.append(f"--{option}" if value else f"--no-{option}")
            else:
                words += [f"--{option}", str(value)]
        return shlex.join(words)

    def to_json(self) -> str:
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> "RunConfig":
        """Read back what ``to_json`` wrote.

        Raises:
            ConfigError: on damage, unknown fields (a newer version's file) or values out of range.
        """
        damaged = ConfigError("the configuration is damaged; restore the run file from a copy")
        try:
            data = dict(json.loads(text))
        except (ValueError, TypeError, RecursionError):
            raise damaged from None
        unknown = set(data) - {field.name for field in fields(cls)}
        if unknown:
            raise ConfigError(f"configuration has unknown fields {sorted(unknown)}: update ahd")
        try:
            return typed.read(cls, data)
        except ConfigError:
            raise
        except (ValueError, TypeError, KeyError):
            raise damaged from None


def parse_option(name: str, text: str) -> Any:
    """The value of an option of a run as it is written on a command line; a switch is ``true`` or ``false``.

    Raises:
        ConfigError: there is no such option, or this is no value of it.
    """
    option = "--" + name.replace("_", "-")
    default = next((each.default for each in fields(RunConfig) if each.name == name), None)
    if name not in {each.name for each in fields(RunConfig)}:
        raise ConfigError(f"{option}: `ahd run` has no such option; `ahd run --help` lists them")
    try:
        if isinstance(default, bool):
            return {"true": True, "false": False}[text]
        kind = type(default) if isinstance(default, int | str) else float
        return kind(text)
    except (KeyError, ValueError):
        raise ConfigError(
            f"{option} {text}: this is no value of it; `ahd run --help` tells which are"
        ) from None
