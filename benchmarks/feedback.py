"""Does it help to show a small model what failed before? Validity with and without, paired by seed.

    python benchmarks/feedback.py [--pairs 300] [--seed 1] [--json FILE]

The frozen default model, prompts of m1 and m2 for ``tsp`` in skeleton style, parents of ``learning_trial``.
Failures come from ``--pairs / 3`` proposals made first. Then each request is made once as it is and once per
arm with a comment line above what the operator asks, same seed:

``option``   the line of ``ahd run --feedback``
``reason``   # fails with NameError: name 'x' is not defined: near * x
``negated``  # not near * x
``told``     the reason in the message to the model instead of in its reply

Prints for each arm the share valid, the share valid and unlike any parent or earlier proposal of the arm, the
paired differences with a 95% interval (normal), and McNemar's exact test.
"""

import argparse
import random
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import sqrt
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

from ahd.feedback import line, reason
from operators.prompt import Prompt

ARMS = ("plain", "option", "reason", "negated", "told")
Ask = Callable[[Sequence[str]], Prompt]
"""From notes to a prompt with them."""


@dataclass(frozen=True)
class Failure:
    """A proposal that failed: what filled the skeleton, and why it failed."""

    completion: str
    outcome: str
    detail: str

    @property
    def text(self) -> str:
        """The completion on one line."""
        return "; ".join(line.strip() for line in self.completion.splitlines() if line.strip())

    @property
    def reason(self) -> str:
        return reason(self.outcome, self.detail)


def asked(ask: Ask, failure: Failure, arm: str) -> Prompt:
    """The prompt of an arm; ``ask`` makes it from the notes it shows."""
    notes = {
        "option": [line(failure.outcome, failure.detail)],
        "reason": [f"fails with {failure.reason}: {failure.text}"],
        "negated": [f"not {failure.text}"],
    }
    prompt = ask(notes.get(arm, []))
    if arm != "told":
        return prompt
    return replace(prompt, text=f"{prompt.text} Avoid what failed before: {failure.text} ({failure.reason}).")


def measure(pairs: int, seed: int) -> dict[str, Any]:
    """Outcomes of all arms, in the same order, and the failures shown."""
    from ahd.models.live import LiveModel
    from ahd.population import Individual
    from benchmarks.learning_trial import POPULATION
    from evaluators.outcome import Outcome
    from evaluators.sandbox import Sandbox
    from operators.model import Request
    from operators.parsing import Parsed, fill, parse_reply
    from operators.registry import OPERATORS
    from operators.syntax import normalise
    from problems.tsp import problem

    rng = random.Random(seed)
    parents = [
        Individual(value, fill(problem, text), text, "", None, "known") for text, value in POPULATION.items()
    ]
    model = LiveModel(max_length=1024)
    found: dict[str, Any] = {arm: [] for arm in ARMS}
    with Sandbox(problem) as sandbox:

        def proposals(prompts: Sequence[Prompt], first: int) -> list[tuple[Parsed, Outcome]]:
            requests = [
                Request(
                    p.text,
                    first + k,
                    p.prefill,
                    stop=p.stop,
                    max_tokens=p.max_tokens,
                    temperature=0.9,
                    top_p=0.95,
                )
                for k, p in enumerate(prompts)
            ]
            parsed: dict[int, Parsed] = {}
            for index, reply in model.generate(requests, [None] * len(requests)):
                parsed[index] = parse_reply(prompts[index].lead + reply.text, problem, "skeleton")
            waiting = [sandbox.submit(parsed[k].code) for k in range(len(prompts))]
            return [(parsed[k], future.result()) for k, future in enumerate(waiting)]

        def ask(name: str, parent: Individual, notes: Sequence[str]) -> Prompt:
            return OPERATORS[name].prompt(problem, [parent], "skeleton", notes=notes)

        def asks(count: int) -> list[Ask]:
            return [partial(ask, ("m1", "m2")[k % 2], rng.choice(parents)) for k in range(count)]

        first = proposals([each([]) for each in asks(max(30, pairs // 3))], 10_000 * seed)
        failures = [Failure(p.completion, o.status, o.detail) for p, o in first if o.objective is None]
        questions = asks(pairs)
        given = [rng.choice(failures) for _ in questions]
        for arm in ARMS:
            prompts = [asked(each, failure, arm) for each, failure in zip(questions, given, strict=True)]
            seen = {normalise(parent.code) for parent in parents}
            for parsed, outcome in proposals(prompts, 10_000 * seed + 5000):
                normal = normalise(parsed.code)
                told = f"{outcome.status}: {outcome.detail}"
                found[arm].append([outcome.ok, outcome.ok and normal not in seen, told, outcome.objective])
                seen.add(normal)
    model.close()
    return {"failures": [[failure.text, failure.reason] for failure in failures], "arms": found}


def summary(arms: dict[str, Any]) -> dict[str, Any]:
    """Shares, and differences from ``plain`` with interval and test."""
    from scipy.stats import binomtest

    told = {}
    for arm in ARMS:
        row: dict[str, Any] = {}
        for place, name in enumerate(("valid", "valid_new")):
            own = [float(each[place]) for each in arms[arm]]
            plain = [float(each[place]) for each in arms["plain"]]
            row[name] = fmean(own)
            if arm != "plain":
                differences = [a - b for a, b in zip(own, plain, strict=True)]
                half = 1.96 * stdev(differences) / sqrt(len(differences))
                up, down = differences.count(1.0), differences.count(-1.0)
                p = binomtest(up, up + down).pvalue if up + down else 1.0
                row[f"{name}_difference"] = [
                    fmean(differences),
                    fmean(differences) - half,
                    fmean(differences) + half,
                ]
                row[f"{name}_p"] = float(p)
        told[arm] = row
    return told


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pairs", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", type=Path, help="also write the figures to this file")
    options = parser.parse_args()
    from ahd.models.runtime import reexec_with_preload

    reexec_with_preload()
    from benchmarks.machine import facts, write

    machine = facts()
    found = measure(options.pairs, options.seed)
    told = summary(found["arms"])
    print(f"{len(found['failures'])} failures to show, {options.pairs} pairs")
    for arm, row in told.items():
        print(
            arm,
            {key: value if not isinstance(value, float) else round(value, 4) for key, value in row.items()},
        )
    write(options.json, machine, pairs=options.pairs, seed=options.seed, summary=told, **found)


if __name__ == "__main__":
    sys.path[0] = str(Path(__file__).resolve().parent.parent)
    main()
