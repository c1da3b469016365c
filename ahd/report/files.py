"""Files that are written whole or not at all."""

import os
from contextlib import suppress
from pathlib import Path

from ahd.config import ConfigError


def replaced(path: Path, content: bytes, option: str) -> None:
    """Put ``content`` where ``path`` is, all or nothing; folders above it are made.

    Raises:
        ConfigError: it cannot be written there; names ``option`` as the mend.
    """
    draft = path.with_name(f".{path.name}.{os.getpid()}.new")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        draft.write_bytes(content)
        os.replace(draft, path)
    except OSError as error:
        with suppress(OSError):
            draft.unlink()
        raise ConfigError(f"{path}: cannot be written ({error.strerror}); choose another {option}") from None


def checked_name(path: Path, suffixes: tuple[str, ...], option: str) -> Path:
    """``path``, if it may be replaced by a file of this kind.

    Raises:
        ConfigError: it is a folder, or ends in another suffix: a report never replaces another file.
    """
    if path.is_dir() or path.suffix.lower() not in suffixes:
        raise ConfigError(f"{option} {path}: name a file that ends in {' or '.join(suffixes)}")
    return path
