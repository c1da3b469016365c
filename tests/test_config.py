"""Configuration: checked when made, the same after a round trip."""

import pytest

from ahd.config import ConfigError, Method, RunConfig, Style


def test_round_trip() -> None:
    """JSON gives back the same configuration, enums included."""
    config = RunConfig("tsp", method=Method.SAMPLE_ESOPT, style=Style.FREE, sigma=0.1 + 0.2)
    again = RunConfig.from_json(config.to_json())
    assert again == config
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
    ],
)
def test_bad_values_name_the_option(bad: dict[str, float]) -> None:
    """A value out of range is refused with one line that names the option."""
    with pytest.raises(ConfigError, match="--") as caught:
        RunConfig("tsp", **bad)  # type: ignore[arg-type]
    assert "\n" not in str(caught.value)


def test_a_newer_file_is_refused() -> None:
    """Unknown fields mean a newer version wrote the file."""
    with pytest.raises(ConfigError, match="update ahd"):
        RunConfig.from_json('{"problem": "tsp", "method": "eoh", "style": "auto", "wings": 2}')
