"""Parent selection and survival."""

import random
from collections import Counter

from ahd.population import Individual, Population


def make(*objectives: float) -> list[Individual]:
    return [Individual(objective, f"code {objective}", proposal=i) for i, objective in enumerate(objectives)]


def test_the_best_distinct_survive() -> None:
    """The best N with distinct objectives stay; among equals the earlier one."""
    population = Population(3)
    population.admit(make(5, 3, 3, 9, 4))
    assert [each.objective for each in population.members] == [3, 4, 5]
    assert population.best is not None
    assert population.best.proposal == 1
    population.admit([Individual(3, "late"), Individual(1, "new")])
    assert [each.objective for each in population.members] == [1, 3, 4]
    assert population.members[1].code == "code 3"


def test_selection_prefers_the_best_by_rank() -> None:
    """Rank r is drawn with probability proportional to 1 / (r + 1 + n)."""
    population = Population(4)
    population.admit(make(1, 2, 3, 4))
    rng = random.Random(0)
    draws = 40_000
    counts = Counter(population.select(1, rng)[0].objective for _ in range(draws))
    weights = [1 / (rank + 1 + 4) for rank in range(4)]
    for objective, weight in zip((1, 2, 3, 4), weights, strict=True):
        assert abs(counts[objective] / draws - weight / sum(weights)) < 0.01


def test_parents_are_distinct_and_best_first() -> None:
    """Several parents never repeat, and a small population gives all it has."""
    population = Population(5)
    population.admit(make(1, 2, 3))
    for seed in range(50):
        objectives = [each.objective for each in population.select(2, random.Random(seed))]
        assert objectives == sorted(set(objectives))
    assert len(population.select(9, random.Random(0))) == 3
    assert population.select(0, random.Random(0)) == []


def test_who_takes_a_place_leaves_none_over() -> None:
    """The replaced leaves before the worst is cut, also where the new one is an equal of another; a place
    taken of none in the population changes nothing."""
    population = Population(3)
    population.admit(make(1, 2, 3, 4))
    population.admit([Individual(0, "tuned", proposal=9, instead_of=1)])
    assert [each.objective for each in population.members] == [0, 1, 3]
    population.admit([Individual(3, "equal", proposal=10, instead_of=0), Individual(2.5, "x", instead_of=77)])
    assert [each.objective for each in population.members] == [0, 2.5, 3]
    assert population.members[-1].code == "code 3"
