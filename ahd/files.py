"""Files that are written whole or not at all."""

import os
from contextlib import suppress
from pathlib import Path


def write_whole(path: Path, content: bytes) -> None:
    """Put ``content`` where ``path`` is: the file is there whole, or as it was, and nothing else is left.

    Raises:
        OSError: it cannot be written there.
    """
    draft = path.with_name(f"{path.name}.new")
    try:
        draft.write_bytes(content)
        os.replace(draft, path)
    except OSError:
        with suppress(OSError):
            draft.unlink()
        raise
