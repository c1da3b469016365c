"""How a budget of proposals is spent: the batches of a run, fixed before it starts."""

from dataclasses import dataclass

from ahd.config import Method

GENERATIONS = 25
DRAWS = 10
"""Proposals of one operator in one generation; m1 and m2 draw ``k`` times as many (arXiv 2608.17310)."""
TUNE = "tune"
"""The operator of batches that ``ahd.tuning`` makes, without the model."""
TURN = 6
"""Evaluations of such a batch: a generation of CMA-ES."""


@dataclass(frozen=True)
class Batch:
    """Proposals drawn together by one operator from one population."""

    number: int
    """1, 2, 3 ... over the run; 0 and below are the initial population's."""
    generation: int
    operator: str
    proposals: int
    perturbed: bool


@dataclass(frozen=True)
class Schedule:
    batches: tuple[Batch, ...]
    generations: int
    description: str

    @property
    def updates(self) -> int:
        """Batches that move the weights when the method learns."""
        return sum(batch.perturbed for batch in self.batches)


def _shares(total: int, weights: tuple[int, ...]) -> list[int]:
    """Split ``total`` in proportion to ``weights``, the largest remainders rounded up."""
    whole = sum(weights)
    parts = [total * weight // whole for weight in weights]
    order = sorted(range(len(weights)), key=lambda i: (-(total * weights[i] % whole), i))
    for i in order[: total - sum(parts)]:
        parts[i] += 1
    return parts


def _operators(method: Method, k: int) -> tuple[tuple[str, int, bool], ...]:
    """(operator, proposals, perturbed) of one generation, in order."""
    if method.evolves:
        moves = method.perturbs
        return (
            ("e1", DRAWS, False),
            ("e2", DRAWS, False),
            ("m1", DRAWS * k, moves),
            ("m2", DRAWS * k, moves),
        )
    half = DRAWS * (k + 1)
    return (("i1", half, method.perturbs), ("i1", half, method.perturbs))


def plan(method: Method, budget: int, tune: float = 0.0) -> Schedule:
    """The batches that spend ``budget`` proposals to the last one.

    Budgets 1000 (k=1) and 2000 (k=3) give the paper's schedule (arXiv 2608.17310): 25 generations of
    10 e1, 10 e2, 10k m1 and 10k m2. Other budgets take the largest k that leaves 25 generations or more, and
    k=1 with fewer generations below 1000. What is left makes one last, smaller generation split over
    the operators in the same proportion. The sampling methods spend
    each generation as two batches of i1, so that they make as many updates.

    The share ``tune`` of the budget, rounded down to whole turns, is spread over the ends of the
    generations; what is said above holds for the rest.

    Raises:
        ValueError: for a budget below 1.
    """
    if budget < 1:
        raise ValueError(f"budget {budget}: needs at least 1 proposal")
    turns = int(tune * budget) // TURN
    asked = budget - turns * TURN
    k = max(1, (asked // GENERATIONS - 2 * DRAWS) // (2 * DRAWS))
    operators = _operators(method, k)
    per_generation = sum(count for _, count, _ in operators)
    full, rest = divmod(asked, per_generation)
    generations = full + (rest > 0)
    batches: list[Batch] = []
    for generation in range(1, generations + 1):
        counts = [count for _, count, _ in operators]
        if generation > full:
            counts = _shares(rest, tuple(counts))
        for (operator, _, perturbed), count in zip(operators, counts, strict=True):
            if count:
                batches.append(Batch(len(batches) + 1, generation, operator, count, perturbed))
        for _ in range(turns * (generation - 1) // generations, turns * generation // generations):
            batches.append(Batch(len(batches) + 1, generation, TUNE, TURN, False))
    unit = " + ".join(f"{count} {operator}" for operator, count, _ in operators)
    words = f"{full} generation{'s' * (full > 1)} of {unit}" if full else ""
    if rest:
        last = " + ".join(
            f"{batch.proposals} {batch.operator}"
            for batch in batches
            if batch.generation > full and batch.operator != TUNE
        )
        words += (", then " if full else "one short generation of ") + last
    if turns:
        words += f", and {turns} turn{'s' * (turns > 1)} of {TURN} {TUNE}"
    elif tune:
        words += f", and no turn of {TURN} {TUNE}, for which the budget is too small"
    updates = sum(batch.perturbed for batch in batches) if method.learns else 0
    words += f" = {budget} proposals; " + (f"{updates} weight updates" if updates else "no weight updates")
    return Schedule(tuple(batches), generations, words)
