"""Seeds are pure functions of the run's seed and the purpose."""

from ahd.seeds import derive, generator


def test_derived_seeds_are_fixed() -> None:
    """The same purpose gives the same seed in every process and version: a pinned value."""
    assert derive(1, "request", 3, 4) == derive(1, "request", 3, 4)
    assert derive(1, "request", 3, 4) == 556469486


def test_purposes_do_not_collide() -> None:
    """Different seeds, names, batches or slots give different seeds, within 31 bits."""
    seeds = [
        derive(seed, name, batch, slot)
        for seed in range(3)
        for name in ("request", "direction")
        for batch in range(-3, 40)
        for slot in range(30)
    ]
    assert len(set(seeds)) >= len(seeds) - 1
    assert all(0 <= seed < 2**31 for seed in seeds)


def test_generators_are_independent_objects() -> None:
    """A generator's draws depend on its purpose alone."""
    assert generator(5, "parents", 1).random() == generator(5, "parents", 1).random()
    assert generator(5, "parents", 1).random() != generator(5, "parents", 2).random()
