"""Where the insights of a run come from."""

from collections.abc import Callable, Sequence

from ahd.config import Insights, RunConfig, Style
from ahd.insights.rules import by_rule
from ahd.insights.written import Written
from ahd.schedule import Batch
from ahd.store import Proposal, Store
from operators.model import Model
from problems.problem import Problem

Source = Callable[[Batch, Sequence[Proposal]], tuple[str, ...]]
"""The lines for a batch, from the stored proposals of all earlier ones. Every batch of the search asks for
its lines, in order, so that a resumed run gets the same."""


def source_of(
    config: RunConfig,
    style: Style,
    problem: Problem,
    model: Model,
    store: Store,
    tell: Callable[[str], None],
) -> Source:
    """The source that ``--insights`` names; ``tell`` is given lines for the user. ``--feedback`` tells
    failures one by one: their most frequent kind is not told beside it."""
    if config.insights is Insights.MODEL:
        return Written(config, style, problem, model, store, tell)
    if config.insights is Insights.RULES:
        return lambda batch, past: by_rule(past, failures=not config.feedback)
    return lambda batch, past: ()
