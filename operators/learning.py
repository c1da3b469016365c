"""Turns the rewards of a batch into one move of the live weights (operators m1 and m2)."""

import math
from collections.abc import Sequence

from operators.model import Model, UpdateReport


def learn(model: Model, seeds: Sequence[int], weights: Sequence[float], alpha: float) -> UpdateReport | None:
    """Move the weights by ``alpha / N * sum_i weights[i] * eps(seeds[i])`` (arXiv 2608.17310).

    ``seeds`` are seeds of directions, ``weights`` what each is worth, in the same order; a seed may occur
    twice. When every weight is zero (no valid child, or all rewards equal) there is nothing to learn:
    the model is left alone and None comes back.

    Raises:
        ValueError: when the lengths differ, a weight is not finite, or ``alpha`` is not a finite
            number of at least 0.
        UpdateRefused: the model cannot take the step; its weights are as before.
    """
    if len(seeds) != len(weights):
        raise ValueError(f"{len(seeds)} direction seeds but {len(weights)} weights")
    if not all(math.isfinite(weight) for weight in weights):
        raise ValueError(f"weights have to be finite: {list(weights)}")
    if not (math.isfinite(alpha) and alpha >= 0):
        raise ValueError(f"alpha has to be finite and at least 0, not {alpha}")
    if not any(weights):
        return None
    return model.update(seeds, weights, alpha)
