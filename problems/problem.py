"""What a problem is: everything the search needs to know about one combinatorial task."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

Splits = Mapping[str, tuple[int, ...]]


@dataclass(frozen=True)
class Skeleton:
    """A heuristic with one hole, for models too small to write a whole function.

    The candidate's code is ``prefix + completion + suffix``. ``prefix`` ends in an open assignment
    such as ``    score =``; ``suffix`` starts with a newline and returns the decision. ``hint``
    tells the model in a line or two what the named features are and what the hole has to hold.
    ``lead`` is a start of the completion that models are held to, such as the main feature: it keeps
    most of what a small model writes in the right shape. Empty: they start from nothing.
    """

    prefix: str
    suffix: str
    hint: str
    lead: str = ""


@dataclass(frozen=True)
class Reference:
    """A value to measure gaps against: ``value`` in objective units, ``source`` says how it is known."""

    value: float
    source: str


@dataclass(frozen=True)
class Instance:
    """One instance of a file: ``array`` as ``Problem.run`` takes it, first axis of length 1.

    ``name`` is what the file calls it; ``best`` is the best objective known for it, if any.
    """

    name: str
    array: np.ndarray
    best: Reference | None = None


@dataclass(frozen=True)
class Problem:
    """One combinatorial task. A problem module defines exactly one, named ``problem``.

    Attributes:
        name: command-line name, lower case with dashes.
        title: one line for listings.
        description: what the prompt says about the task.
        function: name of the function a candidate has to define.
        arguments: its parameter names, in order.
        template: the whole function as free-style models are asked for it: imports, signature with
            type annotations and a docstring giving shapes and the meaning of the result.
        skeleton: the same function with one hole, for small models.
        heuristics: known heuristics by name, as source; the first is the simplest.
        sizes: sizes on offer for each of the splits ``train``, ``val`` and ``test``; first = default.
        instances: ``(split, size) -> array`` of instances, reproduced from a fixed seed; first axis =
            instance. Unlisted splits or sizes raise ``ValueError``.
        run: ``(heuristic, instances) -> array`` of decisions. Runs inside the sandbox: it calls the
            candidate and returns plain int64 or float64 numbers, one row per instance.
        objective: ``(instances, decisions) -> float``. Runs in the trusted process: verifies the
            decisions and returns the mean objective (minimised). Raises ``InvalidSolution`` or
            ``NonFinite`` from ``evaluators.outcome``. For a ``seeded`` problem it also runs the solver
            that the decisions guide, and takes a third argument, the seed: instance ``i`` is solved
            with a generator seeded with ``seed + i``.
        reference: ``(split, size) -> Reference | None``.
        time_limit: CPU seconds a candidate may take on the training instances.
        decimals: decimals shown for objectives.
        seeded: whether the objective is that of a solver with a random generator of its own.
        chunk: most instances one process of a candidate is given (0: all), where decisions are large.
            Such an objective is a plain mean over instances, not rounded.
        apart: whether the candidate must not see all that ``run`` knows, such as what comes later. Then
            ``run`` has a process without the candidate, which it calls in another one: numbers and arrays
            go there, and a number or an array of numbers comes back. Each call costs some 50 microseconds.
        compiled: ``run`` once more, for a heuristic that Numba has compiled, with a compiled loop. It
            returns the same decisions, or raises where ``run`` would. Used where instances are many,
            and only if both forms decide alike on some of them. None: there is no such form.
        redraw: ``(seed, split, size) -> array`` of other instances, drawn as those of ``instances`` are,
            from any seed of 31 bits: same shape and dtype, the same for the same arguments. At the end
            of a run the best heuristic is checked on some. None: there are no other instances, or a
            problem file does not say.
        read: ``path -> instances`` of a file in a public format, for ``ahd evaluate --instances``. Raises
            ``BrokenInstanceFile`` from ``evaluators.instance_files.text``. None: it reads no files.
    """

    name: str
    title: str
    description: str
    function: str
    arguments: tuple[str, ...]
    template: str
    skeleton: Skeleton
    heuristics: Mapping[str, str]
    sizes: Splits
    instances: Callable[[str, int], np.ndarray]
    run: Callable[[Callable[..., Any], np.ndarray], np.ndarray]
    objective: Callable[..., float]
    reference: Callable[[str, int], Reference | None]
    time_limit: float = 10.0
    decimals: int = 5
    seeded: bool = False
    chunk: int = 0
    apart: bool = False
    compiled: Callable[[Callable[..., Any], np.ndarray], np.ndarray] | None = None
    redraw: Callable[[int, str, int], np.ndarray] | None = None
    read: Callable[[Path], Sequence[Instance]] | None = None
    origin: str = field(default="", compare=False)
    """File the problem was loaded from when it is not part of the package, else empty."""

    @property
    def simplest(self) -> tuple[str, str]:
        """Name and source of the simplest known heuristic."""
        return next(iter(self.heuristics.items()))
