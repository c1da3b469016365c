"""Mean and spread of the numbers of a batch."""

import math
import statistics
from collections.abc import Sequence


def mean_and_spread(values: Sequence[float]) -> tuple[float, float]:
    """Mean and population standard deviation; both NaN when there are no values, one is not finite, or
    they are too large to be added."""
    if not values or not all(map(math.isfinite, values)):
        return math.nan, math.nan
    try:
        return statistics.fmean(values), statistics.pstdev(values)
    except OverflowError:
        return math.nan, math.nan
