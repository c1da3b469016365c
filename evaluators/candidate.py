"""Runs one candidate, inside its own process, and turns whatever happens into a frame."""

import contextlib
import errno
import inspect
import os
import sys
import types
from collections.abc import Callable
from typing import Any

import numpy as np

from evaluators import frames, fresh, questions
from evaluators.outcome import InvalidSolution, NonFinite, Status
from evaluators.pipes import write_all
from evaluators.task import Task

FILENAME = "<candidate>"
_REFUSED = {errno.EFBIG, errno.EMFILE, errno.EAGAIN}
"""What limits answer, beside a lack of rights: a file that grows, too many of them, a process too many."""
_NO_THREAD = "can't start new thread"


class _Rejected(Exception):
    def __init__(self, status: Status, text: str) -> None:
        super().__init__(text)
        self.status = status


def load(source: str, function: str, arguments: tuple[str, ...]) -> Callable[..., Any]:
    """Compile and execute ``source`` and return its ``function``, callable with positional arguments.

    Parameters in another order are matched by name when the names are the problem's; parameters
    under other names are taken by position.
    """
    try:
        code = compile(source, FILENAME, "exec", dont_inherit=True)
    except SyntaxError as error:
        raise _Rejected(Status.SYNTAX_ERROR, f"line {error.lineno}: {error.msg}") from None
    except (ValueError, OverflowError, RecursionError) as error:
        raise _Rejected(Status.SYNTAX_ERROR, str(error)) from None
    module = types.ModuleType("candidate")
    sys.modules["candidate"] = module
    exec(code, module.__dict__)
    heuristic = module.__dict__.get(function)
    if not callable(heuristic):
        raise _Rejected(Status.NO_FUNCTION, f"defines no function {function}")
    return _adapt(heuristic, function, arguments)


def _adapt(heuristic: Callable[..., Any], function: str, arguments: tuple[str, ...]) -> Callable[..., Any]:
    if type(heuristic) is types.FunctionType:  # as nearly all are: `inspect` would find the same, slowly
        code, count = heuristic.__code__, len(arguments)
        if (code.co_argcount, code.co_kwonlyargcount) == (count, 0) and code.co_varnames[:count] == arguments:
            return heuristic
    wanted = f"{function} has to take ({', '.join(arguments)})"
    try:
        signature = inspect.signature(heuristic)
    except (TypeError, ValueError):
        raise _Rejected(Status.BAD_SIGNATURE, f"{wanted}; its parameters cannot be read") from None
    names = tuple(signature.parameters)
    if set(arguments) <= set(names) and names[: len(arguments)] != arguments:
        try:
            signature.bind(**dict.fromkeys(arguments))
        except TypeError as error:
            raise _Rejected(Status.BAD_SIGNATURE, f"{wanted}: {error}") from None
        return lambda *values: heuristic(**dict(zip(arguments, values, strict=True)))
    try:
        signature.bind(*arguments)
    except TypeError as error:
        raise _Rejected(Status.BAD_SIGNATURE, f"{wanted}: {error}") from None
    return heuristic


def _line(error: BaseException) -> str:
    """Where in the candidate the error came from, as ``" (line 7)"``."""
    trace, line = error.__traceback__, None
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == FILENAME:
            line = trace.tb_lineno
        trace = trace.tb_next
    return "" if line is None else f" (line {line})"


def _describe(error: BaseException) -> str:
    where = _line(error)
    return frames.one_line(error)[: frames.MAX_TEXT - len(where)] + where


def fault(error: BaseException, file: str) -> str:
    """How a heuristic of the problem from ``file`` has failed: the line is that of its source, or of the file
    where it never came so far."""
    if isinstance(error, _Rejected):
        return f"is rejected: {error}"
    trace, line = error.__traceback__, None
    while trace is not None:
        if file and trace.tb_frame.f_code.co_filename == file:
            line = trace.tb_lineno
        trace = trace.tb_next
    where = "" if line is None or _line(error) else f" ({os.path.basename(file)}, line {line})"
    return f"fails with {_describe(error)}{where}"


def _is_refusal(error: BaseException) -> bool:
    """Whether a limit or layer refused what a candidate asked of the system."""
    if isinstance(error, OSError):
        return isinstance(error, PermissionError) or error.errno in _REFUSED
    return isinstance(error, RuntimeError) and str(error) == _NO_THREAD


def evaluate(task: Task, source: str, instances: np.ndarray) -> bytes:
    """The frame that tells how ``source`` did on ``instances``, or how it failed: see ``caught``.

    Random state is the same for every candidate.
    """

    def decide() -> bytes:
        fresh.reset()
        heuristic = load(source, task.function, task.arguments)
        return frames.encode_decisions(np.asarray(task.run(heuristic, instances)))

    return caught(decide)


def answer(function: str, arguments: tuple[str, ...], source: str, channel: int) -> None:
    """Let ``source`` answer what is asked through ``channel``, until nobody asks any more or it fails."""

    def converse() -> bytes:
        fresh.reset()
        heuristic = load(source, function, arguments)
        stream, answering = questions.Stream(channel), questions.Answering()
        with contextlib.suppress(questions.Closed):
            while True:
                restart, given = answering.unpack(questions.receive(stream))
                if restart:
                    fresh.reset()
                write_all(channel, questions.answer(heuristic(*given)))
        return b""

    write_all(channel, caught(converse))


def caught(body: Callable[[], bytes]) -> bytes:
    """The frame that ``body`` makes, or that of its failure.

    Anything but ``SystemExit`` that a candidate raises is a runtime error; ``MemoryError`` and a refused
    allocation are ``memory``; what the system refuses it is ``forbidden``; ``SystemExit`` is ``crashed``, as
    leaving the process in any other way is; ``FloatingPointError`` is ``nonfinite``.
    """
    reserve: Any = np.empty(1 << 20, np.uint8)  # not written to: address space, not pages
    try:
        return body()
    except _Rejected as error:
        return frames.encode_error(error.status, str(error))
    except InvalidSolution as error:
        return frames.encode_error(Status.INVALID_SOLUTION, str(error))
    except (NonFinite, FloatingPointError) as error:
        return frames.encode_error(Status.NONFINITE, str(error) + _line(error))
    except MemoryError as error:
        reserve = None
        return frames.encode_error(Status.MEMORY, "ran out of memory" + _line(error))
    except SystemExit as error:
        return frames.encode_error(Status.CRASHED, f"called sys.exit{_line(error)}")
    except BaseException as error:
        reserve = None
        if isinstance(error, OSError) and error.errno == errno.ENOMEM:
            return frames.encode_error(Status.MEMORY, "ran out of memory" + _line(error))
        return frames.encode_error(
            Status.FORBIDDEN if _is_refusal(error) else Status.RUNTIME_ERROR, _describe(error)
        )
    finally:
        del reserve
