"""Runs the hostile candidates in one circumstance and prints what became of them, as one JSON object.

``python -m tests.evaluators.hostile_report [--without landlock] [--without seccomp] [--bound]``, from the
folder that holds the packages; ``--bound``: only those that a layer stands against. ``cases`` maps each name
to status, objective and the objective its decisions honestly have; ``wrong`` names those whose outcome is not
what has to hold here; ``touched`` what happened outside, by name; ``left`` those that left a process.
"""

import argparse
import contextlib
import json
import os
import select
import shutil
import socket
import tempfile
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Self

import numpy as np

from evaluators import candidate, layers
from evaluators.layers import Layer
from evaluators.outcome import Outcome
from evaluators.sandbox import Sandbox
from tests.evaluators.aftermath import eventually, leftovers
from tests.evaluators.hostile_cases import CASES, PROBLEMS, SMALLEST, Case

SECRET = "the secret of the canary"
MEMORY_MB = 512


class Surroundings:
    """What lies within reach of a candidate that is not confined: files anyone may change, and listeners."""

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="ahd-canary-"))
        self.canary = self.folder / "canary"
        self._rebuild()
        self._unix, self._abstract = str(self.folder) + ".socket", f"ahd-canary-{os.getpid()}"
        self._tcp, self._udp = self._listen(), self._listen(socket.SOCK_DGRAM)
        self._local = [socket.socket(socket.AF_UNIX), socket.socket(socket.AF_UNIX)]
        for listener, address in zip(self._local, (self._unix, "\0" + self._abstract), strict=True):
            listener.bind(address)
            listener.listen()
        os.chmod(self._unix, 0o777)
        self._names = {self._tcp: "TCP", self._udp: "UDP", self._local[0]: "UNIX", self._local[1]: "ABSTRACT"}

    @staticmethod
    def _listen(kind: socket.SocketKind = socket.SOCK_STREAM) -> socket.socket:
        listener = socket.socket(socket.AF_INET, kind)
        listener.bind(("127.0.0.1", 0))
        if kind is socket.SOCK_STREAM:
            listener.listen()
        return listener

    def _rebuild(self) -> None:
        with contextlib.suppress(FileNotFoundError):
            os.chmod(self.folder, 0o700)
            shutil.rmtree(self.folder)
        self.folder.mkdir()
        (self.folder / "empty").mkdir()
        (self.folder / "neighbour").write_text("here as well")
        self.canary.write_text(SECRET)
        for path in (self.folder, *self.folder.iterdir()):
            path.chmod(0o777)
        self._before = self._state()

    def _state(self) -> object:
        entries = [self.folder, *sorted(self.folder.iterdir())]
        kept = [(path.name, path.lstat().st_mode, path.lstat().st_mtime_ns) for path in entries]
        files = [path for path in entries if path.is_file() and not path.is_symlink()]
        return kept, [path.read_bytes() for path in files if os.access(path, os.R_OK)]

    def fill(self, source: str) -> str:
        """``source`` with the places it names."""
        places = {
            "@CANARY@": str(self.canary),
            "@FOLDER@": str(self.folder),
            "@TCP@": str(self._tcp.getsockname()[1]),
            "@UDP@": str(self._udp.getsockname()[1]),
            "@UNIX@": self._unix,
            "@ABSTRACT@": self._abstract,
        }
        for name, place in places.items():
            source = source.replace(name, place)
        return source

    def touched(self) -> list[str]:
        """What has changed or been reached since the last time; all is as before afterwards."""
        found = []
        if self._state() != self._before:
            found.append("files")
            self._rebuild()
        for listener in select.select(list(self._names), [], [], 0)[0]:
            found.append(self._names[listener])
            while select.select([listener], [], [], 0)[0]:
                if listener is self._udp:
                    listener.recv(1 << 16)
                else:
                    listener.accept()[0].close()
        return found

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for listener in self._names:
            listener.close()
        Path(self._unix).unlink()
        os.chmod(self.folder, 0o700)
        shutil.rmtree(self.folder)


