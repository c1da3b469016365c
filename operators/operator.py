"""What an evolutionary operator is."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from operators import free, skeleton
from operators.parent import Parent
from operators.prompt import Prompt, Style
from problems.problem import Problem


class Operator(Protocol):
    """One way of asking for a new heuristic (EoH, arXiv 2401.02051, section 3.3)."""

    @property
    def name(self) -> str: ...

    @property
    def parents(self) -> int | None:
        """How many parents it wants; None: the run's choice (2 unless told otherwise)."""
        ...

    @property
    def perturbs(self) -> bool:
        """Whether its proposals come from perturbed weights and their rewards move the weights."""
        ...

    def prompt(
        self,
        problem: Problem,
        parents: Sequence[Parent],
        style: Style,
        decimals: int | None = None,
        notes: Sequence[str] = (),
    ) -> Prompt:
        """The prompt; objectives are shown with ``decimals`` (None: the problem's own). ``notes`` are lines
        on earlier attempts, shown just before what the operator asks (see ``operators.notes``).

        Raises:
            ValueError: on the wrong number of parents.
        """
        ...


@dataclass(frozen=True)
class PromptOperator:
    """An operator that is told apart by what it asks: ``free`` of a model that writes the whole
    function, ``skeleton`` of one that fills the hole."""

    name: str
    parents: int | None
    perturbs: bool
    free: str
    skeleton: str

    def prompt(
        self,
        problem: Problem,
        parents: Sequence[Parent],
        style: Style,
        decimals: int | None = None,
        notes: Sequence[str] = (),
    ) -> Prompt:
        wanted = self.parents
        if (len(parents) < 1) if wanted is None else (len(parents) != wanted):
            raise ValueError(f"{self.name} needs {wanted or 'some'} parents, not {len(parents)}")
        decimals = problem.decimals if decimals is None else decimals
        if style == "skeleton":
            return skeleton.render(problem, parents, self.skeleton, decimals, notes)
        return free.render(problem, parents, self.free, decimals, notes)
