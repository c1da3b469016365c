"""Broken and hostile candidates for every kind of problem function, each with its typed outcome.

Places outside the sandbox that a candidate goes for stand in the sources as ``@CANARY@``, ``@FOLDER@``,
``@TCP@``, ``@UDP@``, ``@UNIX@`` and ``@ABSTRACT@``; ``hostile_report.Surroundings`` fills them in.
"""

import textwrap
from dataclasses import dataclass, replace

from evaluators.layers import Layer
from evaluators.outcome import Status
from evaluators.sandbox import MAX_SOURCE
from problems.problem import Problem
from problems.registry import load, packaged

S = Status
PROBLEMS: dict[str, Problem] = {name: load(name) for name in packaged()}
SMALLEST = {
    "admissible-set": ("val", 12),
    "bin-packing-online": ("train", 1000),
    "bpp-aco": ("val", 120),
    "cvrp": ("val", 20),
    "cvrp-aco": ("train", 50),
    "job-shop": ("val", 6),
    "knapsack": ("val", 50),
    "mkp-aco": ("train", 100),
    "op-aco": ("train", 50),
    "tsp": ("train", 50),
    "tsp-aco": ("train", 50),
    "tsp-gls": ("val", 20),
}
"""Split and size each problem's candidates are run on: cheap ones."""
MATRIX = ("bpp-aco", "cvrp-aco", "mkp-aco", "op-aco", "tsp-aco", "tsp-gls")
"""Problems whose function returns an array of numbers for a solver."""
INDEX = ("cvrp", "job-shop", "knapsack", "tsp")
"""Problems whose function returns the number of something."""
ALONE: frozenset[Layer] = frozenset()
EITHER = frozenset(Layer)
SECCOMP = frozenset([Layer.SECCOMP])
LANDLOCK = frozenset([Layer.LANDLOCK])

HEAD = "def select_next_node(current_node, destination_node, unvisited_nodes, distance_matrix):"
FIRST = "return unvisited_nodes[0]"


@dataclass(frozen=True)
class Case:
    """One candidate.

    ``allowed`` holds for certain where one of the layers ``by`` is in force, or everywhere when there are
    none: what resource limits and checks see to. Where none of ``by`` is, all that is promised is an honest
    score. ``honest`` is a heuristic that decides what this one does when it is ok; empty: the problem's
    simplest.
    """

    name: str
    source: str
    allowed: tuple[Status, ...]
    detail: str = ""
    problem: str = "tsp"
    kind: str = "errors"
    by: frozenset[Layer] = ALONE
    honest: str = ""

    @property
    def limit(self) -> float:
        """CPU seconds; many, for what has to end by itself: a busy machine may hold it up."""
        return 0.5 if self.allowed == (Status.TIMEOUT,) else 30.0

    def binding(self, layers: frozenset[Layer]) -> bool:
        """Whether ``allowed`` holds under these layers."""
        return not self.by or bool(self.by & layers)


def body(text: str) -> str:
    """A candidate for ``tsp`` whose function has this body."""
    return (
        "import numpy as np\n" + HEAD + "\n" + textwrap.indent(textwrap.dedent(text).strip(), "    ") + "\n"
    )


def top(text: str, problem: str = "tsp") -> str:
    """A candidate that does this when it is loaded, and is the problem's simplest heuristic otherwise."""
    return textwrap.dedent(text).strip() + "\n" + PROBLEMS[problem].simplest[1]


def inside(text: str, problem: str) -> str:
    """A candidate that does this in every call, with the simplest heuristic's ``answer`` at hand, and returns
    what ``answer`` is then."""
    own = PROBLEMS[problem]
    arguments = ", ".join(own.arguments)
    call = f"def {own.function}({arguments}):\n    answer = _simplest({arguments})\n"
    lines = textwrap.indent(textwrap.dedent(text).strip(), "    ")
    before = f"import numpy as np\n{own.simplest[1]}\n_simplest = {own.function}\n"
    return f"{before}{call}{lines}\n    return answer\n"


def returning(expression: str, problem: str) -> str:
    """A candidate that returns this; ``answer`` is what the simplest heuristic returns."""
    return inside(f"answer = {expression}", problem)


PACK = """
import os, struct
def header(kind, size): return struct.pack("<4scQ", b"AHD1", kind, size)
def pack(kind, payload): return header(kind, len(payload)) + payload
for fd in range(3, 64):
    try: os.write(fd, FRAME)
    except OSError: pass
os._exit(0)
"""


def forged(frame: str, problem: str = "tsp") -> str:
    """A candidate that writes a frame of its own to every descriptor it can find and leaves."""
    return top(PACK.replace("FRAME", frame), problem)


LIBC = """
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
def checked(found):
    if found == -1:
        error = ctypes.get_errno()
        raise OSError(error, os.strerror(error))
    return found
def syscall(number, *values):
    words = [ctypes.c_long(value) if isinstance(value, int) else value for value in values]
    return checked(libc.syscall(ctypes.c_long(number), *words))
"""
"""What candidates that go past Python have: system calls that raise ``OSError``."""

