"""Finds the files of the model a command names."""

from pathlib import Path

from ahd.config import ConfigError
from ahd.models import embedded, names
from ahd.models.names import locate


def resolve_model(name: str) -> str:
    """What the engine is given for ``--model name``: a local folder or a Hugging Face id.

    The default model is built first when needed.

    Raises:
        ConfigError: nothing by that name.
    """
    if name == names.DEFAULT:
        return str(embedded.ensure())
    folder = locate(name)
    if folder is not None:
        return str(folder)
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HfHubHTTPError, LocalEntryNotFoundError

    patterns = ["*.json", "*.safetensors", "*.txt", "*.model", "*.jinja"]
    try:
        return snapshot_download(name, allow_patterns=patterns)
    except (HfHubHTTPError, LocalEntryNotFoundError, OSError) as error:
        reason = str(error).strip().splitlines()[0][:160] if str(error).strip() else type(error).__name__
        raise ConfigError(
            f"--model {name}: cannot be downloaded ({reason}): check the id and the network, "
            "or give a local folder"
        ) from error


def count_parameters(path: str) -> int:
    """Number of weights of the model in a local folder, from the headers of its safetensors files.

    Raises:
        ConfigError: there are none.
    """
    from safetensors import safe_open

    total = 0
    for file in Path(path).glob("*.safetensors"):
        with safe_open(file, framework="np") as tensors:
            for name in tensors.keys():  # noqa: SIM118 (not a mapping)
                size = 1
                for length in tensors.get_slice(name).get_shape():
                    size *= length
                total += size
    if not total:
        raise ConfigError(f"--model {path}: no safetensors files in it: convert the model to safetensors")
    return total
