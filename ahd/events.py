"""What a run tells its display. The display never talks back."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from ahd.config import RunConfig


@dataclass(frozen=True)
class Loading:
    """Something slow is going on before the run: ``what`` (``loading SmolLM2-135M``) and, on the
    repeat that ends it, the ``seconds`` it took."""

    what: str
    seconds: float | None = None


@dataclass(frozen=True)
class Started:
    """The run begins or goes on. ``schedule`` states in one line how the budget will be spent;
    ``spent`` proposals of the budget were already stored (0 in a new run)."""

    config: RunConfig
    folder: Path
    model: str
    parameters: int
    style: str
    schedule: str
    updates_planned: int
    reference: float | None
    reference_source: str
    decimals: int
    known: dict[str, float] = field(default_factory=dict)
    """Training objectives of the problem's known heuristics, by name."""
    spent: int = 0
    sandbox: str = ""
    """What confines candidates here."""

    @property
    def best_known(self) -> tuple[str, float] | None:
        """The best known heuristic of the problem and its training objective."""
        return min(self.known.items(), key=lambda pair: pair[1], default=None)


@dataclass(frozen=True)
class Note:
    """A line the user should read (for instance: the population starts from a known heuristic)."""

    text: str


@dataclass(frozen=True)
class Member:
    """A row of the population table. ``proposal`` is None for a known heuristic."""

    objective: float
    operator: str
    proposal: int | None
    code: str


@dataclass(frozen=True)
class Proposed:
    """One proposal was made, evaluated and stored. ``replayed``: read back by a resumed run."""

    id: int
    phase: str
    """``init`` or ``search``."""
    generation: int
    operator: str
    outcome: str
    objective: float | None
    detail: str
    duplicate: bool
    completion_tokens: int
    model_seconds: float
    es_seconds: float
    evaluation_seconds: float
    spent: int
    """Proposals of the budget spent so far, this one included (init proposals are not counted)."""
    init_spent: int
    best: float | None
    replayed: bool = False


@dataclass(frozen=True)
class Evolved:
    """The population after a batch, best first."""

    members: tuple[Member, ...]


@dataclass(frozen=True)
class Updated:
    """The live weights moved, unless ``note`` says why not. ``rollback_to``: they went back to those after
    that update (0: the base model's)."""

    number: int
    sigma: float
    reward_mean: float
    reward_std: float
    norm: float
    moved: float
    weights_hash: str
    seconds: float
    replayed: bool = False
    rollback_to: int | None = None
    note: str = ""


@dataclass(frozen=True)
class Finished:
    """The run ended. ``status`` is ``done`` or ``interrupted``; test figures are None when
    interrupted or when the test evaluation failed (``test_detail`` says why)."""

    status: str
    folder: Path
    best: float | None
    gap: float | None
    test: float | None
    test_gap: float | None
    test_what: str
    """For instance ``1000 instances of size 50``."""
    test_detail: str
    summary: dict[str, Any]
    """See ``ahd.figures``; the hash of the weights too."""
    test_known: dict[str, float] = field(default_factory=dict)
    """The best known heuristic on the training instances and its objective on the test instances."""
    test_reference: float | None = None
    test_reference_source: str = ""


Event = Loading | Started | Note | Proposed | Evolved | Updated | Finished


class Display(Protocol):
    """Shows events; used as a context manager around the run."""

    def __enter__(self) -> "Display": ...

    def __exit__(self, *exc: object) -> None: ...

    def show(self, event: Event) -> None: ...
