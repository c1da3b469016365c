"""Every command with its options, written into a page while the site is built."""

import re
import subprocess
import sys

from sphinx.application import Sphinx

MARK = "<!-- commands -->"
EXAMPLES = re.compile(r"^\x08?\n?Examples?:\n((?:  .+\n)+)", re.MULTILINE)
LISTING = re.compile(r"^\*\*Commands\*\*:\n\n(?:\* .+\n)+\n", re.MULTILINE)
OUTSIDE_CODE = re.compile(r"`[^`]*`|<")


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("source-read", _fill)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def _fill(app: Sphinx, page: str, source: list[str]) -> None:
    if MARK in source[0]:
        source[0] = source[0].replace(MARK, commands())


def commands() -> str:
    """Markdown of all commands, as Typer writes it, without its title and its lists of subcommands."""
    typer = [sys.executable, "-m", "typer", "ahd.cli", "utils", "docs", "--name", "ahd"]
    text = subprocess.run(typer, check=True, capture_output=True, text=True).stdout
    _title, _, text = text.partition("\n")
    text = LISTING.sub("", text)
    text = OUTSIDE_CODE.sub(lambda found: r"\<" if found[0] == "<" else found[0], text)
    return EXAMPLES.sub(_fenced, text)


def _fenced(examples: re.Match[str]) -> str:
    lines = [line[2:] for line in examples[1].splitlines()]
    return "\n".join(["```sh", *lines, "```", ""])
