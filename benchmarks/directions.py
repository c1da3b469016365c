"""Tokens per second with as many directions as requests, beside the frozen batch of the same size.

    python benchmarks/directions.py [--sizes 16,32] [--tokens 32] [--repeats 3] [--json FILE]

One engine does everything in turns. Each ratio is to a frozen batch that ran right before or right after, in
turns too, so that a machine that slows down hits both. The frozen batch runs without hooks in the model.

- whole: the call, with filling slots or writing weights, the prompts, the tokens and restoring.
- writing: the steps in which every request under way writes its next token, from the beginning of one step
  to the beginning of the next.

Every request writes exactly ``--tokens`` tokens: the end of a text does not end it. Prompts are those of
m1 for ``tsp`` and nothing comes from the prefix cache. ``--share`` lets requests share the start of their
prompts where the engine can, as in a run: the frozen batch computes it once, each direction for itself.
Directions of the full kind follow each other, one request each; they take part in the first repeat only.
"""

import argparse
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import count, pairwise
from pathlib import Path
from statistics import median
from typing import Any

from ahd.config import Kind, RunConfig
from ahd.es.perturbation import perturbation_of, scales

FROZEN = RunConfig("tsp")
CASES = {
    "lowrank linear": RunConfig("tsp", kind=Kind.LOWRANK, scope="linear"),
    "lowrank all": RunConfig("tsp", kind=Kind.LOWRANK, scope="all"),
    "norms": RunConfig("tsp", kind=Kind.FULL, scope="norms"),
    "full all": RunConfig("tsp", kind=Kind.FULL, scope="all"),
}


@dataclass(frozen=True)
class Rates:
    """Tokens per second of one call, and of the writing phase alone."""

    whole: float
    writing: float


@dataclass(frozen=True)
class Row:
    """A case beside its frozen batch."""

    case: str
    size: int
    repeat: int
    frozen: Rates
    directions: Rates

    @property
    def ratios(self) -> Rates:
        mine, other = self.directions, self.frozen
        return Rates(mine.whole / other.whole, mine.writing / other.writing)


Step = tuple[float, int, int]
"""When a step of the engine began, its requests, its tokens."""


def watch(runner: Any) -> list[Step]:
    """The list to which the engine's runner adds its steps from now on."""
    steps: list[Step] = []
    execute = runner.execute_model

    def noted(scheduled: Any, *args: Any, **kwargs: Any) -> Any:
        requests = len(scheduled.num_scheduled_tokens)
        steps.append((time.perf_counter(), requests, scheduled.total_num_scheduled_tokens))
        return execute(scheduled, *args, **kwargs)

    runner.execute_model = noted
    return steps


def writing_rate(steps: Sequence[Step], width: int) -> float:
    """Tokens per second over the steps of ``width`` requests with one token each, those only that are
    followed by another such step.

    Raises:
        ValueError: there are none.
    """
    seconds = [
        second[0] - first[0] for first, second in pairwise(steps) if first[1:] == second[1:] == (width, width)
    ]
    if not seconds:
        raise ValueError(f"no two steps in a row write one token for each of {width} requests")
    return width * len(seconds) / sum(seconds)


def force(engine: Any, share: bool) -> None:
    """Make requests write all their tokens and, unless they may share, find nothing in the prefix cache."""
    add, numbers = engine.add_request, count()

    def forced(request_id: str, prompt: dict[str, Any], params: Any) -> Any:
        params.ignore_eos = True
        if not share:
            prompt["cache_salt"] = f"alone-{next(numbers)}"
        return add(request_id, prompt, params)

    engine.add_request = forced


def requests(size: int, tokens: int, repeat: int) -> list[Any]:
    """``size`` requests of m1 with the known heuristics of ``tsp`` as parents; they end by length alone."""
    from operators.model import Request
    from operators.parent import Parent
    from operators.registry import OPERATORS
    from problems.registry import load

    problem = load("tsp")
    parents = [Parent(7.0, code) for code in problem.heuristics.values()]
    prompts = [OPERATORS["m1"].prompt(problem, [parent], "skeleton") for parent in parents]
    return [
        Request(
            prompt.text, 1000 * repeat + i, prompt.prefill, max_tokens=tokens, temperature=0.9, top_p=0.95
        )
        for i in range(size)
        for prompt in [prompts[i % len(prompts)]]
    ]