@cache
def earned(problem: str, source: str) -> float:
    """The objective of what a harmless heuristic decides, computed here."""
    task = PROBLEMS[problem]
    instances = task.instances(*SMALLEST[problem])
    heuristic = candidate.load(source, task.function, task.arguments)
    with np.errstate(all="ignore"):
        decisions = task.run(heuristic, instances)
    return float(task.objective(instances, decisions, *([0] if task.seeded else [])))


def honest(case: Case) -> float:
    """The objective that ``case`` has when it is ok."""
    return earned(case.problem, case.honest or PROBLEMS[case.problem].simplest[1])


def run(sandbox: Sandbox, case: Case, surroundings: Surroundings) -> Outcome:
    """The outcome of one case."""
    split, size = SMALLEST[case.problem]
    source = surroundings.fill(case.source)
    return sandbox.submit(source, split, size, time_limit=case.limit).result(timeout=60)


def faults(case: Case, outcome: Outcome, layers: frozenset[Layer]) -> list[str]:
    """What is wrong with an outcome under these layers."""
    found = []
    if case.binding(layers):
        if outcome.status not in case.allowed:
            found.append(f"{outcome.status}, not {' or '.join(case.allowed)}: {outcome.detail}")
        if case.detail not in outcome.detail:
            found.append(f"{outcome.detail!r} does not tell of {case.detail!r}")
        if SECRET in outcome.detail:
            found.append("the secret came back")
    if outcome.objective is not None and outcome.objective != honest(case):
        found.append(f"scores {outcome.objective}, not {honest(case)}")
    if len(outcome.detail) > 500 or not (outcome.detail == "" or outcome.detail.isprintable()):
        found.append("its text is not fit to be shown")
    return found


def safe_here(case: Case, layers: frozenset[Layer]) -> bool:
    """Whether a case can be run: without the filter, one that signals a whole user is for root only."""
    return case.name != "looks at everyone" or os.geteuid() == 0 or Layer.SECCOMP in layers


def report(cases: Iterable[Case], without: Iterable[Layer]) -> dict[str, object]:
    """Run the cases, sorted by problem, with layers simulated absent."""
    lacking = dict.fromkeys(without, "simulated absent") | layers.missing()
    layers.missing = lambda: lacking  # type: ignore[assignment]
    told: dict[str, list[object]] = {}
    wrong: dict[str, list[str]] = {}
    touched: dict[str, list[str]] = {}
    left: list[str] = []
    force = layers.chosen(layers.Mode.AUTO)
    by_problem: dict[str, list[Case]] = {}
    for case in cases:
        if safe_here(case, force):
            by_problem.setdefault(case.problem, []).append(case)
    with Surroundings() as surroundings:
        for problem, own in by_problem.items():
            with Sandbox(PROBLEMS[problem], memory_mb=MEMORY_MB) as sandbox:
                for case in own:
                    outcome = run(sandbox, case, surroundings)
                    reached = surroundings.touched() + ["secret"] * (SECRET in outcome.detail)
                    own_score = honest(case) if outcome.ok else None
                    told[case.name] = [outcome.status, outcome.objective, own_score]
                    for kind, found in (
                        (wrong, faults(case, outcome, force)),
                        (touched, reached),
                    ):
                        if found:
                            kind[case.name] = found
                    if not eventually(lambda: not leftovers(sandbox.pids), 2.0):
                        left.append(case.name)
                simplest = sandbox.submit(PROBLEMS[problem].simplest[1], *SMALLEST[problem]).result()
                if simplest.objective != earned(problem, PROBLEMS[problem].simplest[1]):
                    wrong[problem] = [f"the simplest heuristic is {simplest} afterwards"]
    return {
        "layers": sorted(force),
        "user": os.geteuid(),
        "cases": told,
        "wrong": wrong,
        "touched": touched,
        "left": left,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--without", action="append", type=Layer, default=[])
    parser.add_argument("--bound", action="store_true")
    options = parser.parse_args()
    cases = [case for case in CASES if case.by] if options.bound else CASES
    print(json.dumps(report(cases, options.without)))


if __name__ == "__main__":
    main()
