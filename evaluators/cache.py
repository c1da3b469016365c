"""Where things that can be computed again are kept between commands."""

import os
from pathlib import Path


def cache_folder() -> Path:
    """``$AHD_CACHE``, else ``$XDG_CACHE_HOME/ahd``, else ``~/.cache/ahd``."""
    if chosen := os.environ.get("AHD_CACHE"):
        return Path(os.path.expanduser(chosen))
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "ahd"
