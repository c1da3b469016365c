"""Automatic heuristic design in which the language model learns while it searches."""

__version__ = "0.1.0"
