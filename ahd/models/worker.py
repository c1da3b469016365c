"""The part of the live model that runs inside the vLLM worker: weights perturbed and updated in place.

Noise and masters are named by Hugging Face tensor and indexed by its flat, row-major index, also where vLLM
fuses several tensors into one (``qkv_proj``, ``gate_up_proj``). A perturbation is applied in one of two
ways (``Perturbation.batched``): written into the live weights, one direction at a time, or riding in the
activations, a direction per request (``ahd.models.rows``). Updates always go into the weights.

Under tensor parallelism every rank has a worker that perturbs and moves its own blocks
(``ahd.models.split``). All of them return the same, except for ``es_copies`` and ``es_stale``, which speak of
the blocks.

Load the engine with ``worker_extension_cls="ahd.models.worker.LiveWeights"``. All methods are called through
``collective_rpc``, by name and with scalars: several numbers are one string, with commas between them.
"""

import hashlib
import signal
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import torch

from ahd.config import Kind
from ahd.es.noise import Float32
from ahd.es.perturbation import Perturbation, Treatment
from ahd.models import cpu_speed, grammars, parameters
from ahd.models.parameters import Parameter
from ahd.models.ranks import ranks
from ahd.models.rows import RowDirections
from ahd.models.runtime import give_back_memory, keep_memory
from ahd.models.split import Split
from ahd.models.weights import Masters, read_tensors
from operators.model import Direction, UpdateRefused

parameters.install()
cpu_speed.install()
grammars.install()


