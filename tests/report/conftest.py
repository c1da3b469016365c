"""One scripted run for all tests of reports: they only read it."""

from pathlib import Path

import pytest

from tests.report.runs import scripted


@pytest.fixture(scope="session")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run of the scripted model."""
    return scripted(tmp_path_factory.mktemp("report") / "run")
