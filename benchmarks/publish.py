"""Put a finished comparison among the published ones, and print its rows for docs/results.md, and for
docs/better-search.md where arms of `eoh` have options.

    python benchmarks/publish.py results/compare-tsp-1a2b3c4d tsp-knapsack

It holds the summary as JSON and Markdown, the page and the runs as CSV; no path of this machine.
"""

import argparse
import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
PLACE = Path("results", "published", "comparisons")
BASE = "eoh"
"""The arm that differences are told to."""


def _p(value: float | None) -> str:
    """None where no two runs differ."""
    return "-" if value is None else f"{value:.3f}"


def _interval(difference: dict[str, Any]) -> str:
    low, mean, high = (difference[key] for key in ("low", "mean", "high"))
    return f"{mean:.4f}" if low is None else f"{mean:.4f} [{low:.4f}, {high:.4f}]"


def _against_base(setting: dict[str, Any], metric: str) -> dict[str, dict[str, Any]]:
    """The differences to ``BASE`` by arm."""
    return {
        each["arm"]: each
        for each in setting["differences"]
        if (each["metric"], each["against"]) == (metric, BASE)
    }


def rows(name: str, comparison: dict[str, Any]) -> list[list[str]]:
    """A row of the table of comparisons for each arm of each setting, as cells."""
    link = f"[{name}](../{PLACE}/{name}/summary.md)"
    found = []
    for setting in comparison["settings"]:
        digits = setting["decimals"]
        tests = _against_base(setting, "test")
        for arm in setting["arms"]:
            train, test, difference = arm["train"], arm["test"], tests.get(arm["arm"])
            told = ["-", "-"]
            if difference:
                told = [_interval(difference), _p(difference["p_holm"])]
            spread = [f"{each['mean']:.{digits}f} ± {each['sd']:.4f}" for each in (train, test)]
            cells = [link, setting["problem"], f"`{arm['arm']}`", str(train["count"]), *spread]
            found.append([*cells, f"{test['best']:.{digits}f}", *told])
    return found


def effects(comparison: dict[str, Any]) -> list[list[str]]:
    """What each option did to ``BASE``, as cells: the option, the problem, for training and test the
    difference with its interval, p and p by Holm's method, the seeds that were better on test, and the wall
    time and evaluations as multiples of those without."""
    found = []
    for setting in comparison["settings"]:
        spends = {arm["arm"]: arm["spend"] for arm in setting["arms"]}
        trains, tests = (_against_base(setting, metric) for metric in ("train", "test"))
        for label, test in tests.items():
            head, _, option = label.partition("+")
            if head != BASE:
                continue
            cells = [f"`{option}`", setting["problem"]]
            for each in (trains[label], test):
                cells += [_interval(each), f"{_p(each['p'])}, {_p(each['p_holm'])}"]
            cells.append(f"{test['wins']} of {len(test['seeds'])}")
            for key in ("wall_seconds", "evaluations"):
                cells.append(f"{spends[label][key] / spends[BASE][key]:.2f}")
            found.append(cells)
    return found


def publish(folder: Path, name: str) -> dict[str, Any]:
    """Copy what is published of the comparison in ``folder``, and return it."""
    from ahd.compare.folder import Folder  # here: beside this file, evaluators.py hides the package

    out = ROOT / PLACE / name
    found = Folder.open(folder)
    if found is None:
        raise SystemExit(f"{folder}: no comparison; give the folder of one, with its plan")
    comparison = json.loads((folder / "comparison.json").read_text())
    if any(len(setting["seeds"]) < 2 for setting in comparison["settings"]):
        raise SystemExit(f"{folder}: one seed has no spread; give a comparison of several")
    comparison["command"] = found.plan.command
    out.mkdir(parents=True, exist_ok=True)
    ahd = [sys.executable, "-m", "ahd"]
    subprocess.run([*ahd, "report", str(folder), "--markdown", str(out / "summary.md")], check=True)
    shutil.copy(folder / "report.html", out)
    (out / "comparison.json").write_text(json.dumps(comparison, indent=2) + "\n")
    subprocess.run([*ahd, "compare", "--folder", str(folder), "--csv", str(out / "runs.csv")], check=True)
    return comparison


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("folder", type=Path, help="of the comparison")
    parser.add_argument("name", help="of the published folder")
    given = parser.parse_args()
    comparison = publish(given.folder, given.name)
    for cells in [*rows(given.name, comparison), *effects(comparison)]:
        print(f"| {' | '.join(cells)} |")


if __name__ == "__main__":
    sys.path[0] = str(ROOT)
    main()
