"""The value that gaps are measured against."""

from collections.abc import Iterator, Mapping

from ahd.gap import relative_gap
from ahd.problem_check.finding import Finding, failed, ok, warning
from evaluators.task import BrokenProblemFile
from problems.check import reference_of
from problems.problem import Problem

FAR = 10.0
"""Gap from which the reference is likely to be of another unit or sign."""


def check_reference(problem: Problem, known: Mapping[str, float]) -> Iterator[Finding]:
    """Every split and size has one that is sane, or none; that of training is compared with ``known``, the
    objectives of known heuristics."""
    values = []
    try:
        for split, sizes in problem.sizes.items():
            values += [found.value for size in sizes if (found := reference_of(problem, split, size))]
    except BrokenProblemFile as error:
        yield failed("reference", str(error), "return None, or a Reference")
        return
    trained = reference_of(problem, "train", problem.sizes["train"][0])
    best = min(known.values(), default=None)
    if trained is None or best is None:
        yield ok("reference", f"{len(values)} of {sum(map(len, problem.sizes.values()))} sets have one")
        return
    gap = relative_gap(best, trained.value)
    value, reached = (f"{each:.{problem.decimals}f}" for each in (trained.value, best))
    told = f"{value} ({trained.source}), best known heuristic {reached}"
    if gap is None:
        yield warning("reference", told, "a reference of 0 has no relative gap: return None")
    elif gap < 0:
        mend = "it should be no worse than the heuristics: see its sign and what it is the mean of"
        yield warning("reference", told, mend)
    elif gap > FAR or trained.value * best < 0:
        yield warning("reference", told, "see its sign, its unit and what it is the mean of")
    else:
        yield ok("reference", f"{told}, gap {100 * gap:.1f}%")
