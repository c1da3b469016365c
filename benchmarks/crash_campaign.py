"""kill -9 at random moments: does every run come to the end of the uninterrupted one?

    python benchmarks/crash_campaign.py [--scripted 100] [--live 10] [--seed 1] [--json FILE]

Each trial starts a run and kills one of its processes at a moment drawn uniformly from the length of an
uninterrupted run: mostly the main process, else the sandbox's warm worker or the process of the candidate
that is being evaluated. A run whose main process was killed is resumed, up to two more times with another
kill (or begun again where it had not yet stored anything); any other has to go on by itself. The end is
compared with that of the uninterrupted run of the same seed: the same proposals row by row and the same
updates, both without their clocks, the same population, best heuristic and weights, exactly the budget
spent, every row that was stored before a kill unchanged, and no process left.

A live model's replies may depend on what else is in its batch, so that a resumed run can differ in its last
bits: where it does, the trial is `consistent` when the budget is met, the stored rows are unchanged and
`ahd weights rebuild` gets from the base weights and the log to every hash. Exit code 1 if a trial is neither
equal nor, with a live model, consistent.
"""

import argparse
import contextlib
import ctypes
import dataclasses
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
MODELS = {"scripted": ("scripted", 60), "live": ("smollm2-135m", 24)}
"""Value of ``--model`` and budget."""
TARGETS = ("main",) * 6 + ("worker",) * 2 + ("candidate",) * 2
RUN_SEEDS = {"scripted": 5, "live": 2}
"""How many seeds the trials share: each needs one uninterrupted run."""
MOST_RESUMED = 2
"""How often a resumed run is killed again, at most."""
LIMIT = 600.0
"""Seconds after which a run is taken to hang."""
GRACE = 3.0
"""Seconds that processes of a killed run have to be gone."""
CLOCKS = {"created", "model_seconds", "es_seconds", "evaluation_seconds", "seconds"}
_PR_SET_CHILD_SUBREAPER = 36


@dataclasses.dataclass(frozen=True)
class Strike:
    """What is killed, and when: seconds after the start of the process that works on the run."""

    target: str
    moment: float


@dataclasses.dataclass(frozen=True)
class Hit:
    """A kill that took place; of the main process also how many proposals and updates were stored then."""

    target: str
    moment: float
    proposals: int | None = None
    updates: int | None = None

    def __str__(self) -> str:
        stored = "" if self.proposals is None else f" ({self.proposals} stored)"
        return f"{self.target} at {self.moment:.2f} s{stored}"


@dataclasses.dataclass
class Trial:
    """What became of one run; ``faults`` are the ways in which it is not as it has to be."""

    model: str
    seed: int
    hits: list[Hit] = dataclasses.field(default_factory=list)
    resumed: int = 0
    begun_again: int = 0
    verdict: str = ""
    faults: list[str] = dataclasses.field(default_factory=list)
    seconds: float = 0.0

    def line(self, number: int) -> str:
        kills = ", ".join(map(str, self.hits)) or "nothing"
        again = f", begun again {self.begun_again}" if self.begun_again else ""
        text = f"{number:4} {self.model} seed {self.seed}: killed {kills}; resumed {self.resumed}{again}"
        return f"{text}: {'; '.join([self.verdict, *self.faults])} ({self.seconds:.1f} s)"


@dataclasses.dataclass(frozen=True)
class End:
    """What a run came to, without clocks."""

    proposals: list[dict[str, Any]]
    updates: list[dict[str, Any]]
    population: list[dict[str, Any]]
    finished: dict[str, Any]

    def differences(self, other: "End") -> list[str]:
        found = []
        for what in ("proposals", "updates"):
            mine, others = getattr(self, what), getattr(other, what)
            if len(mine) != len(others):
                found.append(f"{len(mine)} {what} instead of {len(others)}")
            for row, wanted in zip(mine, others, strict=False):
                if row != wanted:
                    names = ", ".join(name for name in wanted if row[name] != wanted[name])
                    found.append(f"{what} differ from number {row['id']} on: {names}")
                    break
        for what in ("population", "finished"):
            if getattr(self, what) != getattr(other, what):
                found.append(f"{what} differs")
        return found


