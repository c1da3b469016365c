"""What a comparison found, as frozen records that JSON keeps: ``comparison.json`` holds one ``Comparison``.

Objectives are minimised. A number that cannot be computed is None, and ``missing`` says why, by field.
"""

from dataclasses import dataclass, field

from problems.check import MAX_DECIMALS

VERSION = 1
METRICS = ("train", "test")
"""Objectives on the training instances, and on the test instances of that size."""


@dataclass(frozen=True)
class Seconds:
    """Working time by kind; generation and evaluation overlap, so that their sum may exceed wall time."""

    model: float = 0.0
    es: float = 0.0
    """Moving weights: perturbations and updates."""
    evaluation: float = 0.0

    def __add__(self, other: "Seconds") -> "Seconds":
        return Seconds(self.model + other.model, self.es + other.es, self.evaluation + other.evaluation)

    @property
    def total(self) -> float:
        return self.model + self.es + self.evaluation


@dataclass(frozen=True)
class Spend:
    """What was spent. ``proposals`` are those of the budget; the initial population's are apart, and all
    other figures include them. ``evaluations`` are proposals that ran in the sandbox."""

    proposals: int = 0
    init_proposals: int = 0
    valid: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    evaluations: int = 0
    updates: int = 0
    seconds: Seconds = field(default_factory=Seconds)
    wall_seconds: float = 0.0

    def __add__(self, other: "Spend") -> "Spend":
        return Spend(
            self.proposals + other.proposals,
            self.init_proposals + other.init_proposals,
            self.valid + other.valid,
            self.prompt_tokens + other.prompt_tokens,
            self.completion_tokens + other.completion_tokens,
            self.evaluations + other.evaluations,
            self.updates + other.updates,
            self.seconds + other.seconds,
            self.wall_seconds + other.wall_seconds,
        )


@dataclass(frozen=True)
class RunResult:
    """One run. ``folder`` is relative to the comparison's; gaps are to the reference of the instances."""

    folder: str
    seed: int
    train: float | None
    test: float | None
    train_gap: float | None
    test_gap: float | None
    test_detail: str
    """Why there is no test objective; else empty."""
    spend: Spend

    def objective(self, metric: str) -> float | None:
        """That of ``METRICS``."""
        return self.train if metric == "train" else self.test


@dataclass(frozen=True)
class Summary:
    """One number per seed: sample standard deviation ``sd``, least ``best``."""

    count: int
    mean: float | None
    sd: float | None
    best: float | None
    missing: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Curve:
    """The best training objective so far at every ``x``, over the seeds of an arm: None where a seed had no
    valid heuristic yet (``sd`` also with one seed)."""

    x: tuple[float, ...]
    mean: tuple[float | None, ...]
    sd: tuple[float | None, ...]
    best: tuple[float | None, ...]


@dataclass(frozen=True)
class ArmResult:
    """A method, perhaps at a temperature of its own, in one setting, over its seeds."""

    arm: str
    method: str
    temperature: float | None
    runs: tuple[RunResult, ...]
    train: Summary
    test: Summary
    train_gap: Summary
    test_gap: Summary
    spend: Spend
    """Of all its runs together."""
    by_proposals: Curve
    """``x``: proposals of the budget; 0 is the initial population."""
    by_seconds: Curve
    """``x``: working seconds of all kinds, the initial population's included."""


@dataclass(frozen=True)
class Difference:
    """``arm`` minus ``against``, paired by seed: below 0 the arm is better.

    ``low`` and ``high`` bound Student's 95% interval, ``bca_low`` and ``bca_high`` the bootstrap's.
    ``p`` is the paired t-test's, ``p_holm`` the same corrected for all differences of the metric in the
    comparison, ``p_sign_flip`` the permutation test's (``exact``: over all sign flips); all two-sided.
    ``relative`` is the mean as a share of the size of ``against``'s mean. ``effect`` is Cohen's d of the
    differences, ``seeds_needed`` the pairs that find one of this size with a power of 80%. Wins, ties and
    losses of the arm count seeds.
    """

    arm: str
    against: str
    metric: str
    seeds: tuple[int, ...]
    values: tuple[float, ...]
    mean: float | None
    relative: float | None
    sd: float | None
    low: float | None
    high: float | None
    bca_low: float | None
    bca_high: float | None
    p: float | None
    p_holm: float | None
    p_sign_flip: float | None
    exact: bool
    effect: float | None
    seeds_needed: int | None
    wins: int
    ties: int
    losses: int
    missing: dict[str, str] = field(default_factory=dict)

    @property
    def identical(self) -> bool:
        """Whether both arms have the same objective on every seed."""
        return bool(self.values) and not any(self.values)


@dataclass(frozen=True)
class Setting:
    """Arms on one problem with one model. ``warnings`` name what keeps pairs from being pairs."""

    name: str
    problem: str
    model: str
    style: str
    dtype: str
    budget: int
    seeds: tuple[int, ...]
    decimals: int
    reference: float | None
    reference_source: str
    known: dict[str, float]
    """Training objectives of the problem's known heuristics."""
    test_what: str
    arms: tuple[ArmResult, ...]
    differences: tuple[Difference, ...]
    warnings: tuple[str, ...]

    def __post_init__(self) -> None:
        if not 0 <= self.decimals <= MAX_DECIMALS:
            raise ValueError("decimals")


@dataclass(frozen=True)
class Tally:
    """Settings in which an arm's mean is below, equal to or above that of ``against``, and in how many of
    them ``p_holm`` is below 5%."""

    arm: str
    against: str
    metric: str
    wins: int
    ties: int
    losses: int
    significant_wins: int
    significant_losses: int


@dataclass(frozen=True)
class Comparison:
    """Everything that ``ahd compare`` prints. ``command`` repeats it; empty for runs put together by hand."""

    version: int
    ahd: str
    command: str
    against: str
    arms: tuple[str, ...]
    settings: tuple[Setting, ...]
    tallies: tuple[Tally, ...]

    def to_json(self) -> str:
        """One JSON object with the names of the fields."""
        from ahd.compare.records import to_json

        return to_json(self)

    @classmethod
    def from_json(cls, text: str) -> "Comparison":
        """Read back what ``to_json`` wrote.

        Raises:
            ConfigError: it is damaged, or from another version.
        """
        from ahd.compare.records import from_json

        return from_json(cls, text, VERSION)
