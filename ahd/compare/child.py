"""One run of a comparison in a process of its own."""

import json
import os
import shlex
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ahd.compare.plan import Planned
from evaluators.confine import die_with_parent

_CHUNK = 1 << 16
_FAULT = 300
"""Characters of a run's last words."""


class Child:
    """``ahd run`` or ``ahd resume`` beside this process. It ends when this process does, also when that is
    killed, and loses no more than a kill of its own would cost it.

    Start children from the main thread only: they end with the thread that started them.
    """

    def __init__(self, run: Planned, folder: Path, begun: bool, cores: Sequence[int], slot: int) -> None:
        self.run, self.folder, self.slot = run, folder, slot
        self.log = folder.with_name(folder.name + ".log")
        self._parent, self._cores, self._rest = os.getpid(), set(cores), b""
        words = (
            ["resume", str(folder)] if begun else [*shlex.split(run.config.command)[1:], "--out", str(folder)]
        )
        folder.parent.mkdir(parents=True, exist_ok=True)
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "ahd", *words, "--display", "json"],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=log,
                start_new_session=True,
                preexec_fn=self._before,
            )
        assert self.process.stdout is not None
        self.output = self.process.stdout
        os.set_blocking(self.output.fileno(), False)

    def _before(self) -> None:
        die_with_parent()
        if os.getppid() != self._parent:
            os._exit(1)
        if self._cores:
            os.sched_setaffinity(0, self._cores)

    def events(self) -> list[dict[str, Any]]:
        """What it has told since the last call (see ``ahd.display.jsonl``)."""
        try:
            while chunk := os.read(self.output.fileno(), _CHUNK):
                self._rest += chunk
        except BlockingIOError:
            pass
        *lines, self._rest = self._rest.split(b"\n")
        found = []
        for line in lines:
            try:
                event = json.loads(line)
            except ValueError:
                continue
            if isinstance(event, dict):
                found.append(event)
        return found

    @property
    def code(self) -> int | None:
        """Its exit code, below 0 for a signal; None while it runs."""
        return self.process.poll()

    def stop(self) -> None:
        """Ask it to store what it has and to end."""
        if self.code is None:
            self.process.terminate()

    def close(self) -> None:
        """End it if it still runs."""
        if self.code is None:
            self.process.kill()
        self.process.wait()
        self.output.close()

    def fault(self) -> str:
        """Why it ended before its run did, in one line."""
        code = self.code or 0
        if code < 0:
            return f"ended by {signal.Signals(-code).name}"
        lines = self.log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
        told = lines[-1].removeprefix("ahd: ")[-_FAULT:] if lines else ""
        return told or f"ended with exit code {code}"
