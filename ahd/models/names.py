"""What ``--model`` may be."""

from pathlib import Path

from ahd.config import ConfigError

DEFAULT = "smollm2-135m"
DEFAULT_PARAMETERS = 134_515_008
"""Weights of the default model; its tied output layer is counted once."""


def locate(name: str) -> Path | None:
    """The model folder that ``name`` is; None for the default model and for a Hugging Face id.

    Raises:
        ConfigError: it can be none of these.
    """
    if name == DEFAULT:
        return None
    path = Path(name).expanduser()
    if (path / "config.json").is_file():
        return path
    if path.exists():
        raise ConfigError(f"--model {name}: no config.json in it: give a folder in Hugging Face format")
    if name.count("/") != 1 or name.startswith((".", "/", "~")) or name.endswith("/"):
        raise ConfigError(
            f"--model {name}: no such folder: give a model folder, a Hugging Face id such as "
            f"Qwen/Qwen2.5-Coder-0.5B-Instruct, {DEFAULT}, or scripted, the stand-in"
        )
    return None
