"""The command line."""

from ahd.cli.app import app
from ahd.cli.main import main

__all__ = ["app", "main"]
