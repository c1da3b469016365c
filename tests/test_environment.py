"""What a run file keeps of the machine."""

import os
import platform
import socket
from pathlib import Path

from ahd.environment import environment


def test_the_machine_is_told_without_names(tmp_path: Path) -> None:
    """Python, the processor and the versions are there; host, user and folders are not; a machine without
    /proc has its architecture."""
    told = environment()
    assert told["python"] == platform.python_version()
    assert "numpy" in told["packages"]
    text = " ".join(told.values())
    assert socket.gethostname() not in text.split()
    assert os.getcwd() not in text
    assert environment(tmp_path / "missing")["processor"].startswith(platform.machine())
