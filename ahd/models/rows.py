"""Directions that ride in the activations: each row of a batch is computed under its own.

A low-rank step of a linear layer adds ``s * (x . b) a / sqrt(r)`` to the output row y of an input row x,
and a relative step of a norm multiplies its output row by ``1 + s * eps``. Both need no changed weight and
no second copy of one, so one batch can hold as many directions as requests, and no rounding of the weights
stands between the step that is scored and the step that is updated with.

Directions are held in slots; slot 0 is the unperturbed model. A request names its slot in its id
(``ahd.models.tags``).

In a tensor-parallel engine each rank has the factors of its own rows and columns. Where it has columns only,
its x . b is a part of the whole one, and the ranks add theirs up.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch

from ahd.es.factors import COLUMNS, ROWS, factors
from ahd.es.noise import noises
from ahd.es.perturbation import Perturbation, Treatment
from ahd.models import row_kernels
from ahd.models.parameters import Parameter, Piece
from ahd.models.split import whole
from ahd.models.tags import slot_of
from operators.model import Direction


class Layout:
    """Which slot each row of the current batch belongs to. Rows of one request follow each other."""

    def __init__(self) -> None:
        self.active = False
        """Whether any row is perturbed."""
        self.version = 0
        """Changes whenever the slots of single rows change: what was gathered by them is stale then."""
        self.slots: list[int] = []
        self.lengths: list[int] = []
        self.by_request: torch.Tensor = torch.zeros(0, dtype=torch.long)
        self.by_row: Any = np.zeros(0, np.int64)
        """The slot of each row."""

    def set(self, slots: list[int], lengths: list[int]) -> None:
        """The slots of the requests in the batch, and how many rows each has now."""
        self.active = any(slots)
        self.lengths = lengths
        if self.active:
            self.by_row = np.repeat(np.array(slots, np.int64), lengths)
        if slots != self.slots:
            self.slots = slots
            self.by_request = torch.tensor(slots, dtype=torch.long)
            self.version += 1

    @property
    def rows(self) -> int:
        return sum(self.lengths)

    @property
    def single(self) -> bool:
        """Whether every request has one row, as when a batch writes its next tokens."""
        return self.rows == len(self.slots)

    def segments(self) -> list[tuple[int, slice]]:
        """Slot and rows of each perturbed request."""
        at = 0
        found = []
        for slot, length in zip(self.slots, self.lengths, strict=True):
            if slot:
                found.append((slot, slice(at, at + length)))
            at += length
        return found


class _Gathered:
    """Rows of a tensor of slots, gathered once as long as the batch is the same."""

    def __init__(self) -> None:
        self._version = -1
        self._value: Any = None

    def get(self, layout: Layout, make: Callable[[torch.Tensor], Any]) -> Any:
        if self._version != layout.version:
            self._version, self._value = layout.version, make(layout.by_request)
        return self._value


class LowRank:
    """The factors of one matrix of the engine, which may hold several Hugging Face matrices.

    ``right`` has shape (slots, pieces * rank, inputs), ``left`` (slots, rank, outputs), where each piece has
    its own outputs, ``bounds`` to ``bounds``; ``left`` holds the scale.

    Args:
        total: adds up what the ranks have found for x . b, where each holds a part of the inputs.
    """

    def __init__(
        self,
        pieces: Sequence[Piece],
        in_scope: Sequence[bool],
        outputs: int,
        rank: int,
        total: Callable[[torch.Tensor], torch.Tensor] | None = None,
    ) -> None:
        self.pieces = [(piece, used) for piece, used in zip(pieces, in_scope, strict=True)]
        self.outputs = outputs
        self.rank = rank
        self._total = total
        self.bounds = np.cumsum([0, *(piece.shape[0] for piece in pieces)])
        self.left = self.right = torch.zeros(0)
        self._steps: row_kernels.Steps | None = None

    def fill(self, directions: Sequence[Direction], like: torch.Tensor) -> None:
        """Make the factors of the directions, for slots 1, 2, ...; slot 0 stays zero."""
        inputs = self.pieces[0][0].shape[1]
        left = torch.zeros(len(directions) + 1, self.rank, self.outputs)
        right = torch.zeros(len(directions) + 1, self.rank * len(self.pieces), inputs)
        seeds = [direction.seed for direction in directions]
        scales = torch.tensor([direction.sigma / self.rank**0.5 for direction in directions])
        for number, (piece, used) in enumerate(self.pieces):
            if used:
                rows, columns = piece.block.index
                a = factors(seeds, piece.name, ROWS, rows.start, rows.stop, self.rank)
                b = factors(seeds, piece.name, COLUMNS, columns.start, columns.stop, self.rank)
                own = slice(self.bounds[number], self.bounds[number] + a.shape[1])
                left[1:, :, own] = torch.from_numpy(a).mT * scales[:, None, None]
                right[1:, number * self.rank : (number + 1) * self.rank] = torch.from_numpy(b).mT
        self.left, self.right = left.to(like.device), right.to(like.device)
        if self._total is None and row_kernels.supports(like):
            self._steps = row_kernels.Steps(self.right, self.left, self.bounds, self.rank, like.dtype)

    def clear(self) -> None:
        self.left = self.right = torch.zeros(0)
        self._steps = None

    def add(self, layout: Layout, x: torch.Tensor, y: torch.Tensor) -> None:
        """y += the step of each row's direction applied to x, in place.

        x has shape (rows, inputs), y (rows, outputs).
        """
        if self._steps is not None and self._steps.add(y, x, layout.by_row):
            return
        for slot, rows in layout.segments():
            dots = x[rows].float() @ self.right[slot].t()
            dots = dots if self._total is None else self._total(dots)
            for number, (piece, _) in enumerate(self.pieces):
                own = slice(self.bounds[number], self.bounds[number] + piece.shape[0])
                mine = dots[:, number * self.rank : (number + 1) * self.rank]
                y[rows, own] += mine @ self.left[slot][:, own]

    def add_rows(self, layout: Layout, tokens: torch.Tensor, y: torch.Tensor) -> None:
        """y += the step of each row's direction on the matrix's row of its token, in place: an embedding.

        tokens has shape (rows,), y (rows, inputs).
        """
        for slot, rows in layout.segments():
            y[rows] += self.left[slot][:, tokens[rows]].t() @ self.right[slot]


class Relative:
    """The factors ``1 + s * eps`` of the gain of one norm, shape (slots, width), float32."""

    def __init__(self, piece: Piece) -> None:
        self.piece = piece
        self.factors = torch.zeros(0)
        self._gathered = _Gathered()

    def fill(self, directions: Sequence[Direction], like: torch.Tensor) -> None:
        factors = torch.ones(len(directions) + 1, self.piece.size)
        eps = noises([direction.seed for direction in directions], self.piece.name, 0, self.piece.size)
        sigmas = torch.tensor([direction.sigma for direction in directions])
        factors[1:] += sigmas[:, None] * torch.from_numpy(eps)
        self.factors = factors.to(like.device)
        self._gathered = _Gathered()

    def clear(self) -> None:
        self.factors = torch.zeros(0)
        self._gathered = _Gathered()

    def scale(self, layout: Layout, y: torch.Tensor) -> None:
        """Multiply each row by its direction's factors, in place. y has shape (rows, ..., width)."""
        y = y.view(layout.rows, -1, self.piece.size)
        if layout.single:
            y *= self._gathered.get(layout, lambda slots: self.factors[slots].unsqueeze(1))
            return
        for slot, rows in layout.segments():
            y[rows] *= self.factors[slot]


