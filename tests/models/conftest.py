"""One live engine for all tests of the session."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture(scope="session")
def live(shallow: Path) -> Iterator[Any]:
    """The shallow model on a live engine; tests that use it leave its weights as they found them, unless
    they say otherwise."""
    from ahd.models import runtime

    runtime.set_environment()
    from ahd.models.live import LiveModel

    model = LiveModel(str(shallow), max_length=1024)
    yield model
    model.close()
