"""The examples of the documents as commands to execute, what is left out, and what is executed instead."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from markdown_it import MarkdownIt

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]

SHOWN = {"", "text", "toml", "{include}", "{toctree}", "{eval-rst}"}
"""Languages of the blocks that are no examples: output, trees of files, directives of the site."""

LEFT_OUT = {
    r"make ": "is what executes this: make test; the live model of make run is tested in tests/models",
    r"python3\.11 -m venv|\.venv/bin/pip |apt-get ": "installs packages",
    r"source ": "the tests have their environment",
    r"VLLM_SERVER_DEV_MODE=1 ": "for GPUs, or takes minutes: tests/models/test_server.py starts it",
    r"ahd run .*--server ": "needs that server: tests/models/test_server.py",
    r"ahd run .*--structured": "the scripted model has no grammar: tests/models/test_structured.py",
    r"ahd run .*--replicas ": "needs Ray: tests/models/test_replicas.py and test_replica_engines.py",
    r"ahd weights export": "the scripted model has no files: tests/models/test_export.py",
    r"AHD_SCREENSHOTS=": "is a test itself",
}
"""Start of a command, a regular expression, and why it is not executed."""

INSTEAD = (
    (r"ahd (run|compare(?! --folder)) .*", r"\g<0> --model scripted --budget 4 --population 2"),
    (r"ahd compare(?! --folder) .*", r"\g<0> --seeds 1"),
    (r"ahd compare --folder results/mine(.*)", r"ahd compare --folder results/compare-tsp-knapsack-*\1"),
    (r"ahd evaluate tsp .* --split test --size \d+(.*)", r"\g<0> --size 20"),
    (r"ahd test results/RUN( --top 3)?( --size \d+)?( --json)?", r"ahd test results/RUN\1 --size 20\3"),
    (r"ahd evaluate tsp-aco .*", r"\g<0> --seeds 2"),
    (r"ahd refs .* --seconds .*", r"\g<0> --seconds 0.3"),
    (r"ahd refs cvrp .*", r"\g<0> --split train --size 50"),
    (r"python benchmarks/learning.py --.*", r"\g<0> --model scripted --seeds 1 --updates 2 --directions 2"),
    (r"(.*) /tmp/mine.py(.*)", r"\1 mine.py\2"),
    (r"ahd compare [\w-]+ (--methods .*)", r"ahd compare small-tsp --problem-path small_tsp.py \1"),
    (r"ahd run tsp --budget 400 (.*)", r"ahd run small-tsp --problem-path small_tsp.py \1"),
)
"""Whole commands, as regular expressions, and what is executed in their place: later options win. So the
scripted model stands in for the live one, a small problem for a large one where the point is another, and
budgets, sizes, seeds and seconds are small."""


@dataclass(frozen=True)
class Example:
    """One command, or one piece of Python. ``file`` is the name that the text before it gives to that."""

    line: int
    language: str
    text: str
    file: str = ""


def examples(page: Path) -> Iterator[Example]:
    """What the page tells its reader to execute, in order.

    Raises:
        AssertionError: a block has a language that is neither executed nor one of ``SHOWN``.
    """
    text = page.read_text()
    for token in MarkdownIt().parse(text):
        if token.type != "fence" or token.map is None:
            continue
        line, language = token.map[0] + 1, token.info.partition(" ")[0]
        if language == "python":
            named = re.search(r"`(\w+\.py)`, complete:\s*$", "\n".join(text.splitlines()[: line - 1]))
            yield Example(line, language, token.content, named[1] if named else "example.py")
        elif language in ("sh", "console"):
            yield from (Example(line, language, command) for command in _commands(token.content, language))
        else:
            assert language in SHOWN, f"{page.name}:{line}: {language} is neither executed nor shown only"


def _commands(block: str, language: str) -> Iterator[str]:
    """The commands of a block without their comments; in ``console``, what stands after the prompt."""
    for line in block.replace("\\\n", " ").splitlines():
        prompt, _, typed = line.rpartition("$ ") if language == "console" else ("", "", line)
        command = re.sub(r"(^|\s+)#.*", "", typed)
        if command and not prompt:
            yield command


def left_out(command: str) -> bool:
    return any(re.match(start, command) for start in LEFT_OUT)


def executed(command: str) -> str:
    """What is executed in place of ``command``."""
    for whole, replacement in INSTEAD:
        command = re.sub(f"^{whole}$", replacement, command)
    return command