class LiveWeights:
    """vLLM worker extension."""

    model_runner: Any
    _parameters: list[Parameter]
    _touched: list[Parameter]
    """Those with a tensor in scope."""
    _beside: dict[str, Float32]
    """Tensors out of scope that share a parameter with one in scope."""
    _split: Split
    _masters: Masters
    _rows: RowDirections | None = None
    _written: Direction | None = None

    def es_init(self, kind: str = "full", scope: str = "all", rank: int = 1) -> dict[str, Any]:
        """Copy the weights in scope into masters. Must be called before anything else here; a later call
        puts the base weights back and may choose another perturbation.

        Returns:
            ``parameters`` of the model, those ``in_scope``, its ``dtype``, ``hash`` of the weights.
        """
        give_back_memory()
        perturbation = Perturbation(Kind(kind), scope, rank)
        largest = float(torch.finfo(self._dtype).max)
        model = self.model_runner.get_model()
        if hasattr(self, "_masters"):
            self.es_reset()
        else:
            self._find(model)
        tensors = read_tensors(self._folder, self._dtype)
        self._masters = Masters(tensors, perturbation, largest, self._split)
        self._touched = [
            each for each in self._parameters if not _names(each).isdisjoint(self._masters.arrays)
        ]
        beside = {name for each in self._touched for name in _names(each)} - set(self._masters.arrays)
        self._beside = {
            name: self._split.cut(name, array)
            for name, array in (read_tensors(self._folder, self._dtype) if beside else ())
            if name in beside
        }
        if self._rows is not None:
            self._rows.remove()
        self._rows = (
            RowDirections(self.model_runner, model, self._parameters, perturbation)
            if perturbation.batched
            else None
        )
        give_back_memory()
        keep_memory()
        return {
            "parameters": self._masters.count,
            "in_scope": self._masters.in_scope,
            "dtype": str(self._dtype).removeprefix("torch."),
            "hash": self._masters.hash(),
        }

    def es_directions(self, seeds: str = "", sigmas: str = "") -> None:
        """Take directions into slots 1, 2, ...: requests that name a slot are answered under it. No seeds:
        free the slots. For perturbations that ride in the activations."""
        assert self._rows is not None, "this perturbation is written into the weights: use es_apply"
        pairs = zip(_numbers(seeds, int), _numbers(sigmas, float), strict=True)
        self._rows.fill([Direction(seed, sigma) for seed, sigma in pairs])

    def es_apply(self, seed: int, sigma: float) -> None:
        """Live weights = masters + sigma * noise(seed), rounded."""
        assert self._rows is None, "this perturbation rides in the activations: use es_directions"
        self._written = Direction(seed, sigma)
        self._write()

    def es_restore(self) -> None:
        """Live weights = masters, rounded: the same bits as before the perturbation."""
        self._written = None
        self._write()

    def es_update(self, seeds: str, weights: str, alpha: float) -> dict[str, Any]:
        """Move the masters (``Masters.update``) and make the live weights follow.

        Returns:
            ``norm`` of the step, share of live weights ``moved``, ``hash`` of the masters; or why the update
            is ``refused``.
        """

        def changed(before: Float32, after: Float32) -> int:
            old, new = (torch.from_numpy(array).to(self._dtype) for array in (before, after))
            return int((old != new).sum())

        try:
            norm, moved = self._masters.update(_numbers(seeds, int), _numbers(weights, float), alpha, changed)
        except UpdateRefused as error:
            return {"refused": str(error)}
        self.es_restore()
        return {"norm": norm, "moved": moved, "hash": self._masters.hash()}

    def es_reset(self) -> str:
        """Masters and live weights back to the files of the base model; their hash."""
        self._masters.replace(read_tensors(self._folder, self._dtype))
        self.es_restore()
        return self._masters.hash()

    def es_hash(self) -> str:
        return self._masters.hash()

    def es_names(self) -> list[str]:
        """The tensors in scope."""
        return list(self._masters.arrays)

    def es_copies(self) -> dict[str, str]:
        """SHA-256 of every copy of every tensor that the engine computes with, packed ones read back
        (``Parameter.copies``)."""
        return {
            name: hashlib.sha256(tensor.view(torch.uint8).numpy()).hexdigest()
            for name, tensor in self._live()
        }

    def es_stale(self) -> list[str]:
        """Names of live copies in scope that are not the rounded masters plus the direction that is written
        into the weights, if one is: empty when the engine computes with what it should."""
        stale = []
        for name, live in self._live():
            tensor = name.partition("@")[0]
            if tensor not in self._masters.arrays:
                continue
            for start, values in self._values(tensor):
                part = live[start : start + values.size]
                if not torch.equal(torch.from_numpy(values).to(live.dtype) + 0, part):
                    stale.append(name)
                    break
        return stale

    @property
    def _dtype(self) -> torch.dtype:
        return self.model_runner.model_config.dtype

    @property
    def _folder(self) -> Path:
        return Path(self.model_runner.model_config.model)

    def _find(self, model: torch.nn.Module) -> None:
        """Find the parameters.

        Raises:
            ValueError: this model cannot be split.
        """
        self._parameters = parameters.find(model)
        pieces = [piece for parameter in self._parameters for piece in parameter.pieces]
        self._split = Split({piece.name: piece.block for piece in pieces}, ranks())
        if self._split.size > 1:
            # In a terminal Ctrl-C goes to all processes. The first one ends the others when it is ready to.
            with suppress(ValueError):
                signal.signal(signal.SIGINT, signal.SIG_IGN)

    def _write(self) -> None:
        """Round masters, plus the direction written into the weights, into the live parameters."""
        for parameter in self._touched:
            parameter.write(self._values(piece.name) for piece in parameter.pieces)
        if any(parameter.removed for parameter in self._touched):
            give_back_memory()

    def _values(self, name: str) -> Iterable[tuple[int, Float32]]:
        """What the live copy of a tensor is rounded from: chunks, and the number of their first element."""
        if name in self._beside:
            return [(0, self._beside[name].reshape(-1))]
        written = self._written
        if written is None or self._masters.treatment(name) is not Treatment.ADDITIVE:
            return [(0, self._masters.arrays[name].reshape(-1))]
        return self._masters.perturbed(name, written.seed, written.sigma)

    def _live(self) -> Iterator[tuple[str, torch.Tensor]]:
        return (copy for parameter in self._parameters for copy in parameter.copies())


def _names(parameter: Parameter) -> set[str]:
    return {piece.name for piece in parameter.pieces}


def _numbers(text: str, kind: type) -> Sequence[Any]:
    return [kind(word) for word in text.split(",")] if text else []
