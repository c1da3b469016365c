"""Broken and hostile candidates: each gets its typed outcome and leaves nothing behind."""

import textwrap
from dataclasses import dataclass

import pytest

from evaluators.outcome import Status
from evaluators.sandbox import MAX_SOURCE, Sandbox
from tests.evaluators.aftermath import NEAREST_LENGTH, assert_unharmed

S = Status
HEAD = "def select_next_node(current_node, destination_node, unvisited_nodes, distance_matrix):"
FIRST = "return unvisited_nodes[0]"


@dataclass(frozen=True)
class Case:
    name: str
    source: str
    allowed: tuple[Status, ...]
    detail: str = ""


def body(text: str) -> str:
    """A candidate whose function has this body."""
    return (
        "import numpy as np\n" + HEAD + "\n" + textwrap.indent(textwrap.dedent(text).strip(), "    ") + "\n"
    )


def top(text: str) -> str:
    """A candidate that does this when it is loaded, and is nearest neighbour otherwise."""
    return textwrap.dedent(text).strip() + "\n" + body(FIRST)


def forged(frame: str) -> str:
    """A candidate that writes a frame of its own to every descriptor it can find and leaves."""
    return top(
        f"""
        import os, struct
        def pack(kind, payload): return struct.pack("<4scQ", b"AHD1", kind, len(payload)) + payload
        for fd in range(3, 64):
            try: os.write(fd, {frame})
            except OSError: pass
        os._exit(0)
        """
    )