# --- processes --------------------------------------------------------------------------------------


def adopt_orphans() -> None:
    """Become the parent of every process that a killed run leaves: none can go unseen."""
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def children(parent: int) -> list[int]:
    """Process ids of the children of a process that are no zombies."""
    found = []
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            with contextlib.suppress(OSError):
                state, owner = Path(f"/proc/{entry}/stat").read_text().rsplit(")", 1)[1].split()[:2]
                if int(owner) == parent and state != "Z":
                    found.append(int(entry))
    return found


def left_over() -> list[str]:
    """What is still there of a run whose main process has ended, killed now that it has been noticed."""
    deadline = time.monotonic() + GRACE
    while (alive := children(os.getpid())) and time.monotonic() < deadline:
        time.sleep(0.02)
    names = []
    for pid in alive:
        with contextlib.suppress(OSError):
            names.append(Path(f"/proc/{pid}/cmdline").read_text().replace("\0", " ")[:80])
            os.kill(pid, signal.SIGKILL)
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    return names


def victim(main: int, target: str) -> int | None:
    """The process to kill, if it is there now."""
    if target == "main":
        return main
    workers = [pid for pid in children(main) if _is_worker(pid)]
    if target == "worker" or not workers:
        return workers[0] if workers else None
    candidates = children(workers[0])
    return candidates[0] if candidates else None


def _is_worker(pid: int) -> bool:
    with contextlib.suppress(OSError):
        return b"multiprocess.spawn" in Path(f"/proc/{pid}/cmdline").read_bytes()
    return False


def launch(log: Path, *arguments: str) -> "subprocess.Popen[bytes]":
    """``ahd`` with these arguments, its events in ``log`` and its errors beside it."""
    with log.open("wb") as out, log.with_suffix(".err").open("wb") as errors:
        return subprocess.Popen(
            [sys.executable, "-m", "ahd", *arguments, "--display", "json"],
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=errors,
            cwd=ROOT,
            start_new_session=True,
        )


def begin(folder: Path, model: str, seed: int) -> "subprocess.Popen[bytes]":
    """Start a run, or go on with it where it has a run file."""
    from ahd.store import FILE

    log = folder.with_suffix(".jsonl")
    if (folder / FILE).exists():
        return launch(log, "resume", str(folder))
    name, budget = MODELS[model]
    settings = ("--model", name, "--budget", str(budget), "--seed", str(seed))
    return launch(log, "run", "tsp", *settings, "--out", str(folder))


def strike(process: "subprocess.Popen[bytes]", blow: Strike) -> float | None:
    """Kill what ``blow`` says; the moment of it, or None when the run ended before.

    A worker or candidate that is not there at the moment is waited for.
    """
    started = time.monotonic()
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(blow.moment)
        return None
    while process.poll() is None:
        pid = victim(process.pid, blow.target)
        if pid is not None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
                return time.monotonic() - started
        time.sleep(0.001)
    return None


# --- what a run came to -----------------------------------------------------------------------------


def end_of(folder: Path) -> End:
    """The end of a run that has just finished."""
    from ahd.store import Store

    with contextlib.closing(Store.open(folder)) as store:
        rows = [clockless(row) for row in store.proposals()]
        updates = [clockless(update) for update in store.updates()]
    events = [json.loads(line) for line in folder.with_suffix(".jsonl").read_text().splitlines()]
    population = [event["members"] for event in events if event["event"] == "evolved"][-1]
    last = {key: value for key, value in events[-1].items() if key not in ("time", "folder", "summary")}
    last["weights_hash"] = events[-1].get("summary", {}).get("weights_hash")
    return End(rows, updates, population, last)


