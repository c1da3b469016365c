"""Masters: their hash, their updates, what is refused."""

import hashlib

import numpy as np
import pytest

from ahd.config import ConfigError, Kind
from ahd.es.noise import noise
from ahd.es.perturbation import Perturbation
from ahd.models.scripted import scripted_tsp
from ahd.models.weights import Masters
from operators.model import UpdateRefused

SHAPES = {"b.proj.weight": (30, 20), "a.norm.weight": (20,), "c.embed_tokens.weight": (50, 20)}
KINDS = [
    Perturbation(),
    Perturbation(scope="norms"),
    Perturbation(Kind.LOWRANK, "all", 2),
    Perturbation(Kind.LOWRANK, "linear"),
    Perturbation(Kind.FULL, "proj|embed"),
]


def tensors() -> dict[str, np.ndarray]:
    rng = np.random.default_rng(1)
    return {name: rng.normal(1, 0.1, shape).astype(np.float32) for name, shape in SHAPES.items()}


@pytest.mark.parametrize("perturbation", KINDS, ids=str)
def test_the_hash_is_that_of_all_tensors_whatever_the_scope(perturbation: Perturbation) -> None:
    """Tensors out of scope count in the hash, which is defined without reference to the scope."""
    digest = hashlib.sha256()
    for name, array in sorted(tensors().items()):
        digest.update(name.encode() + hashlib.sha256(array.tobytes()).digest())
    masters = Masters(tensors().items(), perturbation)
    assert masters.hash() == digest.hexdigest()
    assert masters.count == sum(array.size for array in tensors().values())


@pytest.mark.parametrize("perturbation", KINDS, ids=str)
def test_an_update_is_the_sum_of_what_was_scored(perturbation: Perturbation) -> None:
    """alpha / N * sum w_i eps_i with eps_i read off the perturbed tensors themselves, in every treatment;
    the norm is that of the step; tensors out of scope stay."""
    masters = Masters(tensors().items(), perturbation)
    weights, seeds, alpha, sigma = [1.0, -0.5, 2.0], [3, 4, 3], 0.02, 0.01
    expected, squares = {}, 0.0
    for name, array in masters.arrays.items():
        step = np.zeros(array.size)
        for seed, weight in zip(seeds, weights, strict=True):
            moved = np.concatenate([v.copy() for _, v in masters.perturbed(name, seed, sigma)])
            step += alpha / 3 * weight * (moved.astype(np.float64) - array.ravel()) / sigma
        expected[name] = array.ravel() + step
        squares += float((step**2).sum())
    norm, _ = masters.update(seeds, weights, alpha)
    assert norm == pytest.approx(squares**0.5, rel=1e-3)
    for name, array in masters.arrays.items():
        np.testing.assert_allclose(array.ravel(), expected[name], atol=2e-6)


@pytest.mark.parametrize("perturbation", KINDS, ids=str)
def test_replacing_by_the_base_brings_back_the_hash(perturbation: Perturbation) -> None:
    """The hash follows every update and every reset, though only what changed is hashed again."""
    masters = Masters(tensors().items(), perturbation)
    before = masters.hash()
    masters.update([1], [1.0], 0.1)
    after = masters.hash()
    fresh = Masters(tensors().items(), perturbation)
    fresh.update([1], [1.0], 0.1)
    assert before != after == fresh.hash()
    masters.replace(tensors().items())
    assert masters.hash() == before


@pytest.mark.parametrize("perturbation", KINDS, ids=str)
def test_what_could_leave_the_range_is_refused_whole(perturbation: Perturbation) -> None:
    """An update whose bound passes the largest number of the format changes no tensor; one far from it
    is made."""
    masters = Masters(tensors().items(), perturbation, largest=65504.0)
    before = masters.hash()
    with pytest.raises(UpdateRefused, match="smaller --alpha"):
        masters.update([1, 2], [1.0, 1.0], 65504.0)
    assert masters.hash() == before
    masters.update([1, 2], [1.0, 1.0], 3.0)
    assert masters.hash() != before
    assert all(np.isfinite(array).all() for array in masters.arrays.values())


def test_relative_steps_scale_with_the_gain() -> None:
    """A gain moves by a share of itself: g (1 + s eps)."""
    masters = Masters(tensors().items(), Perturbation(scope="norms"))
    gain = masters.arrays["a.norm.weight"].copy()
    masters.update([7], [1.0], 0.5)
    eps = noise(7, "a.norm.weight", 0, 20)
    np.testing.assert_allclose(masters.arrays["a.norm.weight"], gain * (1 + 0.5 * eps), rtol=1e-6)


def test_a_scope_without_a_tensor_is_refused() -> None:
    """A direction that moves nothing is a mistake, told in one line, in every kind of model."""
    with pytest.raises(ConfigError, match="--scope nothing touches no weight of this model"):
        Masters(tensors().items(), Perturbation(scope="nothing"))
    with pytest.raises(ConfigError, match="touches no weight"):
        scripted_tsp(Perturbation(scope="nothing"))