GENERAL = [
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
"""Candidates for ``tsp``: reading the source, the signature, exceptions, decisions, time, memory, frames."""

EVERYWHERE = tuple(SMALLEST)


def spread(kind: str, by: frozenset[Layer], allowed: Status, attacks: dict[str, str]) -> list[Case]:
    """A case for each attack, made when the candidate is loaded, on the problems in turn."""
    found = []
    for number, (name, text) in enumerate(attacks.items()):
        problem = EVERYWHERE[number % len(EVERYWHERE)]
        found.append(Case(name, top(text, problem), (allowed,), problem=problem, kind=kind, by=by))
    return found


FILES = spread(
    "files",
    EITHER,
    S.FORBIDDEN,
    {
        "reads the canary": "raise ValueError(open('@CANARY@').read())",
        "reads it with os.open": "import os\nraise ValueError(os.read(os.open('@CANARY@', os.O_RDONLY), 99))",
        "reads it with numpy": "import numpy as np\nraise ValueError(np.fromfile('@CANARY@', 'S24'))",
        "maps it with numpy": "import numpy as np\nnp.memmap('@CANARY@', mode='r+')[:] = 0",
        "reads it as text with numpy": "import numpy as np\nnp.loadtxt('@CANARY@', dtype=str)",
        "reads it through io": "import io\nraise ValueError(io.FileIO('@CANARY@').readall())",
        "reads it through open in C": LIBC
        + "fd = checked(libc.open(b'@CANARY@', 0))\nraise ValueError(os.read(fd, 99))",
        "reads it through a raw open": LIBC
        + "raise ValueError(os.read(syscall(2, ctypes.c_char_p(b'@CANARY@'), 0), 99))",
        "reads it through openat": LIBC
        + "raise ValueError(os.read(syscall(257, -100, ctypes.c_char_p(b'@CANARY@'), 0), 99))",
        "truncates it": "import os\nos.truncate('@CANARY@', 0)",
        "opens it to be emptied": "open('@CANARY@', 'wb').close()",
        "appends to it": "import os\nos.write(os.open('@CANARY@', os.O_WRONLY | os.O_APPEND), b'')",
        "opens it both ways": "open('@CANARY@', 'r+b').close()",
        "creates a neighbour": "open('@FOLDER@/new', 'x').close()",
        "creates one without a name": "import os\nos.open('@FOLDER@', os.O_TMPFILE | os.O_RDWR)",
        "saves an array": "import numpy as np\nnp.save('@FOLDER@/new.npy', np.ones(3))",
        "removes it": "import os\nos.unlink('@CANARY@')",
        "renames it": "import os\nos.rename('@CANARY@', '@FOLDER@/moved')",
        "replaces it": "import os\nos.replace('@FOLDER@/neighbour', '@CANARY@')",
        "links to it": "import os\nos.symlink('@CANARY@', '@FOLDER@/link')",
        "makes a second name": "import os\nos.link('@CANARY@', '@FOLDER@/second')",
        "makes a folder": "import os\nos.mkdir('@FOLDER@/folder')",
        "removes a folder": "import os\nos.rmdir('@FOLDER@/empty')",
        "makes a pipe with a name": "import os\nos.mkfifo('@FOLDER@/fifo')",
        "lists the folder": "import os\nraise ValueError(os.listdir('@FOLDER@'))",
        "scans the root": "import os\nraise ValueError([e.name for e in os.scandir('/')])",
        "opens its own memory": "open('/proc/self/mem', 'r+b', buffering=0)",
        "opens its parent's memory": "import os\nopen(f'/proc/{os.getppid()}/mem', 'rb', buffering=0)",
        "reads its first environment": "raise ValueError(open('/proc/self/environ', 'rb').read()[:80])",
        "reads its parent's environment": "import os\nopen(f'/proc/{os.getppid()}/environ', 'rb').read()",
        "reads its memory map": "raise ValueError(open('/proc/self/maps').read()[:80])",
        "lists processes": "import os\nraise ValueError(os.listdir('/proc')[:3])",
        "reads the users": "raise ValueError(open('/etc/passwd').read()[:80])",
        "reads the shadow": "open('/etc/shadow').read()",
        "opens a device": "open('/dev/zero', 'rb')",
        "opens shared memory": "import os\nos.open('/dev/shm/ahd-hostile', os.O_CREAT | os.O_RDWR)\n"
        "os.unlink('/dev/shm/ahd-hostile')",
        "opens its descriptors anew": "import os\nos.open('/proc/self/fd/0', os.O_RDWR)",
        "goes around through a link": "raise ValueError(open('/proc/self/root@CANARY@').read())",
        "loads a library of its own": "import ctypes\nlib = '@FOLDER@/neighbour'\n"
        "try: ctypes.CDLL(lib)\nexcept OSError as e:\n"
        "    if 'ermission' in str(e) or 'not permitted' in str(e): raise PermissionError(str(e))\n    raise",
    },
)
FILES += spread(
    "files",
    SECCOMP,
    S.FORBIDDEN,
    {
        "changes its mode": "import os\nos.chmod('@CANARY@', 0)",
        "changes its owner": "import os\nos.chown('@CANARY@', os.getuid(), os.getgid())",
        "changes its time": "import os\nos.utime('@CANARY@', None)",
        "marks it": "import os\nos.setxattr('@CANARY@', 'user.mark', b'1')",
        "changes its folder": "import os\nos.chdir('@FOLDER@')",
        "watches it": LIBC + "syscall(254, syscall(294, 0), ctypes.c_char_p(b'@CANARY@'), 0xFFF)",
        "opens a tree": LIBC + "syscall(428, -100, ctypes.c_char_p(b'@FOLDER@'), 0)",
        "opens it with openat2": LIBC + "how = (ctypes.c_uint64 * 3)()\n"
        "raise ValueError(os.read(syscall(437, -100, ctypes.c_char_p(b'@CANARY@'), how, 24), 99))",
        "asks for its handle": LIBC + "handle = (ctypes.c_uint32 * 40)(128)\n"
        "syscall(303, -100, ctypes.c_char_p(b'@CANARY@'), handle, ctypes.byref(ctypes.c_int()), 0)",
    },
)

CONNECT = """
import socket
s = socket.socket(socket.{family}, socket.{kind})
{act}
"""
FAMILIES = {
    "connects over TCP": ("AF_INET", "SOCK_STREAM", "s.connect(('127.0.0.1', @TCP@)); s.send(b'x')"),
    "listens": ("AF_INET", "SOCK_STREAM", "s.bind(('127.0.0.1', 0)); s.listen()"),
    "connects over TCP in IPv6": ("AF_INET6", "SOCK_STREAM", "s.connect(('::1', @TCP@))"),
}
NETWORK = spread(
    "network",
    EITHER,
    S.FORBIDDEN,
    {n: CONNECT.format(family=f, kind=k, act=a) for n, (f, k, a) in FAMILIES.items()},
)
FAMILIES = {
    "sends over UDP": ("AF_INET", "SOCK_DGRAM", "s.sendto(b'x', ('127.0.0.1', @UDP@))"),
    "connects to a socket file": ("AF_UNIX", "SOCK_STREAM", "s.connect('@UNIX@')"),
    "connects to an abstract socket": ("AF_UNIX", "SOCK_STREAM", "s.connect('\\0@ABSTRACT@')"),
    "opens a raw socket": ("AF_INET", "SOCK_RAW", "s.send(b'x')"),
    "opens a netlink socket": ("AF_NETLINK", "SOCK_RAW", "s.bind((0, 0))"),
    "opens a packet socket": ("AF_PACKET", "SOCK_RAW", "s.send(b'x')"),
    "makes an abstract socket": ("AF_UNIX", "SOCK_STREAM", "s.bind('\\0ahd-hostile'); s.listen()"),
}
NETWORK += spread(
    "network",
    SECCOMP,
    S.FORBIDDEN,
    {n: CONNECT.format(family=f, kind=k, act=a) for n, (f, k, a) in FAMILIES.items()}
    | {
        "makes a pair of sockets": "import socket\nsocket.socketpair()",
        "makes a raw socket call": LIBC + "syscall(41, 2, 2, 0)",
        "asks for a connection": "import socket\nsocket.create_connection((b'127.0.0.1', @TCP@), 1)",
    },
)
NETWORK.append(
    Case(
        "looks up a name",
        top("import socket\nsocket.gethostbyname('example.org')", "mkp-aco"),
        (S.RUNTIME_ERROR,),
        problem="mkp-aco",
        kind="network",
        by=EITHER,
    )
)

CALLS = {
    "clone": "56, 17, 0, 0, 0, 0",
    "fork": "57",
    "vfork with a child": "56, 0x4111, 0, 0, 0, 0",
    "execveat": "322, -100, ctypes.c_char_p(b'/bin/true'), 0, 0, 0",
    "ptrace of itself": "101, 0, 0, 0, 0",
    "ptrace of its parent": "101, 16, os.getppid(), 0, 0",
    "process_vm_readv": "310, os.getppid(), ctypes.c_void_p(0), 0, ctypes.c_void_p(0), 0, 0",
    "process_vm_writev": "311, os.getppid(), ctypes.c_void_p(0), 0, ctypes.c_void_p(0), 0, 0",
    "memfd_create": "319, ctypes.c_char_p(b'x'), 0",
    "io_uring_setup": "425, 8, (ctypes.c_char * 120)()",
    "io_uring_enter": "426, 0, 1, 0, 0, 0, 0",
    "unshare of users": "272, 0x10000000",
    "unshare of the network": "272, 0x40000000",
    "setns": "308, 0, 0",
    "bpf": "321, 0, (ctypes.c_char * 128)(), 128",
    "userfaultfd": "323, 1",
    "perf_event_open": "298, (ctypes.c_char * 128)(112), 0, -1, -1, 0",
    "prctl not to die with its parent": "157, 1, 0, 0, 0, 0",
    "prctl to be dumpable": "157, 4, 1, 0, 0, 0",
    "prctl to be a reaper": "157, 36, 1, 0, 0, 0",
    "another filter": "317, 0, 0, 0",
    "shmget": "31, syscall(29, 0, 4096, 0o1777), 0, 0",
    "semget": "66, syscall(64, 0, 1, 0o1777), 0, 0",
    "msgget": "71, syscall(68, 0, 0o1777), 0",
    "mq_open": "(241, syscall(240, ctypes.c_char_p(b'ahd'), 0o102, 0o600, 0))[0], ctypes.c_char_p(b'ahd')",
    "add_key": "248, ctypes.c_char_p(b'user'), ctypes.c_char_p(b'ahd'), ctypes.c_char_p(b'x'), 1, -2",
    "pipe": "22, (ctypes.c_int * 2)()",
    "eventfd": "290, 0, 0",
    "epoll_create": "291, 0",
    "timer_create": "222, 1, 0, ctypes.byref(ctypes.c_int())",
    "signalfd": "289, -1, (ctypes.c_char * 8)(), 8, 0",
    "pidfd_open of its parent": "434, os.getppid(), 0",
    "pidfd_getfd": "438, 0, 0, 0",
    "rt_sigqueueinfo to its parent": "129, os.getppid(), 0, (ctypes.c_char * 128)()",
    "tgkill of its parent": "234, os.getppid(), os.getppid(), 0",
    "tkill of its parent": "200, os.getppid(), 0",
    "setsid": "112",
    "setpgid": "109, 0, os.getppid()",
    "setpriority": "141, 0, 0, 19",
    "sched_setaffinity": "203, 0, 8, (ctypes.c_char * 8)(1)",
    "setrlimit": "160, 7, (ctypes.c_uint64 * 2)(8, 8)",
    "prlimit of its parent": "302, os.getppid(), 7, (ctypes.c_uint64 * 2)(8, 8), 0",
    "setuid to root": "105, 0",
    "setgroups": "116, 0, 0",
    "capset": "126, (ctypes.c_uint32 * 2)(0x20080522, 0), (ctypes.c_uint32 * 6)(*[2**32 - 1] * 6)",
    "chroot": "161, ctypes.c_char_p(b'/tmp')",
    "mount": "165, ctypes.c_char_p(b'none'), ctypes.c_char_p(b'/tmp'), ctypes.c_char_p(b'tmpfs'), 0, 0",
    "personality": "135, 0x40000",
    "umask": "95, 0",
    "ioctl that types": "16, 0, 0x5412, ctypes.c_char_p(b'x')",
    "sendfile": "40, 1, 0, 0, 1",
    "quotactl": "179, 0, 0, 0, 0",
    "kcmp": "312, os.getpid(), os.getppid(), 1, 0, 0",
    "syslog": "103, 3, (ctypes.c_char * 64)(), 64",
    "a call that does not exist": "9999",
    "a call of the x32 kind": "0x40000000 + 39",
}
"""System calls by number, on x86-64."""
DENIED_TO_ALL = {"setuid to root", "setgroups", "chroot", "mount", "fork", "clone", "capset"}
"""Those that a process without rights, and without processes left, cannot make anyway."""
PROCESSES = spread(
    "processes", SECCOMP, S.FORBIDDEN, {name: LIBC + f"syscall({call})" for name, call in CALLS.items()}
)
PROCESSES = [replace(case, by=ALONE) if case.name in DENIED_TO_ALL else case for case in PROCESSES]
PROCESSES += spread(
    "processes",
    SECCOMP,
    S.FORBIDDEN,
    {
        "sends itself a queue of signals": LIBC + "syscall(129, os.getpid(), 10, (ctypes.c_char * 128)())",
        "looks at everyone": "import os\nos.kill(-1, 0)",
        "kills its group": "import os\nos.kill(0, 9)",
        "looks at the first process": "import os\nos.kill(1, 0)",
        "has the kernel signal its parent": """
            import fcntl, os
            fcntl.fcntl(0, fcntl.F_SETOWN, os.getppid())
        """,
        "names the signal": "import fcntl\nfcntl.fcntl(0, 10, 9)",
        "has the kernel signal a group": "import fcntl, os, struct\n"
        "fcntl.fcntl(0, 15, struct.pack('ii', 2, os.getppid()))",
        "makes pipes": "import os\nos.pipe()",
        "calls in the way of 32 bits": """
            import ctypes, mmap
            code = mmap.mmap(-1, 4096, prot=7)
            code.write(bytes.fromhex("b814000000cd80c3"))  # mov eax, 20 (getpid there); int 0x80; ret
            ctypes.CFUNCTYPE(ctypes.c_long)(ctypes.addressof(ctypes.c_char.from_buffer(code)))()
        """,
    },
)
PROCESSES += spread(
    "processes",
    EITHER,
    S.FORBIDDEN,
    {"becomes another program": "import os\nos.execv('/bin/true', ['true'])"},
)
PROCESSES += spread(
    "processes",
    ALONE,
    S.FORBIDDEN,
    {
        "forks on every problem": "import os\nos.fork()",
        "starts a thread": "import threading\nthreading.Thread(target=print).start()",
        "starts a bare thread": "import _thread\n_thread.start_new_thread(print, ())",
        "opens many files": "import os\nkept = [os.dup(0) for _ in range(1000)]",
    },
)
PROCESSES.append(
    Case(
        "clone3",
        top(LIBC + "syscall(435, (ctypes.c_uint64 * 11)(0, 0, 0, 0, 17), 88)", "op-aco"),
        (S.RUNTIME_ERROR,),
        "not implemented",
        problem="op-aco",
        kind="processes",
        by=SECCOMP,
    )
)
PROCESSES.append(
    Case(
        "an alarm",
        top("import signal, time\nsignal.setitimer(signal.ITIMER_REAL, 0.01)\ntime.sleep(5)", "bpp-aco"),
        (S.CRASHED,),
        "SIGALRM",
        problem="bpp-aco",
        kind="processes",
    )
)

WRITES = """
for value in ({arguments}):
    if hasattr(value, "shape"): value[...] = 0
"""
UNLOCKS = """
for value in ({arguments}):
    if hasattr(value, "setflags"): value.setflags(write=True)
"""
FORGED_NUMBERS = "pack(b'D', {kind!r} + bytes([1]) + struct.pack('<Q', 1) + bytes(8))"


def integrity(problem: str) -> list[Case]:
    """Attacks on the score, for any problem."""
    arguments = ", ".join(PROBLEMS[problem].arguments) + ","
    module = f"problems.{problem.replace('-', '_')}"
    own = problem in ("bin-packing-online", "admissible-set")  # an array of its own, and no array
    apart = PROBLEMS[problem].apart
    ok, refused = (S.OK,), (S.RUNTIME_ERROR,)
    unasked, unwritten = ((S.CRASHED,), ok) if apart else ((S.INVALID_SOLUTION,), (S.CRASHED,))
    found = [
        ("writes to its inputs", inside(WRITES.format(arguments=arguments), problem), ok if own else refused),
        ("unlocks its inputs", inside(UNLOCKS.format(arguments=arguments), problem), ok if own else refused),
        (
            "replaces the objective",
            top(
                f"""
                import sys
                import evaluators.candidate, evaluators.worker
                m = sys.modules.get({module!r})
                for module in list(sys.modules.values()):
                    for name in ("objective", "judge", "reference", "best", "bounds"):
                        if hasattr(module, "__dict__") and callable(module.__dict__.get(name)):
                            if str(module.__name__).split(".")[0] in ("problems", "evaluators"):
                                setattr(module, name, lambda *a, **k: -1e9)
                """,
                problem,
            ),
            ok,
        ),
        ("forges a number instead", forged(FORGED_NUMBERS.format(kind=b"i"), problem), unasked),
        ("forges a float instead", forged(FORGED_NUMBERS.format(kind=b"f"), problem), unasked),
        ("forges a good status", forged("pack(b'E', b'ok'.ljust(20) + b'-1e9')", problem), (S.CRASHED,)),
        ("forges two frames", forged("pack(b'E', b'ok') * 2", problem), (S.CRASHED,)),
        (
            "replaces the frame's writer",
            top(
                """
                import sys, numpy as np
                sys.modules["evaluators.frames"].encode_decisions = lambda decisions: b"AHD1D" + bytes(8)
                """,
                problem,
            ),
            unwritten,
        ),
        (
            "doubles what it decided",
            top(
                """
                import sys, numpy as np
                frames = sys.modules["evaluators.frames"]
                write = frames.encode_decisions
                frames.encode_decisions = lambda decisions: write(np.concatenate([decisions, decisions]))
                """,
                problem,
            ),
            ok if apart else (S.INVALID_SOLUTION,),
        ),
        (
            "leaves a mark",
            top(
                """
                import builtins, numpy as np, random
                assert not hasattr(np, "mark"), "someone was here before"
                np.mark = builtins.mark = random.mark = 1
                """,
                problem,
            ),
            ok,
        ),
        ("throws away the answer", inside("answer = None", problem), (S.INVALID_SOLUTION,)),
        ("answers with a word", inside("answer = 'best'", problem), (S.INVALID_SOLUTION,)),
        ("answers with NaN", inside("answer = answer * float('nan')", problem), (S.NONFINITE,)),
        ("answers with a complex number", inside("answer = answer + 0j", problem), (S.INVALID_SOLUTION,)),
        ("lets it go round for ever", inside("while True: pass", problem), (S.TIMEOUT,)),
        ("leaves quietly", inside("import os; os._exit(0)", problem), (S.CRASHED,)),
        ("takes other parameters", f"def {PROBLEMS[problem].function}(): return 1", (S.BAD_SIGNATURE,)),
    ]
    return [
        Case(f"{name}: {problem}", source, allowed, problem=problem, kind="integrity")
        for name, source, allowed in found
    ]


INTEGRITY = [case for problem in EVERYWHERE for case in integrity(problem)]

INDICES = {
    "minus one": ("-1", S.INVALID_SOLUTION),
    "far below": ("-10**6", S.INVALID_SOLUTION),
    "far above": ("10**6", S.INVALID_SOLUTION),
    "beyond a word": ("2**63", S.INVALID_SOLUTION),
    "beyond a word, unsigned": ("np.uint64(2**64 - 1)", S.INVALID_SOLUTION),
    "beside an integer": ("float(answer) + 1e-9 * (answer + 1)", S.INVALID_SOLUTION),
    "infinity": ("float('inf')", S.NONFINITE),
    "NaN of numpy": ("np.float32('nan')", S.NONFINITE),
    "NaT": ("np.datetime64('NaT')", S.INVALID_SOLUTION),
    "a list of one": ("[int(answer)]", S.INVALID_SOLUTION),
    "a tuple": ("(int(answer), 0)", S.INVALID_SOLUTION),
    "a fraction": ("__import__('fractions').Fraction(int(answer))", S.INVALID_SOLUTION),
    "a decimal": ("__import__('decimal').Decimal(int(answer))", S.INVALID_SOLUTION),
    "a generator": ("(answer for _ in range(1))", S.INVALID_SOLUTION),
    "a subclass of int": ("type('I', (int,), {'__lt__': lambda *a: False})(answer)", S.INVALID_SOLUTION),
    "a subclass of float": ("type('F', (float,), {'__int__': lambda s: 0})(answer)", S.INVALID_SOLUTION),
    "an index of its own": ("type('I', (), {'__index__': lambda s: 1})()", S.INVALID_SOLUTION),
    "a float of its own": ("type('F', (), {'__float__': lambda s: 1.0})()", S.INVALID_SOLUTION),
    "an array of its own": ("type('A', (), {'__array__': lambda *a: np.int64(1)})()", S.INVALID_SOLUTION),
    "a masked number": ("np.ma.masked", S.INVALID_SOLUTION),
    "a record": ("np.zeros((), [('x', int)])[()]", S.INVALID_SOLUTION),
    "its own function": ("_simplest", S.INVALID_SOLUTION),
    "the same as 0-d": ("np.array(answer)", S.OK),
    "the same as int16": ("np.int16(answer)", S.OK),
    "the same as long double": ("np.longdouble(int(answer))", S.OK),
    "the same through a liar": (
        "type('L', (np.int64,), {'__eq__': lambda *a: True, '__hash__': None, '__lt__': lambda *a: True})"
        "(answer)",
        S.OK,
    ),
}


SUBCLASSES = ("a subclass of int", "a subclass of float")
"""Numbers that have become plain ones by the time they reach a loop in another process."""


def indices(problem: str) -> list[Case]:
    """Wrong and odd decisions where an index is asked for."""
    return [
        Case(
            f"{name}: {problem}",
            returning(text, problem),
            (S.OK if PROBLEMS[problem].apart and name in SUBCLASSES else status,),
            problem=problem,
            kind="decisions",
        )
        for name, (text, status) in INDICES.items()
    ]


DECISIONS = [case for problem in INDEX for case in indices(problem)]

ARRAYS = {
    "one too few": ("np.asarray(answer)[:-1]", S.INVALID_SOLUTION),
    "an axis too many": ("np.asarray(answer)[None]", S.INVALID_SOLUTION),
    "a sum": ("np.sum(answer)", S.INVALID_SOLUTION),
    "nothing in it": ("np.zeros(0)", S.INVALID_SOLUTION),
    "objects": ("np.asarray(answer).astype(object)", S.INVALID_SOLUTION),
    "complex": ("np.asarray(answer) + 0j", S.INVALID_SOLUTION),
    "strings": ("np.asarray(answer).astype(str)", S.INVALID_SOLUTION),
    "bytes": ("np.asarray(answer).tobytes()", S.INVALID_SOLUTION),
    "dates": ("np.zeros(np.shape(answer), 'M8[s]')", S.INVALID_SOLUTION),
    "records": ("np.zeros(np.shape(answer), [('x', float)])", S.INVALID_SOLUTION),
    "a ragged list": ("[[1.0], [1.0, 2.0]]", S.INVALID_SOLUTION),
    "a generator": ("(row for row in answer)", S.INVALID_SOLUTION),
    "a dictionary": ("{'answer': answer}", S.INVALID_SOLUTION),
    "one NaN": (
        "np.where(np.arange(np.size(answer)).reshape(np.shape(answer)) == 3, np.nan, answer)",
        S.NONFINITE,
    ),
    "one infinity": (
        "np.where(np.arange(np.size(answer)).reshape(np.shape(answer)) == 3, np.inf, answer)",
        S.NONFINITE,
    ),
    "minus infinity": ("np.full(np.shape(answer), -np.inf)", S.NONFINITE),
    "too large a float": ("np.full(np.shape(answer), np.longdouble('1e4000'))", S.NONFINITE),
    "an array that fails": (
        "type('A', (), {'__array__': lambda *a, **k: 1 / 0})()",
        S.RUNTIME_ERROR,
    ),
    "an array that is none": ("type('A', (), {'__array__': lambda *a, **k: [1.0]})()", S.INVALID_SOLUTION),
    "an address of its own": (
        "type('A', (), {'__array_interface__': dict(version=3, shape=np.shape(answer), typestr='<f8', "
        "data=(64, True))})()",
        S.CRASHED,
    ),
    "steps beyond its memory": (
        "np.lib.stride_tricks.as_strided("
        "np.asarray(answer, float), np.shape(answer), [2**61] * np.ndim(answer))",
        S.CRASHED,
    ),
    "ten thousand squared": ("np.ones((10**4, 10**4))", S.MEMORY),
    "a list of lists": ("np.asarray(answer).tolist()", S.OK),
    "in the order of columns": ("np.asfortranarray(answer)", S.OK),
    "masked": ("np.ma.masked_array(answer, mask=True)", S.OK),
    "a buffer": ("memoryview(np.ascontiguousarray(answer, float))", S.OK),
    "read-only": ("np.frombuffer(np.asarray(answer, float).tobytes()).reshape(np.shape(answer))", S.OK),
    "a view": ("np.concatenate([answer, answer])[:len(answer)]", S.OK),
    "a subclass that lies": (
        "np.asarray(answer, float).view(type('L', (np.ndarray,), "
        "{'astype': lambda s, *a: 0, 'shape': (1,), 'tobytes': lambda s: b''}))",
        S.OK,
    ),
    "an array of its own": ("type('A', (), {'__array__': lambda *a, kept=answer, **k: kept})()", S.OK),
    "steps of nothing": ("np.broadcast_to(1.0, np.shape(answer))", S.OK),
    "booleans": ("np.asarray(answer) > np.mean(answer)", S.OK),
    "single precision": ("np.asarray(answer, np.float32)", S.OK),
    "bytes as numbers": ("np.full(np.shape(answer), 7, np.uint8)", S.OK),
    "the smallest": ("np.full(np.shape(answer), 5e-324)", S.OK),
    "zeros": ("np.zeros(np.shape(answer))", S.OK),
    "negative": ("-1.0 - np.abs(answer)", S.OK),
    "huge": ("np.full(np.shape(answer), 1e308)", S.OK),
    "huge and tiny": (
        "np.where(np.arange(np.size(answer)).reshape(np.shape(answer)) % 2, 1e308, 1e-308)",
        S.OK,
    ),
}
OWN_DECISIONS = (
    *("steps of nothing", "booleans", "single precision", "bytes as numbers"),
    *("the smallest", "zeros", "negative", "huge", "huge and tiny"),
)
"""Arrays that are right, and others than the simplest heuristic's."""


def arrays(problem: str) -> list[Case]:
    """Wrong and odd arrays where a solver is to be guided."""
    found = []
    for name, (text, status) in ARRAYS.items():
        source = returning(text, problem)
        if problem == "bpp-aco" and name in ("zeros", "negative"):
            status = S.INVALID_SOLUTION  # nothing above 0
        if problem in ("cvrp-aco", "tsp-aco") and name in ("huge", "huge and tiny"):
            status = S.NONFINITE  # these solvers work in single precision
        honest = source if name in OWN_DECISIONS else ""
        found.append(
            Case(
                f"{name}: {problem}",
                source,
                (status,),
                problem=problem,
                kind="arrays",
                honest=honest,
            )
        )
    return found


MATRICES = [case for problem in MATRIX for case in arrays(problem)]

FRAMES = {
    "tsp": ("frame.f_locals['unvisited'][:] = True\nanswer = 5", "tour"),
    "knapsack": ("frame.f_locals['weights'][:] = [0.0] * 50", "fit"),
    "cvrp": ("frame.f_locals['needs'][:] = 0", "capacity"),
    "job-shop": ("frame.f_locals['order'][:] = 0", "KeyError"),
    "bin-packing-online": ("frame.f_locals['left'][:] = 100", "KeyError"),
    "tsp-gls": ("frame.f_locals['best'][:] = 0", "KeyError"),
    "bpp-aco": ("frame.f_locals['found'].append(answer)", "shape"),
    "cvrp-aco": ("frame.f_locals['found'].append(answer)", "shape"),
    "mkp-aco": ("frame.f_locals['found'].append(answer)", "shape"),
    "op-aco": ("frame.f_locals['found'].append(answer)", "shape"),
    "tsp-aco": ("frame.f_locals['found'].append(answer)", "shape"),
}
"""What a candidate does to the loop that calls it, and what the check outside says to it; or that the loop is
not there."""
WALKS = [
    Case(
        f"edits the loop's frame: {problem}",
        inside("import sys\nframe = sys._getframe(1)\n" + text, problem),
        (S.RUNTIME_ERROR if PROBLEMS[problem].apart else S.INVALID_SOLUTION,),
        detail,
        problem=problem,
        kind="integrity",
    )
    for problem, (text, detail) in FRAMES.items()
]

FORESIGHT = """
import sys
import numpy as np
plan, step, left = None, 0, np.full(1000, 100)
def priority(item, bins):
    global plan, step
    if plan is None:
        items = sys._getframe(1).f_locals["items"]
        plan, room = np.zeros(len(items), int), np.full(len(items), 100)
        for k in np.argsort(-items, kind="stable"):
            plan[k] = np.flatnonzero(room >= items[k])[0]
            room[plan[k]] -= items[k]
    index = np.count_nonzero(left[: plan[step]] >= item)
    left[plan[step]] -= item
    step += 1
    return np.arange(len(bins)) == index
"""
"""Packs the largest items first, as only those can who know all items before the first has its bin."""

ROLLOUT = """
import sys
import numpy as np
def select_next_operation(times, ready, machine_free, work_left, operations_left, next_times, next_load):
    loop, shop_floor, ends = sys._getframe(1).f_locals, sys.modules["evaluators.job_shop"], []
    machines, durations = loop["machines"], loop["times"]
    for job in loop["rivals"]:
        state, shop, order = loop["state"].copy(), loop["shop"].copy(), loop["order"].copy()
        while True:
            shop_floor.dispatch(job, machines, durations, state, shop)
            rivals, table, _ = shop_floor.next_choice(machines, durations, state, shop, order)
            if len(rivals) == 0:
                break
            job = rivals[table[2].argmax()]
        ends.append(shop[0].max())
    return int(np.argmin(ends))
"""
"""Tries every choice to the end with the most work left, which takes the whole instance."""


APART = sorted(name for name, problem in PROBLEMS.items() if problem.apart)


def impostors(problem: str) -> list[tuple[str, str, tuple[Status, ...], str]]:
    """Attacks on a loop in another process: what they are, the outcome and what is said."""
    inner = FORGED_NUMBERS.format(kind=b"i")
    failure = "pack(b'E', b'syntax_error'.ljust(20) + b'no')"
    ahead = "pack(b'A', b'i' + bytes([0]) + bytes(8)) * 3000"
    return [
        (
            "hides decisions in half an answer",
            forged(f"header(b'A', 4096) + {inner}", problem),
            (S.CRASHED,),
            "half",
        ),
        (
            "hides decisions behind a failure",
            forged(f"{failure} + {inner}", problem),
            (S.SYNTAX_ERROR,),
            "no",
        ),
        ("sends a header alone", forged("header(b'A', 8)", problem), (S.CRASHED,), "half"),
        ("announces a terabyte", forged("header(b'A', 10**12)", problem), (S.CRASHED,), "too large"),
        ("answers before it is asked", forged(ahead, problem), (S.OK, S.INVALID_SOLUTION, S.CRASHED), ""),
        (
            "answers with 255 axes",
            forged("pack(b'A', b'i' + bytes([255]) + bytes(2040))", problem),
            (S.CRASHED,),
            "shape",
        ),
    ]


def returned(problem: str, *rows: tuple[str, str, Status]) -> list[Case]:
    """A case for each name, what is returned, and the outcome."""
    return [
        Case(f"{name}: {problem}", returning(text, problem), (status,), problem=problem, kind="arrays")
        for name, text, status in rows
    ]


ODD = [
    Case(
        "keeps the bins",
        inside(
            "bins[:] = 100\nwhile isinstance(bins.base, np.ndarray): bins = bins.base\nbins[:] = 100",
            "bin-packing-online",
        ),
        (S.OK,),
        problem="bin-packing-online",
        kind="integrity",
    ),
    Case(
        "packs with what comes next",
        FORESIGHT,
        (S.OK, S.RUNTIME_ERROR),
        problem="bin-packing-online",
        kind="integrity",
    ),
    Case(
        "schedules with what it is not shown",
        ROLLOUT,
        (S.OK, S.RUNTIME_ERROR),
        problem="job-shop",
        kind="integrity",
        honest=PROBLEMS["job-shop"].heuristics["most work left"],
    ),
    *(
        Case(
            f"{name}: {problem}",
            source,
            statuses,
            detail,
            problem=problem,
            kind="integrity",
            honest=returning("0", problem),
        )
        for problem in APART
        for name, source, statuses, detail in impostors(problem)
    ),
    *returned(
        "bin-packing-online",
        ("one too few", "answer[:-1]", S.INVALID_SOLUTION),
        ("a number", "1.0", S.INVALID_SOLUTION),
        ("objects", "answer.astype(object)", S.INVALID_SOLUTION),
        ("a ragged list", "[[1], [1, 2]]", S.INVALID_SOLUTION),
        ("one NaN at the start", "np.where(np.arange(len(bins)) == 0, np.nan, answer)", S.NONFINITE),
        ("infinities", "np.where(answer == answer.max(), np.inf, -np.inf)", S.OK),
        ("masked", "np.ma.masked_array(answer, mask=True)", S.OK),
    ),
    *returned(
        "admissible-set",
        ("a vector", "np.ones(3)", S.INVALID_SOLUTION),
        ("a long integer", "10**30", S.OK),
        ("an integer without end", "10**400", S.NONFINITE),
        ("infinity", "float('inf')", S.NONFINITE),
        ("a bool", "True", S.OK),
        ("lengths that differ", "[1.0] * (1 + el[0])", S.INVALID_SOLUTION),
        ("a float of its own", "type('F', (), {'__float__': lambda s: 1.0})()", S.INVALID_SOLUTION),
        ("a subclass of float", "type('F', (float,), {'__float__': lambda s: 9.0})(0.0)", S.OK),
    ),
    Case(
        "does not fit",
        "import numpy as np\ndef select_next_item(remaining_capacity, weights, values):\n"
        "    return int(np.argmax(weights)) if remaining_capacity < 1 else 0\n",
        (S.INVALID_SOLUTION,),
        "does not fit",
        problem="knapsack",
        kind="decisions",
    ),
    Case(
        "stays at the depot",
        returning("0", "cvrp"),
        (S.INVALID_SOLUTION,),
        "depot already",
        problem="cvrp",
        kind="decisions",
    ),
    Case(
        "takes who does not fit",
        "import numpy as np\nseen = set()\n"
        "def select_next_node(current_node, depot, unvisited_nodes, rest_capacity, demands, matrix):\n"
        "    if current_node == 0: seen.clear()\n"
        "    large = [k for k in range(1, len(demands)) if demands[k] > rest_capacity]\n"
        "    return large[0] if large else unvisited_nodes[0]\n",
        (S.INVALID_SOLUTION,),
        problem="cvrp",
        kind="decisions",
    ),
]

RESOURCES = [
    Case("over a megabyte", "#" * (1 << 20) + "\n" + body(FIRST), (S.SYNTAX_ERROR,), "longer"),
    Case("five thousand brackets", "x = " + "(" * 5000 + ")" * 5000, (S.SYNTAX_ERROR,)),
    Case("an integer of a million digits", "x = int('9' * 10**6)", (S.RUNTIME_ERROR,), "ValueError"),
    Case("a power without end", "x = 10 ** 10 ** 9", (S.TIMEOUT,)),
    Case("a text of a terabyte", "x = 'x' * 10**12", (S.MEMORY,)),
    Case("a range as a list", "x = list(range(10**12))", (S.MEMORY,)),
    Case("an expression that backtracks", "import re\nre.match('(a+)+$', 'a' * 60 + 'b')", (S.TIMEOUT,)),
    Case(
        "a sort that never ends", "sorted([2, 1], key=lambda x: [None for _ in iter(int, 1)])", (S.TIMEOUT,)
    ),
    Case("generators in a ring", "x = []\nx.append(x)\nwhile x: x = x[0]", (S.TIMEOUT,)),
    Case(
        "waits for a lock",
        "import threading\nlock = threading.Lock()\nlock.acquire()\nlock.acquire()",
        (S.TIMEOUT,),
    ),
    Case("waits for a signal", "import select\nselect.select([], [], [])", (S.TIMEOUT,)),
    Case("spins in numpy", "import numpy as np\nx = np.ones((2000, 2000))\nwhile True: x @ x", (S.TIMEOUT,)),
    Case("prints to the error stream", "import sys\nwhile True: sys.stderr.write('y' * 10**6)", (S.TIMEOUT,)),
    Case("floods by descriptors", "import os\nwhile True: os.write(1, b'y' * 10**6)", (S.TIMEOUT,)),
    Case("maps memory", "import mmap\nx = [mmap.mmap(-1, 1 << 30) for _ in range(64)]", (S.MEMORY,)),
    Case("lists that double", "x = [0] * 10**6\nwhile True: x = [*x, *x]", (S.MEMORY,)),
    Case("bytes that double", "x = b'x'\nwhile True: x += x", (S.MEMORY,)),
    Case("a tower of calls", "def f(n): return f(n + 1) + 1\nf(0)", (S.RUNTIME_ERROR,), "RecursionError"),
    Case(
        "lists within lists",
        "x = []\nfor _ in range(10**5): x = [x]\nrepr(x)",
        (S.RUNTIME_ERROR,),
        "RecursionError",
    ),
    Case(
        "no limit to recursion",
        "import sys\nsys.setrecursionlimit(10**9)\nclass R:\n    def __repr__(s): return repr(s)\nrepr(R())",
        (S.CRASHED,),
        "SIGSEGV",
    ),
]
RESOURCES = [replace(case, kind="resources") for case in RESOURCES]

CASES = [
    *(replace(case, kind="general") for case in GENERAL),
    *FILES,
    *NETWORK,
    *PROCESSES,
    *INTEGRITY,
    *DECISIONS,
    *MATRICES,
    *WALKS,
    *ODD,
    *RESOURCES,
]
CASES.sort(key=lambda case: EVERYWHERE.index(case.problem))
