"""Events folded into the running figures that every display draws."""

from collections import Counter, deque
from dataclasses import dataclass, field

from ahd.display.text import clean, snippet
from ahd.events import Event, Evolved, Finished, Loading, Member, Note, Proposed, Started, Updated
from ahd.gap import relative_gap

RECENT = 96
"""Proposals that count for the current rates."""
KEPT = 200
"""Lines kept in the log."""


@dataclass
class Tally:
    """What became of some proposals: ``better`` counts new best objectives of the run."""

    proposals: int = 0
    valid: int = 0
    duplicates: int = 0
    better: int = 0

    @property
    def validity(self) -> float:
        return self.valid / self.proposals if self.proposals else 0.0

    def add(self, event: Proposed) -> None:
        self.proposals += 1
        self.valid += event.outcome == "ok"
        self.duplicates += event.duplicate


@dataclass(frozen=True)
class Line:
    """A line of the log: ``kind`` is ``best``, ``note`` or ``load``; ``at`` is seconds into the run."""

    at: float
    kind: str
    text: str


@dataclass(frozen=True)
class _Cost:
    tokens: int
    model: float
    evaluation: float


@dataclass
class Progress:
    """Running figures of one run; ``add`` folds one event in. Times are seconds of any one clock.

    ``paced_from`` is when this session began to make proposals of its own, of which ``live`` are made.
    ``history`` holds ``(proposals, best)`` at every improvement, initial proposals included. ``watching``:
    the run is another process's. ``resumed``: proposals were read back, ``catching_up``: the last one was.
    """

    watching: bool = False
    started: Started | None = None
    loading: Loading | None = None
    loading_since: float = 0.0
    begun: float | None = None
    paced_from: float = 0.0
    latest: float = 0.0
    phase: str = "init"
    generation: int = 0
    spent: int = 0
    init_spent: int = 0
    live: int = 0
    catching_up: bool = False
    resumed: bool = False
    best: float | None = None
    best_id: int | None = None
    history: list[tuple[int, float]] = field(default_factory=list)
    members: tuple[Member, ...] = ()
    operators: dict[str, Tally] = field(default_factory=dict)
    phases: dict[str, Tally] = field(default_factory=dict)
    outcomes: Counter[str] = field(default_factory=Counter)
    tokens: int = 0
    evaluations: int = 0
    model_seconds: float = 0.0
    es_seconds: float = 0.0
    evaluation_seconds: float = 0.0
    updates: list[Updated] = field(default_factory=list)
    log: deque[Line] = field(default_factory=lambda: deque(maxlen=KEPT))
    finished: Finished | None = None
    _recent: deque[_Cost] = field(default_factory=lambda: deque(maxlen=RECENT))

    def add(self, event: Event, now: float) -> None:
        """Fold ``event``, which happened at ``now``."""
        self.latest = now
        if self.begun is None:
            self.begun = now
        match event:
            case Loading():
                self._load(event, now)
            case Started():
                self.started, self.loading = event, None
                self.begun = self.paced_from = now
                self.spent = event.spent
            case Note() if not self.told_before:
                self._say("note", clean(event.text), now)
            case Proposed():
                self._propose(event, now)
            case Evolved():
                self.members = event.members
                if event.members:
                    first = event.members[0]
                    self._improve(first.objective, first.proposal)
            case Updated():
                self.updates.append(event)
                self.es_seconds += event.seconds
            case Finished():
                self.finished = event

    def _say(self, kind: str, text: str, now: float) -> None:
        self.log.append(Line(now - (self.begun if self.begun is not None else now), kind, text))

    def _load(self, event: Loading, now: float) -> None:
        if event.seconds is not None:
            self._say("load", f"{clean(event.what)}: {event.seconds:.1f} s", now)
            self.loading = None
        elif self.loading is None or self.loading.what != event.what:
            self.loading, self.loading_since = event, now

    def _propose(self, event: Proposed, now: float) -> None:
        valid = event.outcome == "ok"
        tally = self.operators.setdefault(event.operator, Tally())
        tally.add(event)
        self.phases.setdefault(event.phase, Tally()).add(event)
        self.outcomes[event.outcome] += 1
        self.phase, self.generation = event.phase, event.generation
        self.spent, self.init_spent = max(self.spent, event.spent), max(self.init_spent, event.init_spent)
        self.tokens += event.completion_tokens
        self.evaluations += event.evaluation_seconds > 0
        self.model_seconds += event.model_seconds
        self.es_seconds += event.es_seconds
        self.evaluation_seconds += event.evaluation_seconds
        self.catching_up = event.replayed
        if event.replayed:
            self.paced_from, self.resumed = now, not self.watching
        else:
            self.live += 1
            self._recent.append(_Cost(event.completion_tokens, event.model_seconds, event.evaluation_seconds))
        if valid and event.objective is not None and self._improve(event.objective, event.id):
            tally.better += 1
            if not event.replayed:
                self._say("best", f"{self.number(event.objective)} by {event.operator}, #{event.id}", now)

    def _improve(self, objective: float, proposal: int | None) -> bool:
        if self.best is not None and objective >= self.best:
            return False
        self.best, self.best_id = objective, proposal
        self.history.append((self.proposals, objective))
        return True

    @property
    def parting(self) -> str:
        """What a display says when it leaves a run that has begun and not finished."""
        folder = clean(str(self.started.folder)) if self.started else ""
        if self.watching:
            return f"watched to {self.spent} of {self.budget}; look again with: ahd watch {folder}"
        return f"stopped at {self.spent} of {self.budget}; go on with: ahd resume {folder}"

    @property
    def proposals(self) -> int:
        """All proposals folded so far."""
        return sum(self.outcomes.values())

    @property
    def counted(self) -> Tally:
        """What validity and duplicates are told of: the proposals of the search, before them the initial
        ones."""
        return self.phases.get("search") or self.phases.get("init") or Tally()

    @property
    def duplicates(self) -> int:
        return self.counted.duplicates

    @property
    def rollbacks(self) -> int:
        """Updates that took earlier ones back."""
        return sum(update.rollback_to is not None for update in self.updates)

    @property
    def left_out(self) -> int:
        """Updates that were not made because they were not finite or the model refused them."""
        return sum(bool(update.note) for update in self.updates) - self.rollbacks

    @property
    def validity(self) -> float | None:
        return self.counted.validity if self.proposals else None

    @property
    def budget(self) -> int:
        return self.started.config.budget if self.started else 0

    @property
    def told_before(self) -> bool:
        """Whether a note that comes now is of the initial population and was told when that was made."""
        return self.resumed and self.catching_up and self.phase == "init"

    def elapsed(self, now: float) -> float:
        """Seconds since the run began, or since it was resumed."""
        return now - self.begun if self.begun is not None else 0.0

    @property
    def since(self) -> str:
        """What follows ``elapsed``."""
        return "since resuming" if self.resumed else "gone"

    def left(self, now: float) -> float | None:
        """Seconds to the end of the budget at the pace of this session; None while unknown."""
        if self.live < 5 or self.started is None or now <= self.paced_from:
            return None
        return (self.budget - self.spent) * (now - self.paced_from) / self.live

    @property
    def tokens_per_second(self) -> float | None:
        """Recent completion tokens per second of generation."""
        seconds = sum(cost.model for cost in self._recent)
        return sum(cost.tokens for cost in self._recent) / seconds if seconds > 0 else None

    @property
    def evaluations_per_second(self) -> float | None:
        """Recent evaluations per second of evaluation."""
        seconds = sum(cost.evaluation for cost in self._recent)
        return sum(cost.evaluation > 0 for cost in self._recent) / seconds if seconds > 0 else None

    def proposals_per_minute(self, now: float) -> float | None:
        """Proposals of this session per minute of its wall time."""
        return 60 * self.live / (now - self.paced_from) if self.live and now > self.paced_from else None

    @property
    def split(self) -> dict[str, float]:
        """Shares of the working time by kind; they add to 1, or are all 0 before any work."""
        parts = {"model": self.model_seconds, "ES": self.es_seconds, "evaluation": self.evaluation_seconds}
        total = sum(parts.values())
        return {name: seconds / total if total > 0 else 0.0 for name, seconds in parts.items()}

    @property
    def top(self) -> str:
        """The telling part of the best heuristic's code; empty when there is none."""
        return snippet(self.members[0].code) if self.members else ""

    @property
    def rival(self) -> tuple[str, float] | None:
        """The best known heuristic of the problem and its training objective."""
        return self.started.best_known if self.started else None

    def number(self, objective: float | None) -> str:
        """An objective with the problem's decimals."""
        decimals = self.started.decimals if self.started else 5
        return "-" if objective is None else f"{objective:.{decimals}f}"

    def gap(self, objective: float | None) -> float | None:
        """Relative distance of a training objective above the reference."""
        return relative_gap(objective, self.started.reference if self.started else None)

    @property
    def result(self) -> float | None:
        """The best objective; once the run has finished that of its result, before which better ones may
        have been dropped or another been chosen."""
        return self.best if self.finished is None else self.finished.best

    @property
    def gain(self) -> float | None:
        """How much better ``result`` is than the best known heuristic, as a share of the latter."""
        lead = relative_gap(self.result, self.rival[1] if self.rival else None)
        return None if lead is None else -lead
