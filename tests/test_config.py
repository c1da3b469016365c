"""Configuration: checked when made, the same after a round trip."""

from dataclasses import replace

import pytest

from ahd.config import SANDBOX_MODES, ConfigError, Kind, Method, Reward, RunConfig, Shaping, Style
from evaluators.layers import Mode


def test_round_trip() -> None:
    """JSON gives back the same configuration, enums included."""
    config = RunConfig("tsp", method=Method.SAMPLE_ESOPT, style=Style.FREE, sigma=0.1 + 0.2)
    config = replace(config, kind=Kind.LOWRANK, rank=3, reward=Reward.NEW, shaping=Shaping.RANKS)
    again = RunConfig.from_json(config.to_json())
    assert again == config
    assert (again.kind, again.reward, again.shaping) == (Kind.LOWRANK, Reward.NEW, Shaping.RANKS)
    assert again.method.learns


@pytest.mark.parametrize(
    "bad",
    [
        {"budget": 9},
        {"budget": -1},
        {"population": 0},
        {"sigma": -1.0},
        {"sigma": float("nan")},
        {"alpha": float("inf")},
        {"top_p": 0.0},
        {"workers": 0},
        {"seed": -1},
        {"memory_mb": 1},
        {"parents": 0},
        {"rank": 0},
        {"rank": 2},
        {"momentum": 1.0},
        {"per_direction": 0},
        {"validity_floor": -0.1},
        {"patience": 0},
        {"tune": 0.91},
        {"tune": float("nan")},
        {"replicas": 0},
        {"kind": Kind.LOWRANK, "scope": "norms"},
        {"server": "http://host", "ray_address": "auto"},
        {"structured": True, "style": Style.FREE},
        {"structured": True, "model": "scripted"},
    ],
)
def test_bad_values_name_the_option(bad: dict[str, object]) -> None:
    """A value out of range, or against another option, is refused with one line that names the option."""
    with pytest.raises(ConfigError, match="--") as caught:
        RunConfig("tsp", **bad)  # type: ignore[arg-type]
    assert "\n" not in str(caught.value)


def test_the_command_says_what_is_not_usual() -> None:
    """Only options that differ from their defaults are spelt out, flags as flags."""
    assert RunConfig("tsp").command == "ahd run tsp --method esopt --budget 2000 --seed 1"
    command = RunConfig("tsp", antithetic=True, kind=Kind.LOWRANK, scope="layers.[0-3]").command
    assert command.endswith("--kind lowrank --scope 'layers.[0-3]' --antithetic")
    assert RunConfig("tsp", structured=True).command.endswith(" --structured")


def test_a_newer_file_is_refused() -> None:
    """Unknown fields mean a newer version wrote the file."""
    with pytest.raises(ConfigError, match="update ahd"):
        RunConfig.from_json('{"problem": "tsp", "method": "eoh", "style": "auto", "wings": 2}')


def test_the_sandbox_modes_are_those_of_the_sandbox() -> None:
    """A run can be told every mode there is, and no other."""
    assert set(SANDBOX_MODES) == {mode.value for mode in Mode}
