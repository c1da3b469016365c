"""Another process for what only shows there: numbers that depend on the process, and an objective that dies
or never ends on damaged decisions."""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from ahd.problem_check.damage import FEW, check_damage, decided, score
from ahd.problem_check.finding import Finding, Level, failed, ok
from ahd.problem_check.instances import SEEDS, digest
from ahd.problem_check.target import load_target
from evaluators.frames import clean, one_line
from problems.problem import Problem

LIMIT = 300.0
"""Seconds it may take, loops to compile included."""


def fingerprints(problem: Problem) -> dict[str, str]:
    """All that has to be the same in every process: instances, fresh ones, objectives of known heuristics."""
    train = problem.sizes["train"][0]
    found = {
        f"instances {split} {size}": digest(problem.instances(split, size))
        for split, sizes in problem.sizes.items()
        for size in sizes
    }
    if problem.redraw is not None:
        found |= {f"redraw {seed}": digest(problem.redraw(seed, "train", train)) for seed in SEEDS}
    instances = problem.instances("train", train)[:FEW]
    for name, source in problem.heuristics.items():
        found[f"objective of {name}"] = repr(
            float(score(problem, instances, decided(problem, source, instances)))
        )
    return found


def check_second(target: str, problem: Problem) -> Iterator[Finding]:
    """Compare with another process, and have it damage decisions."""
    mine = fingerprints(problem)
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "found.json"
        seed = "1" if os.environ.get("PYTHONHASHSEED") != "1" else "2"
        try:
            done = subprocess.run(
                [sys.executable, "-m", __name__, target, str(out)],
                env={**os.environ, "PYTHONHASHSEED": seed},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                timeout=LIMIT,
            )
        except subprocess.TimeoutExpired:
            mend = "refuse damaged decisions before anything is computed from them"
            yield failed("second process", f"does not end within {LIMIT:.0f} s", mend)
            return
        if not out.exists():
            last = clean(done.stderr.decode(errors="replace").strip().rpartition("\n")[2])
            found = f"ends with exit code {done.returncode}{f': {last}' * bool(last)}"
            yield failed("second process", found, "see that loading, instances and objective work anywhere")
            return
        told = json.loads(out.read_text())
    if "failed" in told:
        yield failed("second process", told["failed"], "make it work in every process as in this one")
        return
    others = [name for name, value in mine.items() if told["fingerprints"].get(name) != value]
    if others:
        mend = "draw from fixed seeds; depend on no hash, set order, clock or address"
        yield failed("second process", f"differ there: {', '.join(others)}", mend)
    else:
        yield ok("second process", f"the same {len(mine)} arrays and objectives")
    for each in told["findings"]:
        yield Finding(each["what"], Level(each["level"]), each["found"], each["mend"])


def main(target: str, out: str) -> None:
    """Write what there is to find into the file ``out``."""
    told: dict[str, object]
    try:
        problem = load_target(target)
        found = fingerprints(problem)
        told = {"fingerprints": found, "findings": [each.as_dict() for each in check_damage(problem)]}
    except (Exception, SystemExit) as error:
        told = {"failed": one_line(error)}
    draft = Path(out + ".new")
    draft.write_text(json.dumps(told))
    draft.replace(out)


if __name__ == "__main__":
    main(*sys.argv[1:])
