"""What a search of ``tsp`` has to beat: rules without any language model, tuned with as many evaluations.

    python benchmarks/linear_rule.py [--budget 500] [--seeds 1-10] [--rules linear,wide] [--json FILE]

The next node of the tour is the one with the smallest score:

linear    near - a rest - b home: the three quantities that the skeleton gives a candidate
wide      and + c nearest + d spread: the distance to the nearest of the other unvisited nodes, and the
          standard deviation of the distances to them, which a candidate has to work out itself

CMA-ES (library ``cmaes``, arXiv 1604.00772) sets the weights on the training instances, from 0 with step 0.5;
every evaluation is one of a run's sandbox. The best is scored on the 1000 test instances of 50 nodes.
"""

import argparse
import sys
import time
from pathlib import Path
from statistics import mean, stdev
from typing import TYPE_CHECKING, Any

import numpy as np
from cmaes import CMA

if TYPE_CHECKING:
    from evaluators.sandbox import Sandbox
    from problems.problem import Problem

STEP = 0.5
"""Standard deviation of a weight at first."""

_WIDE = """
    among = distance_matrix[unvisited_nodes][:, unvisited_nodes]
    nearest = np.where(np.eye(len(among), dtype=bool), np.inf, among).min(axis=1) if len(among) > 1 else 0.0
    spread = among.std(axis=1)
"""
RULES = {
    "linear": ("", "near - {0!r} * rest - {1!r} * home"),
    "wide": (_WIDE, "near - {0!r} * rest - {1!r} * home + {2!r} * nearest + {3!r} * spread"),
}
"""Lines before the score, and the score."""


def code(problem: "Problem", rule: str, weights: list[float]) -> str:
    """A heuristic that follows ``rule`` with these weights."""
    before, score = RULES[rule]
    assert problem.skeleton is not None, "tsp has one"
    head, name = problem.skeleton.prefix.rsplit("\n", 1)
    return f"{head}{before.rstrip()}\n{name} {score.format(*weights)}{problem.skeleton.suffix}"


def tuned(problem: "Problem", sandbox: "Sandbox", rule: str, budget: int, seed: int) -> dict[str, Any]:
    """The best of ``budget`` evaluations, and what it makes of the test instances."""
    count = RULES[rule][1].count("{")
    optimiser = CMA(np.zeros(count), STEP, seed=seed)
    best, found, spent, began = float("inf"), [0.0] * count, 0, time.monotonic()
    while spent < budget:
        points = [optimiser.ask() for _ in range(optimiser.population_size)]
        told = []
        for point in points:
            weights = [float(weight) for weight in point]
            spent += 1
            outcome = sandbox.submit(code(problem, rule, weights)).result()
            objective = float("inf") if outcome.objective is None else outcome.objective
            if objective < best and spent <= budget:
                best, found = objective, weights
            told.append((point, objective))
        optimiser.tell(told)
    seconds = time.monotonic() - began
    test = sandbox.submit(code(problem, rule, found), "test", 50).result().objective
    return {"rule": rule, "seed": seed, "train": best, "test": test, "weights": found, "seconds": seconds}


def main() -> None:
    from benchmarks.learning import numbers
    from benchmarks.machine import facts, write
    from evaluators.sandbox import Sandbox
    from problems.registry import load

    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--budget", type=int, default=500)
    parser.add_argument("--seeds", type=numbers, default="1-10")
    parser.add_argument("--rules", default="linear,wide")
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    machine, problem, runs = facts(), load("tsp"), []
    with Sandbox(problem) as sandbox:
        for rule in given.rules.split(","):
            for seed in given.seeds:
                runs.append(tuned(problem, sandbox, rule, given.budget, seed))
                print("{rule} seed {seed}: train {train:.5f}, test {test:.5f}".format(**runs[-1]), flush=True)
            tests = [run["test"] for run in runs if run["rule"] == rule]
            spread = f" ± {stdev(tests):.4f}" if len(tests) > 1 else ""
            print(f"{rule}: test {mean(tests):.4f}{spread} (sd over seeds), best {min(tests):.4f}")
    write(given.json, machine, budget=given.budget, runs=runs)


if __name__ == "__main__":
    sys.path[0] = str(Path(__file__).resolve().parent.parent)
    main()
