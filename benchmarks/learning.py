"""Does the model learn? A controlled trial of ``esopt`` against ``noise`` and ``eoh``, paired by seed.

    python benchmarks/learning.py --seeds 1-10 --updates 20 --directions 16 --out trial.jsonl
    python benchmarks/learning.py report trial.jsonl --table trial.md --plot trial.svg
    python benchmarks/learning.py signal trial.jsonl
    python benchmarks/learning.py settings tuning.jsonl

Sigma falls along a cosine, and less noise alone makes more proposals valid: what ``esopt`` has over ``noise``
is what learning does.

Each finished (seed, method) becomes one line of the file. What the file holds already is skipped, so a trial
that was killed goes on where it was, and several processes can share the seeds. The report takes its numbers
from the files alone; it needs the extra ``benchmarks``.
"""

import argparse
import sys
from contextlib import closing
from dataclasses import fields, replace
from pathlib import Path

from ahd.config import ConfigError, Kind, Method, Reward, RunConfig, Shaping


def numbers(text: str) -> list[int]:
    """``1-3,7`` as 1, 2, 3, 7."""
    found: list[int] = []
    for part in text.split(","):
        first, _, last = part.partition("-")
        found += range(int(first), int(last or first) + 1)
    return found


def positive(text: str) -> int:
    """A number of at least 1."""
    if int(text) < 1:
        raise ValueError(text)
    return int(text)


def methods(text: str) -> list[Method]:
    """``esopt,noise`` as methods; those that sample have no parents and no place here."""
    found = [Method(name) for name in text.split(",")]
    if not all(method.evolves for method in found):
        raise ValueError(text)
    return found


def trial_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False
    )
    usual = RunConfig("tsp")
    parser.add_argument("--seeds", type=numbers, default=numbers("1-10"), help="such as 1-10 or 1,4,7-9")
    parser.add_argument("--methods", type=methods, default=methods("esopt,noise,eoh"))
    parser.add_argument("--updates", type=positive, default=20, help="batches of an arm")
    parser.add_argument("--directions", type=positive, default=16, help="of a batch")
    parser.add_argument("--per-direction", type=int, default=1, help="proposals of one direction")
    parser.add_argument("--schedule", choices=("cosine", "constant"), default="cosine", help="of sigma")
    parser.add_argument("--model", default=usual.model, help="a model as `ahd run` takes it, or scripted")
    parser.add_argument("--kind", type=Kind, choices=list(Kind), default=usual.kind)
    parser.add_argument("--scope", default="")
    parser.add_argument("--rank", type=int, default=usual.rank)
    parser.add_argument("--sigma", type=float, help="default: by kind and scope")
    parser.add_argument("--alpha", type=float, help="default: by kind and scope")
    parser.add_argument("--reward", type=Reward, choices=list(Reward), default=usual.reward)
    parser.add_argument("--shaping", type=Shaping, choices=list(Shaping), default=usual.shaping)
    parser.add_argument("--antithetic", action="store_true")
    parser.add_argument("--momentum", type=float, default=usual.momentum)
    parser.add_argument("--out", type=Path, required=True, help="JSON lines, added to")
    return parser


def run_trial(options: argparse.Namespace) -> None:
    """Run the arms that the file lacks, seed by seed, on one model."""
    from ahd.es.perturbation import perturbation_of, scales
    from ahd.models.load import load_model
    from ahd.models.runtime import reexec_with_preload
    from benchmarks.learning_file import append, key, read
    from benchmarks.learning_trial import Remembering, Trial, run_arm
    from evaluators.sandbox import Sandbox  # by then not benchmarks/evaluators.py
    from problems.registry import load

    names = {each.name for each in fields(RunConfig)} & vars(options).keys()
    config = RunConfig("tsp", **{name: getattr(options, name) for name in names})
    sigma, alpha = scales(config)
    config = replace(config, sigma=sigma, alpha=alpha, scope=perturbation_of(config).scope)
    trial = Trial(config, options.updates, options.directions, options.schedule == "constant")
    done = {key(record) for record in read([options.out] if options.out.exists() else [])}
    wanted = [
        (seed, method)
        for seed in options.seeds
        for method in options.methods
        if key({"method": method.value, "seed": seed, "settings": trial.settings(method)}) not in done
    ]
    if not wanted:
        print(f"{options.out}: all {len(options.seeds) * len(options.methods)} arms are there")
        return
    if config.model != "scripted":
        reexec_with_preload()
    problem = load("tsp")
    with Sandbox(problem) as sandbox, closing(load_model(config)) as model:
        evaluator = Remembering(sandbox)
        for number, (seed, method) in enumerate(wanted, 1):
            record = run_arm(trial, method, seed, problem, model, evaluator)
            append(options.out, record)
            print(f"{number}/{len(wanted)} seed {seed} {method.value}: {record['seconds']:.0f} s", flush=True)


def report(arguments: list[str]) -> None:
    """Write the table and the plot of finished arms."""
    from benchmarks.learning_file import read
    from benchmarks.learning_report import plot, table

    parser = argparse.ArgumentParser(prog="learning.py report", description="Table and plot of a trial.")
    parser.add_argument("files", type=Path, nargs="+", metavar="FILES")
    parser.add_argument("--table", type=Path, required=True, help="Markdown")
    parser.add_argument("--plot", type=Path, help="SVG")
    options = parser.parse_args(arguments)
    records = read(options.files)
    options.table.write_text(table(records))
    if options.plot:
        plot(records, options.plot)


def signal(arguments: list[str]) -> None:
    """Print what share of each reward's variance lies between directions."""
    from benchmarks.learning_file import read
    from benchmarks.learning_signal import signal_table

    parser = argparse.ArgumentParser(prog="learning.py signal", description="What directions tell apart.")
    parser.add_argument("files", type=Path, nargs="+", metavar="FILES")
    print(signal_table(read(parser.parse_args(arguments).files)), end="")


def settings(arguments: list[str]) -> None:
    """Print every arm of a file beside the usual one."""
    from benchmarks.learning_file import read
    from benchmarks.learning_settings import settings_table

    parser = argparse.ArgumentParser(prog="learning.py settings", description="Settings side by side.")
    parser.add_argument("files", type=Path, nargs="+", metavar="FILES")
    print(settings_table(read(parser.parse_args(arguments).files)), end="")


def main(arguments: list[str]) -> None:
    if arguments[:1] == ["report"]:
        report(arguments[1:])
    elif arguments[:1] == ["signal"]:
        signal(arguments[1:])
    elif arguments[:1] == ["settings"]:
        settings(arguments[1:])
    else:
        run_trial(trial_parser().parse_args(arguments))


if __name__ == "__main__":
    sys.path[0] = str(Path(__file__).resolve().parent.parent)
    try:
        main(sys.argv[1:])
    except (ConfigError, OSError, ValueError) as error:
        sys.exit(f"learning.py: {error}")
