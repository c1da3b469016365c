"""What one candidate decided is not in the memory of the next."""

import faulthandler
import os

import pytest

from evaluators.sandbox import Sandbox
from evaluators.unforked import Unforked
from problems.registry import load, names

FIND = """
import ctypes, re, sys
found, frame = [], sys._getframe()
while frame is not None:
    for value in list(frame.f_locals.values()):
        found += [value] if isinstance(value, (bytes, bytearray)) else []
    frame = frame.f_back
libc = ctypes.CDLL(None)
libc.sbrk.restype = ctypes.c_void_p
end, page = libc.sbrk(0), 4096
start, one = end & ~(page - 1), (ctypes.c_ubyte * 1)()
while libc.mincore(ctypes.c_void_p(start - page), page, one) == 0:
    start -= page
found.append(ctypes.string_at(start, end - start))
raise ValueError(sum(len(re.findall(b"AHD1" + b"D........" + NUMBERS, each, re.DOTALL)) for each in found))
"""
"""Counts the decisions that a candidate's process holds, in its callers' frames and all over its heap."""


OF_ONE_INSTANCE = rb"\x01\0\0\0\0\0\0\0"


@pytest.mark.parametrize("name", names())
def test_no_decisions_of_others_are_in_reach(name: str) -> None:
    """After others have been evaluated, nothing of what they decided is in a candidate's process. What the
    simplest heuristic decides on the first instance is, where the instances are too."""
    problem = load(name, None)
    head = f"import numpy as np\ndef {problem.function}({', '.join(problem.arguments)}): pass\n"
    numbers = rb"[if][\x01-\x04]" + (b"" if problem.apart else b"(?!%b)" % OF_ONE_INSTANCE)
    with Sandbox(problem) as sandbox:
        assert sandbox.submit(problem.simplest[1]).result().ok
        assert sandbox.submit(list(problem.heuristics.values())[-1]).result().ok
        outcome = sandbox.submit(head + FIND.replace("NUMBERS", repr(numbers))).result()
    assert "ValueError: 0 " in outcome.detail, outcome


def test_a_fork_does_not_have_the_bytes() -> None:
    """They are read, told and written here; a process forked meanwhile ends where it looks at them."""
    kept = Unforked(1 << 16)
    ours, theirs = os.pipe()
    os.write(theirs, b"decisions")
    assert kept.read(ours) == 9
    child = os.fork()
    if child == 0:
        try:
            faulthandler.disable()
            kept.copy(0, 9)
        finally:
            os._exit(0)
    assert os.WIFSIGNALED(os.waitpid(child, 0)[1])
    assert kept.copy(0, 3) == b"dec"
    kept.write(theirs, 3)
    assert os.read(ours, 100) == b"isions"
    kept.clear()
    assert (kept.used, kept.copy(0, 9)) == (0, b"")
    os.close(theirs)
    assert kept.read(ours) == 0
    os.close(ours)
