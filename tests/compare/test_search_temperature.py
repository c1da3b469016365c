"""A temperature for what comes after the initial population."""

from ahd.config import RunConfig, Style
from ahd.population import Population
from ahd.schedule import Batch
from ahd.tasks import plan_batch, request_of
from tests.fakes import PROBLEM


def temperature(config: RunConfig, batch: int) -> float:
    """That of the request of a batch's first proposal."""
    tasks = plan_batch(config, Style.SKELETON, PROBLEM, Batch(batch, 0, "i1", 1, False), 0.0, Population(2))
    return request_of(config, Style.SKELETON, PROBLEM, tasks[0]).temperature


def test_the_initial_population_is_left_alone() -> None:
    """Batches 0 and below are sampled as without the option, all others at it."""
    usual, other = RunConfig("fake"), RunConfig("fake", search_temperature=0.3)
    both = RunConfig("fake", temperature=1.1, search_temperature=0.0)
    for batch in (0, -1):
        assert temperature(other, batch) == temperature(usual, batch) == 0.9
        assert temperature(both, batch) == 1.1
    assert (temperature(usual, 1), temperature(other, 1), temperature(both, 1)) == (0.9, 0.3, 0.0)
