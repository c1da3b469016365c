"""2-opt and relocation: every move against its gain counted anew, local optima against all moves."""

import numpy as np
import pytest

from evaluators import local_search as search


def plane(n: int, seed: int) -> np.ndarray:
    points = np.random.RandomState(seed).rand(n, 2)
    return np.asarray(np.sqrt(((points[:, None] - points[None]) ** 2).sum(axis=-1)))


def plain_length(tour: list[int], d: np.ndarray) -> float:
    return sum(float(d[a, b]) for a, b in zip(tour, [*tour[1:], tour[0]], strict=True))


def every_neighbour(tour: list[int]) -> list[tuple[int, list[int]]]:
    """All tours one 2-opt or relocation away, each with the node that is moved or gets a new edge."""
    n = len(tour)
    found = []
    for i in range(n):
        for j in range(i + 1, n):
            changed = tour[:i] + tour[i : j + 1][::-1] + tour[j + 1 :]
            found += [(node, changed) for node in (tour[i], tour[j], tour[i - 1], tour[(j + 1) % n])]
    for i, node in enumerate(tour):
        rest = tour[:i] + tour[i + 1 :]
        found += [(node, [*rest[:k], node, *rest[k:]]) for k in range(n - 1)]
    return found


@pytest.mark.parametrize("n", [3, 4, 5, 6, 9])
def test_best_move_is_the_best_of_all(n: int) -> None:
    """With all nodes as neighbours, a move gains what the best of all moves of that node gains."""
    for seed in range(30):
        d = plane(n, seed)
        near = search.neighbours(d, n)
        start = np.random.RandomState(seed).permutation(n)
        for node in range(n):
            tour, position = start.copy(), np.argsort(start)
            touched = np.empty(5, dtype=np.int64)
            count = search.best_move(node, tour, position, d, near, search.least_gain(d), touched)
            assert sorted(tour) == list(range(n))
            assert (tour[position] == np.arange(n)).all()
            best = min(plain_length(t, d) for who, t in every_neighbour(start.tolist()) if who == node)
            reached = plain_length(tour.tolist(), d)
            assert reached == pytest.approx(min(best, plain_length(start.tolist(), d)))
            assert (count > 0) == (reached < plain_length(start.tolist(), d) - 1e-9)
            edges = lambda t: {frozenset((a, b)) for a, b in zip(t, np.roll(t, -1), strict=True)}  # noqa: E731
            changed = {int(node) for edge in edges(tour) ^ edges(start) for node in edge}
            assert changed <= set(touched[:count].tolist())


@pytest.mark.parametrize("n", [3, 4, 7, 20])
def test_descent_ends_in_a_local_optimum(n: int) -> None:
    """After a descent no 2-opt and no relocation shortens the tour, and it is no longer than before."""
    for seed in range(5):
        d = plane(n, seed)
        tour = search.nearest_neighbour(d)
        before, position = search.tour_length(tour, d), np.argsort(tour)
        search.descend(tour.copy(), tour, position, d, search.neighbours(d, n), search.least_gain(d))
        reached = search.tour_length(tour, d)
        assert reached <= before
        assert reached == pytest.approx(plain_length(tour.tolist(), d))
        assert all(plain_length(t, d) > reached - 1e-9 for _, t in every_neighbour(tour.tolist()))


def test_equal_places_and_distances() -> None:
    """Descents end where many distances are equal or zero."""
    for d in (np.zeros((8, 8)), np.ones((8, 8)) - np.eye(8)):
        tour = search.nearest_neighbour(d)
        assert tour.tolist() == list(range(8))
        search.descend(tour.copy(), tour, np.argsort(tour), d, search.neighbours(d, 3), search.least_gain(d))
        assert sorted(tour) == list(range(8))


def test_neighbours() -> None:
    """The nearest others, nearest first, never the node itself, at most all."""
    d = plane(12, 3)
    near = search.neighbours(d, 4)
    for node in range(12):
        assert near[node].tolist() == sorted(set(range(12)) - {node}, key=lambda other: d[node, other])[:4]
    assert search.neighbours(d, 50).shape == (12, 11)


def test_most_raised_edges() -> None:
    """The pairs raised most, in order, ties to the lower one; nothing where nothing is raised."""
    d = plane(9, 0)
    for seed in range(20):
        raises = np.random.RandomState(seed).randint(-3, 4, (9, 9)).astype(float)
        guided = search.symmetric(d + raises)
        np.testing.assert_allclose(guided, (d + raises + (d + raises).T) / 2)
        pairs = [(i, j) for i in range(9) for j in range(i + 1, 9) if guided[i, j] - d[i, j] > 1e-9]
        pairs.sort(key=lambda pair: (-round(guided[pair] - d[pair], 6), pair))
        assert [tuple(pair) for pair in search.most_raised(d + np.round(guided - d, 6), d, 5)][:1] == pairs[
            :1
        ]
        gains = [round(guided[i, j] - d[i, j], 6) for i, j in search.most_raised(guided, d, 5)]
        assert gains == [round(guided[pair] - d[pair], 6) for pair in pairs[:5]]
    assert len(search.most_raised(d, d, 5)) == 0
    whole = np.arange(81.0).reshape(9, 9) % 7
    found = search.most_raised(search.symmetric(whole + whole.T), np.zeros((9, 9)), 36)
    means = (whole + whole.T) / 1
    pairs = sorted(
        ((i, j) for i in range(9) for j in range(i + 1, 9) if means[i, j] > 0), key=lambda p: (-means[p], p)
    )
    assert [tuple(pair) for pair in found] == pairs
