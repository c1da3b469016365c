"""``ahd problem new``: a problem that works and its test, to be changed into one's own."""

import importlib.util
import keyword
import re
import shlex
import sys
from importlib import resources
from pathlib import Path

from ahd.config import ConfigError
from ahd.problem_kinds import Kind
from problems.installed import entries
from problems.registry import packaged

_NAME = re.compile(r"[a-z][a-z0-9]*([_-][a-z0-9]+)*")
_MODULE, _PROBLEM = "my_problem", "my-problem"
"""What stands for the name in ``ahd/scaffold``."""


def write_problem(name: str, out: Path, kind: Kind) -> tuple[Path, Path]:
    """Write the module and its test into the folder ``out``, and print what to type next.

    Raises:
        ConfigError: the name cannot be used, a file is there already, or it cannot be written.
    """
    module = _checked(name)
    files = out / f"{module}.py", out / f"test_{module}.py"
    for file in files:
        if file.exists() or file.is_symlink():
            raise ConfigError(f"{file} is there already: choose another name, or another folder with --out")
    _check_importable(module)
    try:
        out.mkdir(parents=True, exist_ok=True)
        for file, text in zip(files, (kind.value, "test"), strict=True):
            with open(file, "x", encoding="utf-8") as new:
                new.write(_filled(text, module))
    except OSError as error:
        raise ConfigError(
            f"{error.filename or out}: {error.strerror}; choose another folder with --out"
        ) from None
    problem, test = (shlex.quote(str(file)) for file in files)
    called = module.replace("_", "-")
    print(f"wrote the problem {called}: {files[0]} and {files[1]}, which work as they are. The sample:")
    print(f"  {_sample(kind)}")
    print("Change it into your problem; at any time:")
    print(f"  ahd problem check {problem}")
    missing = "" if importlib.util.find_spec("pytest") else "   # needs pytest: pip install pytest"
    print(f"  python -m pytest {test}{missing}")
    print(f"  ahd run {called} --problem-path {problem} --budget 200")
    return files


def _checked(name: str) -> str:
    """The name of the module for a problem called ``name``."""
    if not _NAME.fullmatch(name):
        raise ConfigError(
            f"{name!r}: use lower-case letters and digits, words joined by single underscores, a letter first"
        )
    module, problem = name.replace("-", "_"), name.replace("_", "-")
    if problem in packaged() or problem in entries():
        raise ConfigError(f"{problem} is a problem already: choose another name")
    if keyword.iskeyword(module) or keyword.issoftkeyword(module):
        raise ConfigError(f"{module} is a word of Python: choose another name")
    return module


def _check_importable(module: str) -> None:
    """Refuse the name of a module that others import: a file beside their scripts would be taken for it."""
    if module in sys.stdlib_module_names or importlib.util.find_spec(module) is not None:
        raise ConfigError(f"{module} is a module that Python finds already: choose another name")


def _sample(kind: Kind) -> str:
    """What the problem of that kind is about: the first line of its module."""
    return _scaffold(kind.value).split("\n", 1)[0].strip('"')


def _scaffold(name: str) -> str:
    return resources.files("ahd").joinpath("scaffold", f"{name}.txt").read_text(encoding="utf-8")


def _filled(text: str, module: str) -> str:
    return _scaffold(text).replace(_MODULE, module).replace(_PROBLEM, module.replace("_", "-"))