def measure(
    model: Any, steps: list[Step], config: RunConfig, perturbed: bool, size: int, tokens: int, repeat: int
) -> Rates:
    """One call with ``size`` requests, each under its own direction or all under the frozen weights.

    Raises:
        RuntimeError: a reply is shorter than it was to be.
    """
    from operators.model import Direction

    perturbation, sigma = perturbation_of(config), scales(config)[0]
    model.use(perturbation)
    directions = [Direction(1000 * repeat + i, sigma) if perturbed else None for i in range(size)]
    asked = requests(size, tokens, repeat)
    if not model._engine.reset_prefix_cache():
        raise RuntimeError("the engine keeps its prefix cache: nothing can be compared")
    steps.clear()
    started = time.perf_counter()
    replies = [reply for _, reply in model.generate(asked, directions)]
    seconds = time.perf_counter() - started
    written = sum(reply.completion_tokens for reply in replies)
    if written != size * tokens:
        raise RuntimeError(f"{written} tokens instead of {size} times {tokens}: use fewer --tokens")
    alone = perturbed and not perturbation.batched
    return Rates(written / seconds, writing_rate(steps, 1 if alone else size))


def show(rows: Sequence[Row]) -> None:
    """One line per case and size: median tokens per second and ratio, and the range of the ratio."""
    columns = "".join(f"{phase:>10}{'frozen':>9}{'ratio':>8}{'range':>13}" for phase in ("whole", "writing"))
    print(f"{'tokens/s':16}{'size':>4}{columns}")
    for case, size in dict.fromkeys((row.case, row.size) for row in rows):
        mine = [row for row in rows if (row.case, row.size) == (case, size)]
        line = f"{case:16}{size:4}"
        for phase in ("whole", "writing"):
            rates, frozen, ratios = (
                [getattr(getattr(row, part), phase) for row in mine]
                for part in ("directions", "frozen", "ratios")
            )
            spread = f"{min(ratios):.2f}-{max(ratios):.2f}"
            line += f"{median(rates):10.1f}{median(frozen):9.1f}{median(ratios):8.2f}{spread:>13}"
        print(line, flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", default=FROZEN.model)
    parser.add_argument("--dtype", default="auto", help="number format of the engine")
    parser.add_argument("--cases", default=",".join(CASES), help="some of them")
    parser.add_argument("--sizes", default="16,32", help="requests in a batch")
    parser.add_argument("--tokens", type=int, default=32, help="of each reply, at least 4")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--share", action="store_true", help="let requests share the start of prompts")
    parser.add_argument("--json", type=Path, help="also write the figures to this file")
    options = parser.parse_args()
    cases, sizes = options.cases.split(","), [int(word) for word in options.sizes.split(",")]
    if options.tokens < 4 or not set(cases) <= set(CASES):
        parser.error(f"--tokens has to be 4 or more, and --cases of {', '.join(CASES)}")

    from ahd.models.runtime import reexec_with_preload

    reexec_with_preload()
    from ahd.models.live import LiveModel
    from benchmarks.machine import facts, write

    machine = facts()
    model = LiveModel(options.model, dtype=options.dtype, max_length=2048, max_batch=max(64, *sizes))
    force(model._engine, options.share)
    steps = watch(model._engine.model_executor.driver_worker.worker.model_runner)
    for case in cases:
        measure(model, steps, CASES[case], True, 2, 4, 0)
    prompt = len(model._tokens(requests(1, 1, 0)[0]))
    print(f"{model.name}, {model.dtype}, {machine['cpu']}; prompts of {prompt}, replies of {options.tokens}")

    rows: list[Row] = []
    for repeat in range(1, options.repeats + 1):
        for size in sizes:
            for case in cases:
                if repeat > 1 and case == "full all":
                    continue
                order = [False, True] if repeat % 2 else [True, False]
                found = {
                    perturbed: measure(
                        model,
                        steps,
                        CASES[case] if perturbed else FROZEN,
                        perturbed,
                        size,
                        options.tokens,
                        repeat,
                    )
                    for perturbed in order
                }
                rows.append(Row(case, size, repeat, found[False], found[True]))
                ratios = rows[-1].ratios
                print(
                    f"  repeat {repeat}, {size} directions, {case}: "
                    f"{ratios.whole:.2f} whole, {ratios.writing:.2f} writing",
                    flush=True,
                )
    show(rows)
    write(
        options.json,
        machine,
        model=model.name,
        dtype=model.dtype,
        prompt_tokens=prompt,
        tokens=options.tokens,
        share=options.share,
        rows=[{**asdict(row), "ratios": asdict(row.ratios)} for row in rows],
    )
    model.close()


if __name__ == "__main__":
    sys.path[0] = str(Path(__file__).resolve().parent.parent)
    main()
