"""Runs a command; imports stay inside the commands, so that each starts as fast as it can."""

import errno
import os
import sqlite3
import sys
from typing import NoReturn

import typer

# Commands are listed in this order.
# isort: off
from ahd.cli import search, watching, results, compare, report  # noqa: F401
from ahd.cli import scores, problem, weights, machine  # noqa: F401

# isort: on
from ahd.cli.app import app
from ahd.config import ConfigError
from ahd.display.text import complain

_NO_MEMORY = (
    "error return without exception set",
    "failed to map segment",
    "Could not find/load shared object",
    "annot allocate memory",
    "can't start new thread",
)
"""What Python, its libraries and the system say for want of memory, beside ``MemoryError``."""
_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}


def main() -> None:
    """Run the command; every expected error is one line on standard error and exit code 2."""
    if sys.stdout is None:  # closed by the caller: keep its descriptor from becoming another file's
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115
    try:
        code = _run_command()
    except KeyboardInterrupt:
        sys.exit(130)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        sys.exit(141)
    sys.exit(code if isinstance(code, int) else 0)


def _run_command() -> object:
    from evaluators.outcome import SandboxError
    from evaluators.task import BrokenProblemFile
    from operators.model import ModelError
    from problems.registry import UnknownProblem

    try:
        return app(sys.argv[1:] or ["--help"], standalone_mode=False)
    except (ConfigError, UnknownProblem, BrokenProblemFile, SandboxError) as error:
        _fail(str(error))
    except ModelError as error:
        _fail(f"{error}: what was done is stored; go on with `ahd resume`")
    except typer.TyperException as error:
        from ahd.cli.mistakes import told

        _fail(told(error))
    except typer.Abort:
        raise KeyboardInterrupt from None
    except sqlite3.Error as error:
        mend = "make space on its disk or check that, then go on with `ahd resume`"
        if getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_ERROR:
            mend = "it is damaged, or of another version: restore it from a copy"
        _fail(f"the run file cannot be read or written ({error}): {mend}")
    except BrokenPipeError:
        raise
    except (MemoryError, SystemError, ImportError, RuntimeError, OSError) as error:
        if _is_shortage(error):
            _fail("out of memory: end other programs or use a smaller model, then go on with `ahd resume`")
        if not isinstance(error, OSError):
            raise
        mend = ": make space there; a run goes on with `ahd resume`" if error.errno in _FULL else ""
        _fail(f"{error.filename or 'input or output'}: {error.strerror or error}{mend}")


def _is_shortage(error: BaseException) -> bool:
    """Whether ``error`` comes of too little memory."""
    return isinstance(error, MemoryError) or any(sign in str(error) for sign in _NO_MEMORY)


def _fail(message: str) -> NoReturn:
    complain(message)
    sys.exit(2)