class RowDirections:
    """Puts directions into the forward pass of the engine's model, by hooks that do nothing while no row
    is perturbed.

    Raises:
        ValueError: the engine lacks what the hooks hang on, or splits a layer in a way they cannot follow.
    """

    def __init__(
        self, runner: Any, model: Any, parameters: Sequence[Parameter], perturbation: Perturbation
    ) -> None:
        if not hasattr(runner, "_model_forward"):
            raise ValueError("this vLLM runs models in another way: directions cannot share a batch")
        self._runner = runner
        self._layout, self._last = Layout(), Layout()
        self._parts: list[tuple[LowRank | Relative, Parameter]] = []
        self._count = 0
        self._undo: list[Callable[[], None]] = []
        for parameter in parameters:
            treatments = [perturbation.treatment(piece.name, len(piece.shape)) for piece in parameter.pieces]
            if Treatment.RELATIVE in treatments:
                norm = Relative(parameter.pieces[0])
                self._parts.append((norm, parameter))
                self._after(parameter.modules[0], self._norm_hook(norm))
            elif Treatment.LOW_RANK in treatments:
                used = [treatment is Treatment.LOW_RANK for treatment in treatments]
                self._install_low_rank(model, parameter, used, perturbation.rank)
        forward = runner._model_forward

        def placed(*args: Any, **kwargs: Any) -> Any:
            self._place()
            return forward(*args, **kwargs)

        runner._model_forward = placed
        self._undo.append(lambda: setattr(runner, "_model_forward", forward))

    def fill(self, directions: Sequence[Direction]) -> None:
        """Take these directions into slots 1, 2, ...; none: free the slots."""
        self._count = len(directions)
        for part, parameter in self._parts:
            if directions:
                part.fill(directions, parameter.tensor.data)
            else:
                part.clear()

    def remove(self) -> None:
        """Take the hooks out."""
        while self._undo:
            self._undo.pop()()

    def _place(self) -> None:
        """Read from the runner which rows are whose, just before they are computed."""
        batch = self._runner.input_batch
        count = batch.num_reqs
        slots = [slot_of(name) for name in batch.req_ids[:count]]
        if slots and max(slots) > self._count:
            raise ValueError(f"a request asks for slot {max(slots)} of {self._count}")
        bounds = self._runner.query_start_loc.np[: count + 1]
        self._layout.set(slots, (bounds[1:] - bounds[:-1]).tolist())
        self._last.set(slots, [1] * count)

    def _install_low_rank(self, model: Any, parameter: Parameter, used: list[bool], rank: int) -> None:
        """Hang one set of factors on the modules of a parameter. An embedding whose rows are split needs
        those of all rows, since every rank has the tokens of all."""
        pieces = parameter.pieces
        split = not all(piece.block.is_whole for piece in pieces)
        total = None
        if split and pieces[0].block.is_narrow and parameter.modules[0].reduce_results:
            total = _sum_over_ranks
        matrix = LowRank(pieces, used, parameter.shape[0], rank, total)
        parts = [matrix]
        for module in parameter.modules:
            if split and not _can_follow(module):
                raise ValueError(f"--kind lowrank: {pieces[0].name} is split in a way that is not known here")
            if not hasattr(module, "org_vocab_size"):
                self._after(module, self._linear_hook(matrix))
            elif type(module).__name__ == "ParallelLMHead":
                self._wrap_head(model.logits_processor, matrix)
            else:
                if split:
                    tensor = pieces[0].block.whole
                    parts.append(LowRank([Piece(pieces[0].name, whole(tensor))], used, tensor[0], rank))
                self._after(module, self._embedding_hook(parts[-1]))
        self._parts += [(part, parameter) for part in parts]

    def _after(self, module: Any, hook: Callable[..., None]) -> None:
        self._undo.append(module.register_forward_hook(hook).remove)

    def _norm_hook(self, norm: Relative) -> Callable[..., None]:
        def hook(module: Any, args: Any, output: Any) -> None:
            if self._layout.active:
                norm.scale(self._layout, output[0] if isinstance(output, tuple) else output)

        return hook

    def _linear_hook(self, matrix: LowRank) -> Callable[..., None]:
        def hook(module: Any, args: Any, output: Any) -> None:
            if self._layout.active:
                matrix.add(self._layout, args[0], output[0] if isinstance(output, tuple) else output)

        return hook

    def _embedding_hook(self, matrix: LowRank) -> Callable[..., None]:
        def hook(module: Any, args: Any, output: Any) -> None:
            if self._layout.active:
                matrix.add_rows(self._layout, args[0], output)

        return hook

    def _wrap_head(self, processor: Any, matrix: LowRank) -> None:
        apply = processor._apply_head

        def applied(head: Any, hidden: torch.Tensor, bias: Any) -> torch.Tensor:
            logits = apply(head, hidden, bias)
            if self._last.active:
                matrix.add(self._last, hidden, logits)
            return logits

        processor._apply_head = applied
        self._undo.append(lambda: delattr(processor, "_apply_head"))


def _can_follow(module: Any) -> bool:
    """Whether a split layer takes and gives rows in the way the hooks take them: parts of its own inputs
    and outputs, embeddings whole."""
    if hasattr(module, "org_vocab_size"):
        return type(module).__name__ == "ParallelLMHead" or bool(module.reduce_results)
    return getattr(module, "input_is_parallel", True) and not getattr(module, "gather_output", False)


def _sum_over_ranks(dots: torch.Tensor) -> torch.Tensor:
    from vllm.distributed import tensor_model_parallel_all_reduce

    return tensor_model_parallel_all_reduce(dots.contiguous())
