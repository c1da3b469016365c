"""Put a finished comparison among the published ones, and print its rows for docs/results.md.

    python benchmarks/publish.py results/compare-tsp-1a2b3c4d tsp-knapsack

It holds the summary as JSON and Markdown, the page and the runs as CSV; no path of this machine.
"""

import argparse
import json
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path[0] = str(ROOT)
PLACE = Path("results", "published", "comparisons")
_OWN = ("--out", "--folder", "--csv")
"""Options of a command that name places on one machine."""


def portable(command: str) -> str:
    """``command`` without the options that name places."""
    words = iter(shlex.split(command))
    kept = []
    for word in words:
        if word in _OWN:
            next(words, None)
        elif not word.startswith(tuple(f"{each}=" for each in _OWN)):
            kept.append(word)
    return shlex.join(kept)


def rows(name: str, comparison: dict[str, Any]) -> list[str]:
    """A row of the table of comparisons for each arm of each setting."""
    link = f"[{name}](../{PLACE}/{name}/summary.md)"
    found = []
    for setting in comparison["settings"]:
        digits = setting["decimals"]
        tests = {
            each["arm"]: each
            for each in setting["differences"]
            if each["metric"] == "test" and each["against"] == "eoh"
        }
        for arm in setting["arms"]:
            train, test, difference = arm["train"], arm["test"], tests.get(arm["arm"])
            told = ["-", "-"]
            if difference:
                low, mean, high = (difference[key] for key in ("low", "mean", "high"))
                told = [f"{mean:.4f} [{low:.4f}, {high:.4f}]", f"{difference['p_holm']:.3f}"]
            spread = [f"{each['mean']:.{digits}f} ± {each['sd']:.4f}" for each in (train, test)]
            cells = [link, setting["problem"], f"`{arm['arm']}`", str(train["count"]), *spread]
            cells += [f"{test['best']:.{digits}f}", *told]
            found.append(f"| {' | '.join(cells)} |")
    return found


def publish(folder: Path, name: str) -> list[str]:
    """Copy what is published of the comparison in ``folder``; the rows for its arms."""
    out = ROOT / PLACE / name
    out.mkdir(parents=True, exist_ok=True)
    comparison = json.loads((folder / "comparison.json").read_text())
    comparison["command"] = portable(comparison["command"])
    ahd = [sys.executable, "-m", "ahd"]
    subprocess.run([*ahd, "report", str(folder), "--markdown", str(out / "summary.md")], check=True)
    shutil.copy(folder / "report.html", out)
    (out / "comparison.json").write_text(json.dumps(comparison, indent=2) + "\n")
    subprocess.run([*ahd, "compare", "--folder", str(folder), "--csv", str(out / "runs.csv")], check=True)
    return rows(name, comparison)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("folder", type=Path, help="of the comparison")
    parser.add_argument("name", help="of the published folder")
    given = parser.parse_args()
    print(*publish(given.folder, given.name), sep="\n")


if __name__ == "__main__":
    main()