CASES = [
    Case("unfinished bracket", "def select_next_node(", (S.SYNTAX_ERROR,), "line 1"),
    Case("prose", "Sure! Here is your heuristic.\n" + body(FIRST), (S.SYNTAX_ERROR,)),
    Case("null byte", body(FIRST) + "\0", (S.SYNTAX_ERROR,), "null"),
    Case("lone surrogate", body(FIRST) + "# \udcff", (S.SYNTAX_ERROR,), "Unicode"),
    Case("too long", "#" * MAX_SOURCE + "\n" + body(FIRST), (S.SYNTAX_ERROR,), "longer"),
    Case("deep nesting", "x = " + "[" * 5000, (S.SYNTAX_ERROR, S.MEMORY)),
    Case(
        "deep attribute chain", "x = a" + ".b" * 50000, (S.SYNTAX_ERROR, S.MEMORY, S.CRASHED, S.RUNTIME_ERROR)
    ),
    Case("nothing", "", (S.NO_FUNCTION,), "select_next_node"),
    Case("another name", "def choose(a, b, c, d): return c[0]", (S.NO_FUNCTION,)),
    Case("a number under the name", "select_next_node = 5", (S.NO_FUNCTION,)),
    Case("too few parameters", "def select_next_node(a, b, c): return c[0]", (S.BAD_SIGNATURE,)),
    Case("too many parameters", "def select_next_node(a, b, c, d, e): return c[0]", (S.BAD_SIGNATURE,)),
    Case(
        "keyword under another name", "def select_next_node(a, b, c, *, d): return c[0]", (S.BAD_SIGNATURE,)
    ),
    Case(
        "exception with a line",
        body("x = 1\nreturn x / 0"),
        (S.RUNTIME_ERROR,),
        "ZeroDivisionError: division by zero (line 4)",
    ),
    Case("huge exception text", body("raise ValueError('x' * 10**7)"), (S.RUNTIME_ERROR,), "(line 3)"),
    Case(
        "terminal escapes in text",
        body(r"raise ValueError('\x1b[2J\x07\r\n[red]boo')"),
        (S.RUNTIME_ERROR,),
        "boo",
    ),
    Case(
        "exception that cannot be shown",
        body("class E(Exception):\n    def __str__(self): raise E\nraise E"),
        (S.RUNTIME_ERROR,),
        "E: ?",
    ),
    Case(
        "exception whose text takes for ever",
        body("class E(Exception):\n    def __str__(self):\n        while True: pass\nraise E"),
        (S.TIMEOUT,),
    ),
    Case(
        "missing module",
        "import not_a_module_at_all\n" + body(FIRST),
        (S.RUNTIME_ERROR,),
        "not_a_module_at_all",
    ),
    Case("recursion", body("return select_next_node(*[None] * 4)"), (S.RUNTIME_ERROR,), "RecursionError"),
    Case("KeyboardInterrupt", body("raise KeyboardInterrupt"), (S.RUNTIME_ERROR,), "KeyboardInterrupt"),
    Case("GeneratorExit", body("raise GeneratorExit"), (S.RUNTIME_ERROR,)),
    Case(
        "score of the wrong shape",
        body("return np.argmin(distance_matrix[:, :3] + np.ones(7))"),
        (S.RUNTIME_ERROR,),
    ),
    Case("yields", body("yield 1"), (S.INVALID_SOLUTION,), "generator"),
    Case("None", body("return None"), (S.INVALID_SOLUTION,), "NoneType"),
    Case("string", body("return str(unvisited_nodes[0])"), (S.INVALID_SOLUTION,), "str"),
    Case("bool", body("return True"), (S.INVALID_SOLUTION,), "bool"),
    Case("numpy bool", body("return np.bool_(True)"), (S.INVALID_SOLUTION,), "bool"),
    Case("all of them", body("return unvisited_nodes"), (S.INVALID_SOLUTION,), "ndarray"),
    Case("array of one", body("return unvisited_nodes[:1]"), (S.INVALID_SOLUTION,), "ndarray"),
    Case("0-d object array", body("return np.array({}, dtype=object)"), (S.INVALID_SOLUTION,), "dict"),
    Case("half a node", body("return unvisited_nodes[0] + 0.5"), (S.INVALID_SOLUTION,)),
    Case("complex", body("return complex(unvisited_nodes[0])"), (S.INVALID_SOLUTION,)),
    Case(
        "pretends to be an index",
        "class I:\n    def __index__(s): return 5\n" + body("return I()"),
        (S.INVALID_SOLUTION,),
    ),
    Case("NaN", body("return np.nan"), (S.NONFINITE,)),
    Case("minus infinity", body("return float('-inf')"), (S.NONFINITE,)),
    Case(
        "FloatingPointError", body("with np.errstate(all='raise'): return np.float64(1) / 0"), (S.NONFINITE,)
    ),
    Case("start again", body("return destination_node"), (S.INVALID_SOLUTION,), "node 0 was visited before"),
    Case(
        "stay",
        body("return unvisited_nodes[0] if current_node == 0 else current_node"),
        (S.INVALID_SOLUTION,),
    ),
    Case("node too high", body("return len(distance_matrix)"), (S.INVALID_SOLUTION,), "there is no node 50"),
    Case(
        "negative alias",
        body("return unvisited_nodes[0] - len(distance_matrix)"),
        (S.INVALID_SOLUTION,),
        "no node",
    ),
    Case("beyond 64 bits", body("return 7 ** 9999"), (S.INVALID_SOLUTION,), "64 bits"),
    Case("float beyond 64 bits", body("return 1e300"), (S.INVALID_SOLUTION,), "64 bits"),
    Case("endless loop", body("while True: pass"), (S.TIMEOUT,), "0.5 s"),
    Case("endless loop on loading", top("while True: pass"), (S.TIMEOUT,)),
    Case("endless sleep", body("import time\ntime.sleep(1e5)"), (S.TIMEOUT,)),
    Case(
        "swallows every exception",
        body("while True:\n    try:\n        while True: pass\n    except BaseException: pass"),
        (S.TIMEOUT,),
    ),
    Case(
        "ignores signals",
        top(
            """
            import signal
            for number in range(1, 65):
                try: signal.signal(number, signal.SIG_IGN)
                except (OSError, ValueError): pass
            while True: pass
            """
        ),
        (S.TIMEOUT,),
    ),
    Case("stops itself", top("import os, signal\nos.kill(os.getpid(), signal.SIGSTOP)"), (S.TIMEOUT,)),
    Case("one endless call into C", top("max(range(10**16))"), (S.TIMEOUT,)),
    Case("waits for input", body("import sys\nreturn int(sys.stdin.read() or 'x')"), (S.RUNTIME_ERROR,)),
    Case("stdout flood", body("while True: print('y' * 10000)"), (S.TIMEOUT,)),
    Case("100 GB of bytes", top("x = bytearray(100 * 10**9)"), (S.MEMORY,)),
    Case("100 GB of zero pages", body("x = np.zeros((10**5, 125000))"), (S.MEMORY,)),
    Case("grows bit by bit", body("x = []\nwhile True: x.append(np.ones(10**7))"), (S.MEMORY,)),
    Case("grows a list", body("x = [0]\nwhile True: x += x"), (S.MEMORY,)),
    Case("leaves with 0", top("import os\nos._exit(0)"), (S.CRASHED,), "exit code 0"),
    Case("leaves with 3 on the way", body("import os\nos._exit(3)"), (S.CRASHED,), "exit code 3"),
    Case("sys.exit", body("import sys\nsys.exit('bye')"), (S.CRASHED,), "sys.exit"),
    Case("aborts", top("import os\nos.abort()"), (S.CRASHED,), "SIGABRT"),
    Case("reads address 1", top("import ctypes\nctypes.string_at(1)"), (S.CRASHED,), "SIGSEGV"),
    Case("kills itself", top("import os\nos.kill(os.getpid(), 9)"), (S.CRASHED,), "SIGKILL"),
    Case("kills its parent", top("import os\nos.kill(os.getppid(), 9)"), (S.FORBIDDEN,)),
    Case("closes its descriptors", top("import os\nos.closerange(0, 64)"), (S.CRASHED,)),
    Case("closes them and stays", top("import os\nos.closerange(0, 64)\nwhile True: pass"), (S.CRASHED,)),
    Case("forks", top("import os\nos.fork()"), (S.FORBIDDEN,)),
    Case(
        "leaves a sleeper in another session",
        top(
            """
            import os, time
            try:
                if os.fork() == 0:
                    os.setsid()
                    time.sleep(60)
            except OSError: pass
            """
        ),
        (S.OK,),
    ),
    Case(
        "a hundred threads",
        top(
            """
            import threading, time
            try:
                for _ in range(100): threading.Thread(target=time.sleep, args=(60,)).start()
            except RuntimeError: pass
            """
        ),
        (S.OK,),
    ),
    Case("subprocess", top("import subprocess\nsubprocess.run(['true'])"), (S.FORBIDDEN,)),
    Case(
        "grows a file",
        top(
            """
            import os, tempfile
            with tempfile.TemporaryFile(dir='/tmp', buffering=0) as file: file.write(b'x')
            """
        ),
        (S.FORBIDDEN,),
    ),
    Case(
        "lifts its limits",
        top("import resource\nresource.setrlimit(resource.RLIMIT_AS, (-1, -1))"),
        (S.RUNTIME_ERROR,),
    ),
    Case("reads secrets", top("import os\nassert not os.environ, dict(os.environ)"), (S.OK,)),
    Case(
        "writes to the distances", body("distance_matrix[:] = 0\n" + FIRST), (S.RUNTIME_ERROR,), "read-only"
    ),
    Case(
        "writes to the nodes",
        body("unvisited_nodes[0] = unvisited_nodes[-1]\n" + FIRST),
        (S.RUNTIME_ERROR,),
        "read-only",
    ),
    Case("unlocks the distances", body("distance_matrix.setflags(write=True)\n" + FIRST), (S.RUNTIME_ERROR,)),
    Case("unlocks the nodes", body("unvisited_nodes.setflags(write=True)\n" + FIRST), (S.RUNTIME_ERROR,)),
    Case(
        "overwrites memory",
        body("import ctypes\nctypes.memset(distance_matrix.ctypes.data, 0, 800)\n" + FIRST),
        (S.OK,),
    ),
    Case("returns a view of its input", body("return unvisited_nodes[0:1].reshape(())"), (S.OK,)),
    Case("returns a float", body("return float(unvisited_nodes[0])"), (S.OK,)),
    Case("returns float32", body("return np.float32(unvisited_nodes[0])"), (S.OK,)),
    Case("returns uint8", body("return np.uint8(unvisited_nodes[0])"), (S.OK,)),
    Case(
        "reordered parameters",
        "def select_next_node(unvisited_nodes, distance_matrix, current_node, destination_node): " + FIRST,
        (S.OK,),
    ),
    Case("parameters under other names", "def select_next_node(a, b, c, d, e=1): return c[0]", (S.OK,)),
    Case(
        "a callable object",
        "class C:\n    def __call__(self, a, b, c, d): return c[0]\nselect_next_node = C()",
        (S.OK,),
    ),
    Case(
        "a dataclass", top("from dataclasses import dataclass\n@dataclass\nclass P:\n    x: int = 1"), (S.OK,)
    ),
    Case(
        "stays in a destructor",
        top("class D:\n    def __del__(self):\n        while True: pass\nd = D()"),
        (S.OK,),
    ),
    Case("chatty", body("print('step', current_node)\n" + FIRST), (S.OK,)),
    Case(
        "breaks the builtins",
        top("import builtins\nbuiltins.sum = builtins.max = builtins.abs = None"),
        (S.OK, S.RUNTIME_ERROR),
    ),
    Case(
        "edits the solver's frame",
        body(
            f"""
            import sys
            frame = sys._getframe(1)
            frame.f_globals['distances'] = None
            frame.f_locals['visited'][:] = False
            {FIRST}
            """
        ),
        (S.OK, S.INVALID_SOLUTION, S.RUNTIME_ERROR),
    ),
    Case("forges an ok", forged("pack(b'E', b'ok'.ljust(20) + b'0.0')"), (S.CRASHED,), "unknown status"),
    Case("forges a kind", forged("pack(b'P', b'cos')"), (S.CRASHED,)),
    Case("forges a length", forged("struct.pack('<4scQ', b'AHD1', b'D', 2**63)"), (S.CRASHED,), "too large"),
    Case(
        "forges a shape", forged("pack(b'D', b'i' + bytes([2]) + struct.pack('<QQ', 2**62, 4))"), (S.CRASHED,)
    ),
    Case(
        "forges an empty solution",
        forged("pack(b'D', b'i' + bytes([2]) + struct.pack('<QQ', 0, 50))"),
        (S.INVALID_SOLUTION,),
    ),
    Case("forges noise", forged("b'\\xff' * 5000"), (S.CRASHED,)),
    Case("forges half a frame", forged("pack(b'D', bytes(100))[:50]"), (S.CRASHED,), "half"),
    Case(
        "forges a tour of one node",
        forged("pack(b'D', b'i' + bytes([2]) + struct.pack('<QQ', 64, 50) + bytes(64 * 50 * 8))"),
        (S.INVALID_SOLUTION,),
    ),
    Case(
        "forges float tours",
        forged("pack(b'D', b'f' + bytes([2]) + struct.pack('<QQ', 64, 50) + bytes(64 * 50 * 8))"),
        (S.INVALID_SOLUTION,),
    ),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name.replace(" ", "-"))
def test_typed_outcome_and_nothing_left(tsp_sandbox: Sandbox, case: Case) -> None:
    """The outcome is one of those allowed, its text is harmless, and the sandbox works on as before."""
    limit = 4.0 if Status.MEMORY in case.allowed else 0.5
    outcome = tsp_sandbox.submit(case.source, time_limit=limit).result(timeout=60)
    assert outcome.status in case.allowed, outcome
    assert case.detail in outcome.detail
    assert len(outcome.detail) <= 500
    assert outcome.detail == "" or outcome.detail.isprintable()
    if outcome.status is Status.OK:
        assert outcome.objective == NEAREST_LENGTH
    assert_unharmed(tsp_sandbox)
