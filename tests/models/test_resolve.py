"""--model takes a folder, an id or the default name; anything else is one line with the mend."""

from pathlib import Path

import numpy as np
import pytest

from ahd.config import ConfigError
from ahd.models.resolve import count_parameters, resolve_model


@pytest.mark.parametrize("name", ["smollm-typo", "./missing", "/missing/folder", "a/b/c"])
def test_missing_models_are_config_errors(name: str) -> None:
    """Names that are neither a folder nor an id are refused without touching the network."""
    with pytest.raises(ConfigError, match="no such folder"):
        resolve_model(name)


def test_folders(tmp_path: Path) -> None:
    """A folder with a config.json is taken as it is; one without is refused."""
    with pytest.raises(ConfigError, match=r"no config\.json"):
        resolve_model(str(tmp_path))
    (tmp_path / "config.json").write_text("{}")
    assert resolve_model(str(tmp_path)) == str(tmp_path)


@pytest.mark.parametrize("file", ["config.json", "tokenizer_config.json"])
def test_a_model_that_brings_code_is_refused_unless_trusted(tmp_path: Path, file: str) -> None:
    """``auto_map`` would run Python files of the model with the user's rights: one line names the file and
    the option; nothing of the folder is imported."""
    (tmp_path / "config.json").write_text("{}")
    (tmp_path / file).write_text('{"auto_map": {"AutoConfig": "evil.Config"}}')
    (tmp_path / "evil.py").write_text("raise SystemExit('ran')")
    with pytest.raises(ConfigError, match=f"auto_map in {file}.*--trust-remote-code"):
        resolve_model(str(tmp_path))
    assert resolve_model(str(tmp_path), trusted=True) == str(tmp_path)


def test_parameters_are_counted_from_the_headers(tmp_path: Path) -> None:
    """The count is the number of elements over all safetensors files; a folder without any is refused."""
    save_file = pytest.importorskip("safetensors.numpy").save_file
    with pytest.raises(ConfigError, match="no safetensors files"):
        count_parameters(str(tmp_path))
    save_file({"a": np.zeros((3, 4), np.float32), "b": np.zeros(5, np.float32)}, tmp_path / "1.safetensors")
    save_file({"c": np.zeros((2, 2), np.float16)}, tmp_path / "2.safetensors")
    assert count_parameters(str(tmp_path)) == 21
