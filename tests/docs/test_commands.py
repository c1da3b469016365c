"""docs/commands.md is of use as a file too."""

import re

import typer.main

from ahd.cli import app
from tests.docs.commands import commands
from tests.docs.tables import ROOT


def test_the_list_names_every_command() -> None:
    """The commands that can be typed, in the order of `ahd --help`, each with its first line of help."""
    listed = re.findall(r"^- `(ahd [^`]+)`: (.+)$", (ROOT / "docs/commands.md").read_text(), re.MULTILINE)
    every = commands(typer.main.get_command(app))
    typed = [(path, each) for path, each in every if not getattr(each, "commands", {})]
    assert listed == [(path, each.help.partition("\n\n")[0]) for path, each in typed]
