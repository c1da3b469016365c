"""What is wrong with a command line, in one line with the mend: instead of the words of the libraries."""

import difflib
import inspect
import re
from collections.abc import Iterator
from enum import Enum
from typing import Any, get_args, get_type_hints

import typer

from evaluators.frames import clean

MISSING = {
    "problem": "name a problem; `ahd problems` lists them",
    "folder": "give a run folder, such as results/NAME; `ls results` shows the runs",
    "name": "give the new problem a name, such as my_problem",
    "target": "give a problem file, or the name of a problem",
    "out": "--out is missing: give a new or empty folder, such as --out tuned",
}
"""What to say where a required parameter of that name is left out."""
_NEEDS = {int: "needs a whole number", float: "needs a number"}


def told(error: typer.TyperException) -> str:
    """The mistake that typer has found, in one line."""
    found: dict[str, Any] = vars(error)
    kind, text = type(error).__name__, error.format_message().rstrip(".")
    context, parameter = found.get("ctx"), found.get("param")
    command = _command(context)
    if kind == "MissingParameter" and parameter is not None:
        return MISSING.get(parameter.name, f"{_name(parameter)} is missing: give it; see `{command} --help`")
    if kind == "BadParameter" and parameter is not None:
        given, name = _given(error), _name(parameter)
        needs = _needs(context, parameter.name) or found["message"].rstrip(".")
        return f"{name}{given}: {needs}" if not given.startswith(" --") else f"{name}: {needs}, not{given}"
    if kind == "NoSuchOption":
        offered = [name for each in context.command.params for name in each.opts] if context else []
        return f"{found['option_name']}: no such option{_meant(found['option_name'], offered, command)}"
    if kind == "BadOptionUsage":
        takes = "takes no value: leave it out" if "not take" in text else "needs a value: give one"
        return f"{found['option_name']} {takes}"
    if extra := re.match(r"Got unexpected extra arguments?(?:\(s\))? \((.*)\)$", text, re.DOTALL):
        return (
            f"{extra[1]}: too many arguments; `{command} --help` lists them, and which options take no value"
        )
    offered = list(getattr(context.command, "commands", ())) if context else []
    if unknown := re.match(r"No such command '(.*?)'", text, re.DOTALL):
        return f"{unknown[1]}: no such command{_meant(unknown[1], offered, command)}"
    if text == "Missing command":
        return f"give a command: {' or '.join(f'{command} {name}' for name in offered)}"
    return f"{text}; see `{command} --help`"


def _command(context: Any) -> str:
    """The command as it is typed."""
    names: list[str] = []
    while context is not None and context.parent is not None:
        names.insert(0, context.info_name)
        context = context.parent
    return " ".join(["ahd", *names])


def _name(parameter: Any) -> str:
    """The option, or the argument as help calls it."""
    names: list[str] = [name for name in parameter.opts if name.startswith("-")]
    return names[0] if names else (parameter.metavar or parameter.name.upper())


def _given(error: BaseException) -> str:
    """The value that was refused, after a space, where the library tells it."""
    try:
        value = str(error.__cause__.errors()[0]["input"])  # type: ignore[union-attr]
    except (AttributeError, IndexError, KeyError, TypeError):
        return ""
    return f" {clean(value) or repr(value)}"


def _needs(context: Any, name: str) -> str:
    """What a parameter takes, from its type; empty where that says too little."""
    if context is None:
        return ""
    hints = get_type_hints(inspect.unwrap(context.command.callback))
    for each in _parts(hints.get(name)):
        if isinstance(each, type) and issubclass(each, Enum):
            return f"use one of {', '.join(str(member.value) for member in each)}"
        if each in _NEEDS:
            return _NEEDS[each]
    return ""


def _parts(hint: Any) -> Iterator[Any]:
    """The types a type is made of, itself first."""
    yield hint
    for each in get_args(hint):
        yield from _parts(each)


def _meant(name: str, offered: list[str], command: str) -> str:
    near = difflib.get_close_matches(name, offered, n=1, cutoff=0.65)
    return f": did you mean {near[0]}?" if near else f"; `{command} --help` lists them"
