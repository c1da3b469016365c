"""A model that writes what a function tells it to, with a few real weights: for tests and dry runs."""

import random
import re
import time
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from ahd.es.noise import Float32
from ahd.es.perturbation import Perturbation
from ahd.models.weights import Masters
from operators.model import Direction, Model, Reply, Request, UpdateReport

Write = Callable[[Request, Float32], str]
"""From a request and the weights it is answered with, perturbed or not (64 float32), to the reply."""

_MATRIX, _GAINS = "script.proj.weight", "script.norm.weight"


def _base() -> list[tuple[str, Float32]]:
    return [(_MATRIX, np.zeros((7, 8), np.float32)), (_GAINS, np.ones(8, np.float32))]


class ScriptedModel:
    """Implements ``operators.model.Model`` without an engine.

    It has a matrix of 7 by 8 zeros and the gains of a norm, 8 ones, perturbed and updated with the same
    noise and the same arithmetic as a live model's, so that replies can depend on them. Replies come in
    order, at once, and are cut at stop strings; a token is a word.
    """

    def __init__(
        self, write: Write, name: str = "scripted", perturbation: Perturbation | None = None
    ) -> None:
        self._write = write
        self._name = name
        self._masters = Masters(_base(), perturbation or Perturbation())

    @property
    def name(self) -> str:
        return self._name

    @property
    def parameters(self) -> int:
        return self._masters.count

    @property
    def weights(self) -> Float32:
        """A copy of the weights, the matrix first."""
        return self._under(None)

    def _under(self, direction: Direction | None) -> Float32:
        """All weights, moved along a direction."""
        parts = []
        for name, base in _base():
            if name not in self._masters.arrays:
                parts.append(base.ravel())
            elif direction is None:
                parts.append(self._masters.arrays[name].ravel().copy())
            else:
                chunks = self._masters.perturbed(name, direction.seed, direction.sigma)
                parts += [values.copy() for _, values in chunks]
        return np.concatenate(parts)

    def generate(
        self, requests: Sequence[Request], directions: Sequence[Direction | None]
    ) -> Iterator[tuple[int, Reply]]:
        """See ``operators.model.Model``."""
        for index, (request, direction) in enumerate(zip(requests, directions, strict=True)):
            started = time.perf_counter()
            weights = self._under(direction)
            moved = time.perf_counter()
            text = self._write(request, weights)
            for stop in request.stop:
                text = text.partition(stop)[0]
            yield (
                index,
                Reply(
                    text=text,
                    prompt_tokens=len((request.prompt + " " + request.prefill).split()),
                    completion_tokens=len(text.split()),
                    seconds=time.perf_counter() - moved,
                    perturb_seconds=moved - started,
                ),
            )

    def update(self, seeds: Sequence[int], weights: Sequence[float], alpha: float) -> UpdateReport:
        """See ``operators.model.Model``."""
        started = time.perf_counter()
        norm, moved = self._masters.update(
            seeds, weights, alpha, lambda before, after: int(np.count_nonzero(before != after))
        )
        return UpdateReport(norm, self._masters.hash(), moved, time.perf_counter() - started)

    def reset(self) -> None:
        """See ``operators.model.Model``."""
        self._masters.replace(_base())

    def weights_hash(self) -> str:
        return self._masters.hash()

    def close(self) -> None:
        """Nothing to do."""


_FEATURE = "near"
_GOOD = (
    "",
    " * {a} - {b} * home",
    " - {a} * home + {b} * rest",
    " - {b} * rest",
    " * (1 + {a} * home)",
    " ** 0.5 - {a} * np.sqrt(home)",
)
_BAD = (
    " / unknown_name",
    "[:, 0]",
    ".sum()",
    " +",
    " - ({a} * home",
    " * np.nan",
)


def _completion(request: Request, weights: Float32) -> str:
    """Goes on after the skeleton's first feature, as the seed and the weights (where they have moved)
    choose. Of another problem than ``tsp``, its arguments and features stand for those named in the forms."""
    features = re.findall(r"^ +(\w+) = ", request.prefill.rpartition("\n")[0], re.MULTILINE)
    if not features or "home" in features:
        return _continued(request, weights, _FEATURE)
    text = _continued(request, weights, request.prefill.rpartition("=")[2].strip() or features[0])
    names = [*_arguments(request.prefill), *features]
    draw = random.Random(f"{request.seed} names")
    return re.sub(r"\b(home|rest)\b", lambda found: draw.choice(names), text)


def _arguments(code: str) -> list[str]:
    """The names of the arguments of the last function that begins in ``code``."""
    found = re.findall(r"^def \w+\(([^)]*)\)", code, re.MULTILINE)
    return re.findall(r"(\w+)(?:\s*[:=][^,]*)?(?:,|$)", found[-1]) if found else []


def _continued(request: Request, weights: Float32, feature: str) -> str:
    start = "" if request.prefill.endswith(feature) else f" {feature}"
    if request.temperature == 0:
        return start + _GOOD[1].format(a=1, b=0.5)
    draw = random.Random(f"{request.seed} {float(weights.sum()):.6g}")
    form = draw.choice(_GOOD if draw.random() < 0.6 else _BAD)
    return start + form.format(a=f"{draw.uniform(0.1, 1.2):.3f}", b=f"{draw.uniform(0.05, 0.9):.3f}")


def scripted_tsp(perturbation: Perturbation | None = None) -> Model:
    """A scripted model that completes the skeleton of ``tsp``, and somehow those of other problems: about 60%
    of its replies run, the others fail in various ways. The user's ``--model scripted``; no engine is
    loaded."""
    return ScriptedModel(_completion, perturbation=perturbation)
