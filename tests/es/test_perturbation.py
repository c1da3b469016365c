"""What a direction touches."""

import re

import pytest

from ahd.config import ConfigError, Kind, RunConfig
from ahd.es.perturbation import Perturbation, Treatment, is_gain, is_vocabulary, perturbation_of, scales

TENSORS = {
    "model.embed_tokens.weight": 2,
    "model.layers.0.self_attn.q_proj.weight": 2,
    "model.layers.0.self_attn.q_proj.bias": 1,
    "model.layers.0.self_attn.q_norm.weight": 1,
    "model.layers.0.mlp.down_proj.weight": 2,
    "model.layers.0.input_layernorm.weight": 1,
    "model.norm.weight": 1,
    "lm_head.weight": 2,
}
GAINS = {name for name in TENSORS if "norm" in name}
VOCABULARY = {"model.embed_tokens.weight", "lm_head.weight"}


def touched(perturbation: Perturbation) -> dict[str, Treatment]:
    found = {name: perturbation.treatment(name, dimensions) for name, dimensions in TENSORS.items()}
    return {name: treatment for name, treatment in found.items() if treatment is not Treatment.NONE}


def test_the_paper_moves_everything_additively() -> None:
    """Kind full and scope all: Gaussian noise on every tensor, biases and norms included."""
    assert touched(Perturbation()) == dict.fromkeys(TENSORS, Treatment.ADDITIVE)


def test_linear_is_the_matrices_inside_the_layers() -> None:
    """Scope linear leaves out the vocabulary, the norms and the biases, in both kinds."""
    for kind, treatment in ((Kind.FULL, Treatment.ADDITIVE), (Kind.LOWRANK, Treatment.LOW_RANK)):
        moved = touched(Perturbation(kind, "linear"))
        assert set(moved) == {name for name in TENSORS if "_proj.weight" in name}
        assert set(moved.values()) == {treatment}


def test_norms_are_the_gains_relatively() -> None:
    """Scope norms is all gains and nothing else, relative to their value."""
    assert touched(Perturbation(scope="norms")) == dict.fromkeys(GAINS, Treatment.RELATIVE)


def test_low_rank_moves_matrices_by_factors_and_gains_relatively() -> None:
    """Kind lowrank, scope all: every matrix by factors, every gain relatively, no bias."""
    moved = touched(Perturbation(Kind.LOWRANK))
    assert {name for name in moved if moved[name] is Treatment.RELATIVE} == GAINS
    assert {name for name in moved if moved[name] is Treatment.LOW_RANK} == {
        name for name in TENSORS if TENSORS[name] == 2
    }
    assert len(moved) == len(TENSORS) - 1


@pytest.mark.parametrize("kind", list(Kind))
@pytest.mark.parametrize("pattern", ["q_proj", r"layers\.0\.mlp", "^lm_head"])
def test_a_regular_expression_chooses_by_name(kind: Kind, pattern: str) -> None:
    """Any other scope is searched for in the names."""
    moved = touched(Perturbation(kind, pattern))
    expected = {name for name in TENSORS if re.search(pattern, name)}
    if kind is Kind.LOWRANK:
        expected -= {name for name in expected if name.endswith("bias")}
    assert set(moved) == expected


def test_a_scope_that_is_no_pattern_is_refused_in_one_line() -> None:
    """The message names the option and the mend."""
    with pytest.raises(ConfigError, match=r"--scope \(: no regular expression .* all, linear or norms"):
        Perturbation(scope="(")


def test_only_steps_that_need_no_changed_matrix_share_a_batch() -> None:
    """Low rank and norms ride in the activations; the paper's noise does not."""
    assert Perturbation(Kind.LOWRANK, "linear").batched
    assert Perturbation(scope="norms").batched
    assert not Perturbation().batched
    assert not Perturbation(scope="linear").batched


def test_names_tell_what_a_tensor_is() -> None:
    """Gains are vectors of norms; the vocabulary is the embedding and the output layer."""
    assert {name for name, dimensions in TENSORS.items() if is_gain(name, dimensions)} == GAINS
    assert {name for name in TENSORS if is_vocabulary(name)} == VOCABULARY


def test_what_a_run_says_goes_before_the_defaults() -> None:
    """sigma and alpha given in the configuration are taken as they are; otherwise they fit kind and scope."""
    assert scales(RunConfig("tsp", sigma=0.5, alpha=0.25)) == (0.5, 0.25)
    assert scales(RunConfig("tsp", kind=Kind.FULL, scope="all")) == (1e-3, 5e-4)
    config = RunConfig("tsp", kind=Kind.LOWRANK, scope="linear", rank=3)
    assert perturbation_of(config) == Perturbation(Kind.LOWRANK, "linear", 3)
