"""What a client knows of an engine's live weights, and how it moves them."""

import time
from collections.abc import Callable, Sequence
from typing import Any

from ahd.es.perturbation import Perturbation
from ahd.models.batches import listed
from operators.model import Direction, ModelError, UpdateRefused, UpdateReport


class Handle:
    """The live weights of an engine, moved by calls of the methods of its workers.

    Args:
        call: ``(method, *arguments)`` runs a method of ``ahd.models.worker.LiveWeights`` and returns what it
            does.
        perturbation: what a direction is; the weights are the base model's afterwards.

    Attributes:
        perturbation: as given.
        parameters: number of weights of the model.
        dtype: number format the engine computes in.
        hash: SHA-256 over the weights, as after the last update.
    """

    def __init__(self, call: Callable[..., Any], perturbation: Perturbation) -> None:
        self._call = call
        self._perturbed = False
        self._torn = False
        report = call("es_init", perturbation.kind.value, perturbation.scope, perturbation.rank)
        self.perturbation = perturbation
        self.parameters: int = report["parameters"]
        self.dtype: str = report["dtype"]
        self.hash: str = report["hash"]

    def check(self) -> None:
        """Make sure that the weights are those of the hash.

        Raises:
            ModelError: an update was interrupted half way.
        """
        if self._torn:
            raise ModelError("an update of the weights was interrupted: resume the run to rebuild them")

    def move_to(self, directions: Sequence[Direction | None]) -> dict[Direction | None, int]:
        """Perturb the live weights, from the masters, or fill the slots; no direction restores them.

        Returns:
            The slot of each direction that has one.
        """
        chosen = [direction for direction in directions if direction is not None]
        if not chosen and not self._perturbed:
            return {}
        self._perturbed = True
        slots: dict[Direction | None, int] = {}
        if self.perturbation.batched:
            seeds, sigmas = [each.seed for each in chosen], [each.sigma for each in chosen]
            self._call("es_directions", listed(seeds), listed(sigmas))
            slots = {direction: slot for slot, direction in enumerate(chosen, 1)}
        elif chosen:
            self._call("es_apply", chosen[0].seed, chosen[0].sigma)
        else:
            self._call("es_restore")
        self._perturbed = bool(chosen)
        return slots

    def update(self, seeds: Sequence[int], weights: Sequence[float], alpha: float) -> UpdateReport:
        """Move the weights; see ``operators.model.Model``.

        Raises:
            ModelError: an earlier update was interrupted half way.
            UpdateRefused: a weight would leave the range of its format.
        """
        self.check()
        started = time.perf_counter()
        self._torn = True
        result = self._call("es_update", listed(seeds), listed(map(float, weights)), float(alpha))
        self._torn = False
        if "refused" in result:
            raise UpdateRefused(result["refused"])
        self.hash = result["hash"]
        return UpdateReport(
            norm=result["norm"],
            weights_hash=self.hash,
            moved=result["moved"],
            seconds=time.perf_counter() - started,
        )

    def reset(self) -> None:
        """Put the base weights back. An update that was interrupted half way is mended by it."""
        self._torn = True
        self.hash = self._call("es_reset")
        self._torn = False
