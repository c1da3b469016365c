"""A model folder in Hugging Face format with other weights in it: the base model's folder, file by file."""

import json
import os
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ahd.config import ConfigError
from ahd.models.weights import Masters

_BESIDE = ("*.json", "*.txt", "*.model", "*.jinja")
"""Tokenizer, chat template, settings: what an engine reads beside the weights."""
_OURS = ("config.json", "ahd.json", "ahd-files.json", "*.index.json")
"""Files of the base model that are written anew, or would be wrong for other weights."""


def check_free(out: Path) -> None:
    """Refuse a place where no folder can be made.

    Raises:
        ConfigError: something is there, or nothing can be written there.
    """
    place = out.resolve()
    if place.exists() and not (place.is_dir() and not any(place.iterdir())):
        raise ConfigError(f"--out {out}: there is something already: name a new or an empty folder")
    above = next(path for path in place.parents if path.exists())
    if not above.is_dir() or not os.access(above, os.W_OK | os.X_OK):
        raise ConfigError(f"--out {out}: cannot write there: choose another place")


def write_model(base: Path, masters: Masters, dtype: str, out: Path, about: Mapping[str, object]) -> None:
    """Write the model of folder ``base`` with the weights of ``masters`` into the folder ``out``.

    Tensors have the names, and lie in the files, that they have in the base. All of them are rounded to
    ``dtype``, and ``config.json`` says so. ``about`` becomes ``ahd.json``. The folder is whole from the
    moment it is there.

    Raises:
        ConfigError: ``out`` is not free, or the weights cannot be written.
    """
    check_free(out)
    place = out.resolve()
    place.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".ahd-export-", dir=place.parent) as work:
        folder = Path(work) / "model"
        folder.mkdir()
        for source in {file for pattern in _BESIDE for file in base.glob(pattern)}:
            if not any(source.match(pattern) for pattern in _OURS):
                shutil.copyfile(source, folder / source.name)
        _write_json(
            folder / "config.json", _with_dtype(json.loads((base / "config.json").read_text()), dtype)
        )
        _write_json(folder / "ahd.json", about)
        files = sorted(base.glob("*.safetensors"))
        size = sum(_write_tensors(file, masters, dtype, folder / file.name) for file in files)
        for source in base.glob("*.safetensors.index.json"):
            index = json.loads(source.read_text())
            metadata = index.get("metadata", {}) | {"total_size": size}
            _write_json(folder / source.name, index | {"metadata": metadata})
        os.rename(folder, place)


def _write_tensors(source: Path, masters: Masters, dtype: str, target: Path) -> int:
    """One file of weights: tensors in scope from the masters, the others from the base; their bytes."""
    import torch
    from safetensors import SafetensorError, safe_open
    from safetensors.torch import save_file

    tensors = {}
    with safe_open(source, framework="pt") as file:
        for name in file.keys():  # noqa: SIM118 (not a mapping)
            master = masters.arrays.get(name)
            tensor = file.get_tensor(name) if master is None else torch.from_numpy(master)
            tensors[name] = tensor.to(getattr(torch, dtype)).contiguous()
        metadata = file.metadata()
    try:
        save_file(tensors, target, metadata or {"format": "pt"})
    except SafetensorError as error:
        raise ConfigError(f"--out: cannot write {target.name} ({error}): free some space") from None
    # The library makes files that nobody but their owner can read.
    shutil.copymode(target.with_name("config.json"), target)
    return sum(tensor.nbytes for tensor in tensors.values())


def _with_dtype(config: dict[str, Any], dtype: str) -> dict[str, Any]:
    """The configuration with another number format, under the names that old and new readers look for."""
    keys = {"dtype", "torch_dtype"} & config.keys() or {"torch_dtype"}
    return config | dict.fromkeys(sorted(keys), dtype)


def _write_json(path: Path, data: Mapping[str, object]) -> None:
    path.write_text(json.dumps(data, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
