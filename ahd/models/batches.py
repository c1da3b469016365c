"""Which directions generate together."""

from collections.abc import Iterable, Sequence

from operators.model import Direction


def batches(directions: Sequence[Direction | None], size: int) -> list[dict[Direction | None, list[int]]]:
    """Requests by direction, at most ``size`` directions at the same time, in the order of their first
    appearance. ``directions`` has one entry per request; None is the unperturbed model."""
    groups: dict[Direction | None, list[int]] = {}
    for index, direction in enumerate(directions):
        groups.setdefault(direction, []).append(index)
    items = list(groups.items())
    return [dict(items[start : start + size]) for start in range(0, len(items), size)]


def salt(weights_hash: str, direction: Direction | None) -> str:
    """What keeps the prefix cache from serving keys and values that other weights have computed."""
    moved = f":{direction.seed}:{direction.sigma!r}" if direction else ""
    return weights_hash[:16] + moved


def listed(numbers: Iterable[float]) -> str:
    """Numbers as the worker's methods take them: one string, with commas between."""
    return ",".join(map(repr, numbers))
