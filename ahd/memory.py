"""What the proposals so far tell the next prompts: insights, and why attempts failed."""

from collections.abc import Callable, Sequence

from ahd.config import Insights, RunConfig
from ahd.feedback import feedback
from ahd.insights.source import Source
from ahd.population import Individual
from ahd.schedule import Batch
from ahd.store import Proposal, Store

Notes = Callable[[int, Sequence[Individual]], tuple[str, ...]]
"""The notes of a prompt, from its slot and its parents."""


def no_notes(slot: int, parents: Sequence[Individual]) -> tuple[str, ...]:
    return ()


class Memory:
    """Remembers the batches that are complete, as they are stored: a resumed run remembers the same.

    Prompts of the initial population have no notes, so that runs with and without them begin alike.
    """

    def __init__(self, config: RunConfig, store: Store, insights: Source) -> None:
        self._feedback = config.feedback
        self._kept = config.feedback or config.insights is not Insights.OFF
        self._store = store
        self._insights = insights
        self._past: list[Proposal] = []

    def keep(self, batch: Batch) -> None:
        """Remember a batch that is complete."""
        if self._kept:
            self._past += self._store.proposals(batch.number)

    def notes(self, batch: Batch) -> Notes:
        """The notes of the prompts of a batch that is to come."""
        if batch.number <= 0 or not self._kept:
            return no_notes
        lines = self._insights(batch, self._past)

        def of(slot: int, parents: Sequence[Individual]) -> tuple[str, ...]:
            ids = [parent.proposal for parent in parents]
            return (*lines, *(feedback(self._past, ids, slot) if self._feedback else ()))

        return of
