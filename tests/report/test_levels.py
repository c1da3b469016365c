"""Lines to compare with in the convergence figure."""

from itertools import combinations

from ahd.report.levels import LINE, levels


def test_the_best_known_is_always_there() -> None:
    """The reference and the best known heuristic are drawn however near they are; another only where its name
    touches none."""
    always = [("reference", 5.70), ("farthest insertion", 5.72)]
    others = [("near", 5.74), ("nearest neighbour", 6.8), ("outside", 9.0)]
    found = levels(always, others, 5.0, 7.0)
    assert [(each.name, each.value) for each in found] == [*always, ("nearest neighbour", 6.8)]


def test_names_do_not_touch() -> None:
    """The middles of two names are as far apart as the lines of both need."""
    always = [("best known heuristic", 1.0), ("reference", 1.0)]
    others = [(f"heuristic {number}", 1 + number / 20) for number in range(20)]
    for one, other in combinations(levels(always, others, 0.5, 2.0), 2):
        lines = len(one.text.split("\n")) + len(other.text.split("\n"))
        assert abs(one.at - other.at) > 1.5 * LINE * lines / 2 - 1e-9