def clockless(row: Any) -> dict[str, Any]:
    """A row as its values by name, without what a clock says."""
    return {name: value for name, value in dataclasses.asdict(row).items() if name not in CLOCKS}


def stored(folder: Path) -> tuple[list[Any], list[Any]]:
    """Proposals and updates in the run file, clocks and all; rewards apart, which a batch gets when it is
    complete."""
    from ahd.store import FILE, Store

    if not (folder / FILE).exists():
        return [], []
    with contextlib.closing(Store.open(folder)) as store:
        return [dataclasses.replace(row, reward=None) for row in store.proposals()], store.updates()


def rebuilds(folder: Path) -> str:
    """What is wrong with the log of updates; empty: it leads from the base weights to every hash."""
    command = [sys.executable, "-m", "ahd", "weights", "rebuild", str(folder)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    return "" if done.returncode == 0 else f"weights rebuild: {done.stderr.strip()[:200]}"


# --- trials -----------------------------------------------------------------------------------------


def uninterrupted(folder: Path, model: str, seed: int) -> tuple[End, float]:
    """The end of a run that nobody disturbs, and its seconds.

    Raises:
        RuntimeError: it fails.
    """
    started = time.monotonic()
    process = begin(folder, model, seed)
    if process.wait(LIMIT) != 0:
        raise RuntimeError(folder.with_suffix(".err").read_text()[-500:])
    return end_of(folder), time.monotonic() - started


def blows(draw: random.Random, length: float) -> list[Strike]:
    """What is killed in turn: once, and up to ``MOST_RESUMED`` times more in what is resumed."""
    count = 1 + draw.choice(range(MOST_RESUMED + 1))
    return [Strike(draw.choice(TARGETS), draw.uniform(0, length)) for _ in range(count)]


def run_trial(folder: Path, model: str, seed: int, plan: list[Strike], whole: End) -> Trial:
    """Carry out one trial."""
    from ahd.store import FILE

    trial, started = Trial(model, seed), time.monotonic()
    kept: tuple[list[Any], list[Any]] = [], []
    plan = list(plan)
    while True:
        process = begin(folder, model, seed)
        moment, blow = None, None
        if plan:
            blow = plan.pop(0)
            moment = strike(process, blow)
        if moment is not None and blow is not None and blow.target != "main":
            plan = []  # such a run goes on by itself to its end
        ended = _ended(process, trial)
        before, kept = kept, stored(folder)
        trial.faults += _lost(before, kept)
        if moment is not None and blow is not None:
            counts = (len(kept[0]), len(kept[1])) if blow.target == "main" else ()
            trial.hits.append(Hit(blow.target, round(moment, 3), *counts))
        trial.faults += [f"left a process: {name}" for name in left_over()]
        if not ended:
            break
        if process.returncode == -signal.SIGKILL:
            if (folder / FILE).exists():
                trial.resumed += 1
            else:
                trial.begun_again += 1
            continue
        if process.returncode != 0:
            errors = folder.with_suffix(".err").read_text().strip()
            trial.faults.append(f"exit code {process.returncode}: {errors[-200:]}")
        break
    if not trial.faults:
        _judge(trial, folder, whole)
    trial.verdict = trial.verdict or "UNEQUAL"
    trial.seconds = round(time.monotonic() - started, 2)
    return trial


def _ended(process: "subprocess.Popen[bytes]", trial: Trial) -> bool:
    try:
        process.wait(LIMIT)
    except subprocess.TimeoutExpired:
        trial.faults.append(f"did not end within {LIMIT:.0f} s")
        process.kill()
        process.wait()
        return False
    return True


def _lost(before: tuple[list[Any], list[Any]], after: tuple[list[Any], list[Any]]) -> list[str]:
    pairs = zip(("proposals", "updates"), before, after, strict=True)
    return [f"stored {what} have changed" for what, old, new in pairs if new[: len(old)] != old]


def _judge(trial: Trial, folder: Path, whole: End) -> None:
    """Compare the end of a run with that of the uninterrupted one."""
    end = end_of(folder)
    spent = sum(row["phase"] == "search" for row in end.proposals)
    if spent != MODELS[trial.model][1]:
        trial.faults.append(f"spent {spent}")
    if [row["id"] for row in end.proposals] != list(range(1, len(end.proposals) + 1)):
        trial.faults.append("proposals are missing or doubled")
    differences = end.differences(whole)
    if trial.model == "scripted":
        trial.faults += differences
    elif reason := rebuilds(folder):
        trial.faults.append(reason)
    if not trial.faults:
        trial.verdict = "consistent" if differences else "equal"


def campaign(model: str, count: int, seed: int, place: Path, tell: Callable[[str], None]) -> list[Trial]:
    """All trials of one model, one after the other."""
    draw = random.Random(f"{seed} {model}")

    def whole(run_seed: int) -> tuple[End, float]:
        end, length = uninterrupted(place / f"{model}-whole-{run_seed}", model, run_seed)
        tell(f"     {model} seed {run_seed}: uninterrupted {length:.1f} s, {len(end.proposals)} proposals")
        return end, length

    if model == "scripted":
        uninterrupted(place / "warm", model, 1)  # compiles what is not yet compiled, so that it is not timed
    wholes = [whole(run_seed) for run_seed in range(1, 1 + min(count, RUN_SEEDS[model]))]
    length = min(seconds for _, seconds in wholes)
    trials: list[Trial] = []
    while len(trials) < count:
        number = len(trials) + 1
        run_seed = 1 + len(trials) % len(wholes)
        folder = place / f"{model}-{number}"
        trial = run_trial(folder, model, run_seed, blows(draw, length), wholes[run_seed - 1][0])
        if trial.hits or trial.faults:  # else it ended before the moment came: drawn again
            trials.append(trial)
            tell(trial.line(number))
        if trial.verdict != "UNEQUAL":
            shutil.rmtree(folder)
    return trials


def summary(trials: list[Trial]) -> dict[str, Any]:
    """Counts over the trials of one model."""
    hits = Counter(hit.target for trial in trials for hit in trial.hits)
    return {
        "trials": len(trials),
        "verdicts": dict(Counter(trial.verdict for trial in trials)),
        "kills": sum(hits.values()),
        "kills_of": dict(hits),
        "resumed": sum(trial.resumed for trial in trials),
        "begun_again": sum(trial.begun_again for trial in trials),
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--scripted", type=int, default=100, help="trials with the scripted model")
    parser.add_argument("--live", type=int, default=10, help="trials with the shipped model")
    parser.add_argument("--seed", type=int, default=1, help="of what is killed and when")
    parser.add_argument("--keep", type=Path, help="a new folder for the runs; unequal ones stay there")
    parser.add_argument("--json", type=Path, help="also write the figures to this file")
    options = parser.parse_args()
    from benchmarks.machine import facts, write

    adopt_orphans()
    machine, told = facts(), {}
    everything: list[Trial] = []
    with tempfile.TemporaryDirectory() as temporary:
        place = options.keep or Path(temporary)
        place.mkdir(parents=True, exist_ok=True)
        for model, count in (("scripted", options.scripted), ("live", options.live)):
            if count:
                trials = campaign(model, count, options.seed, place, lambda line: print(line, flush=True))
                told[model] = summary(trials)
                everything += trials
    for model, counts in told.items():
        print(f"{model}: " + ", ".join(f"{name.replace('_', ' ')} {value}" for name, value in counts.items()))
    rows = [dataclasses.asdict(trial) for trial in everything]
    write(options.json, machine, seed=options.seed, budgets=MODELS, summary=told, trials=rows)
    return int(any(trial.verdict == "UNEQUAL" for trial in everything))


if __name__ == "__main__":
    sys.path[0] = str(ROOT)
    sys.exit(main())
