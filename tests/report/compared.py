"""A made-up ``comparison.json``, whole or with parts missing."""

import json
import random
from pathlib import Path
from typing import Any

SEEDS = range(1, 11)


def comparison(hostile: str = "") -> dict[str, Any]:
    """Three arms of ten seeds with everything that a report can show."""
    rng = random.Random(1)
    arms, curves = [], {}
    for name, level in (("esopt" + hostile, 6.41), ("eoh", 6.46), ("noise", 6.44)):
        runs = []
        for seed in SEEDS:
            train = level + rng.gauss(0, 0.05)
            test = train + rng.gauss(-0.03, 0.02)
            runs.append({"seed": seed, "train": train, "test": test, "proposals": 200})
            runs[-1] |= {"tokens": 5000 + 10 * seed, "seconds": 74.0 + seed}
        arms.append({"name": name, "runs": runs})
        mean = [level + 0.9 / (1 + at / 20) for at in range(1, 201)]
        curves[name] = {
            "grid": list(range(1, 201)),
            "mean": mean,
            "low": [value - 0.06 for value in mean],
            "high": [value + 0.06 for value in mean],
        }
    seconds = {name: each | {"grid": [0.4 * at for at in each["grid"]]} for name, each in curves.items()}
    differences = [
        {"first": first, "second": second, "measure": measure, "mean": mean, "low": mean - 0.03}
        | {"high": mean + 0.03, "p": 0.012, "effect": -0.7, "seeds": 10, "seeds_for_power": 34}
        for first, second, mean in (("esopt" + hostile, "eoh", -0.05), ("noise", "eoh", -0.02))
        for measure in ("train", "test")
    ]
    return {
        "problem": "tsp" + hostile,
        "budget": 200,
        "reference": 5.70445,
        "decimals": 5,
        "settings": {"model": "smollm2-135m" + hostile, "confidence": 0.95},
        "arms": arms,
        "differences": differences,
        "curves": {"proposals": curves, "seconds": seconds},
    }


def store_comparison(folder: Path, data: Any) -> Path:
    """Write ``data`` as the comparison of ``folder``."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "comparison.json").write_text(json.dumps(data), encoding="utf-8")
    return folder
