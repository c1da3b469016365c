"""The perturbation scale over a run."""

import math


def sigma_at(generation: int, generations: int, start: float) -> float:
    """Cosine decay from ``start`` towards zero (arXiv 2608.17310, ES settings).

    ``sigma = start / 2 * (1 + cos(pi * (g - 1) / G))`` for generation g = 1..G: ``start`` in the
    first, the smallest positive value of the curve in the last, zero only past the end.

    Raises:
        ValueError: if ``generation`` is outside 1..``generations``.
    """
    if not 1 <= generation <= generations:
        raise ValueError(f"generation {generation} is outside 1..{generations}")
    return 0.5 * start * (1.0 + math.cos(math.pi * (generation - 1) / generations))
