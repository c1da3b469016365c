"""Finds the files of the model a command names."""

import json
from pathlib import Path

from ahd.config import ConfigError
from ahd.models import embedded, names
from ahd.models.names import locate

_ASKING = ("config.json", "tokenizer_config.json", "processor_config.json", "preprocessor_config.json")


def resolve_model(name: str, trusted: bool = False) -> str:
    """The local folder of the files of ``--model name``.

    The default model is built first when needed; others may be fetched. Python code that comes with a model
    is not fetched, and a model that asks for it is refused, unless it is ``trusted``.

    Raises:
        ConfigError: nothing by that name, or it brings code that is not trusted.
    """
    if name == names.DEFAULT:
        return str(embedded.ensure())
    folder = locate(name)
    if folder is not None:
        return _without_code(name, folder, trusted)
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HfHubHTTPError, LocalEntryNotFoundError

    patterns = ["*.json", "*.safetensors", "*.txt", "*.model", "*.jinja"] + ["*.py"] * trusted
    try:
        fetched = snapshot_download(name, allow_patterns=patterns)
    except (HfHubHTTPError, LocalEntryNotFoundError, OSError) as error:
        reason = str(error).strip().splitlines()[0][:160] if str(error).strip() else type(error).__name__
        raise ConfigError(
            f"--model {name}: cannot be downloaded ({reason}): check the id and the network, "
            "or give a local folder"
        ) from error
    return _without_code(name, Path(fetched), trusted)


def _without_code(name: str, folder: Path, trusted: bool) -> str:
    """``folder``, if nothing in it asks for Python code of its own, or that is trusted.

    Raises:
        ConfigError: it does, and is not.
    """
    for file in () if trusted else _ASKING:
        try:
            asks = "auto_map" in json.loads((folder / file).read_text(encoding="utf-8"))
        except (OSError, ValueError, TypeError):  # whoever reads the model says what is wrong
            continue
        if asks:
            raise ConfigError(
                f"--model {name}: brings Python code of its own (auto_map in {file}), which would run with "
                "your rights: use a model without, or add --trust-remote-code"
            )
    return str(folder)


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
