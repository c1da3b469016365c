"""The kernel's layers, each by itself in a forked process, and which of them are put on."""

import ctypes
import errno
import fcntl
import mmap
import os
import platform
import resource
import signal
import socket
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from ahd import doctor
from ahd.cli import main
from evaluators import landlock, layers, seccomp
from evaluators.confine import die_with_parent, drop_capabilities
from evaluators.layers import Layer, LayerMissing, Mode
from evaluators.outcome import Status
from evaluators.sandbox import Sandbox
from problems.tsp import problem as tsp
from tests.evaluators.aftermath import NEAREST, NEAREST_LENGTH
from tests.fakes import SMALL

_NO_NEW_PRIVS = 38
libc = ctypes.CDLL(None, use_errno=True)
needs_landlock = pytest.mark.skipif(landlock.version() == 0, reason="this kernel has no Landlock")
needs_seccomp = pytest.mark.skipif(bool(seccomp.missing()), reason="this machine has no filter")


def in_child(*acts: Callable[[], object]) -> int:
    """The errno (0: none; 255: something else) of the last of ``acts`` in a process of its own; minus the
    signal that ends it. The others have to work."""
    child = os.fork()
    if child == 0:
        code = 254
        try:
            die_with_parent()
            libc.prctl(_NO_NEW_PRIVS, 1, 0, 0, 0)
            for act in acts[:-1]:
                act()
            code = 255
            acts[-1]()
            code = 0
        except OSError as error:
            code = (error.errno or 255) if code == 255 else code
        finally:
            os._exit(code)
    status = os.waitpid(child, 0)[1]
    return -os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)


def syscall(*arguments: object) -> int:
    words = [ctypes.c_long(value) if isinstance(value, int) else value for value in arguments]
    found = int(libc.syscall(*words))
    if found < 0:
        raise OSError(ctypes.get_errno(), "refused")
    return found


def kernel_at_least(version: int) -> bool:
    return landlock.version() >= version


@needs_landlock
class TestLandlock:
    """Rules that allow one folder to be read."""

    @pytest.fixture
    def inside(self, tmp_path: Path) -> Path:
        folder = tmp_path / "inside"
        (folder / "deep").mkdir(parents=True)
        (folder / "deep" / "file").write_text("x")
        (tmp_path / "outside").write_text("y")
        return folder

    def restricted(self, inside: Path, act: Callable[[], object]) -> int:
        return in_child(lambda: landlock.restrict(landlock.ruleset([str(inside), "/no/such/folder"])), act)

    def test_reading_below_an_allowed_folder_works(self, inside: Path) -> None:
        """Files and folders anywhere below it can be opened; a path that does not exist is no error."""
        assert self.restricted(inside, (inside / "deep" / "file").read_text) == 0
        assert self.restricted(inside, lambda: os.listdir(inside / "deep")) == 0

    def test_what_is_open_stays_open(self, inside: Path) -> None:
        """A descriptor from before works on, also to be written to."""
        descriptor = os.open(inside.parent / "outside", os.O_RDWR)
        assert self.restricted(inside, lambda: (os.read(descriptor, 1), os.write(descriptor, b"z"))) == 0
        os.close(descriptor)

    @pytest.mark.parametrize(
        "act",
        [
            lambda folder: (folder.parent / "outside").read_text(),
            lambda folder: os.listdir(folder.parent),
            lambda folder: os.listdir("/proc/self"),
            lambda folder: os.open("/proc/self/mem", os.O_RDONLY),
            lambda folder: (folder / "deep" / "file").write_text("z"),
            lambda folder: os.open(folder / "deep" / "file", os.O_RDWR),
            lambda folder: (folder / "new").touch(),
            lambda folder: os.mkdir(folder / "new"),
            lambda folder: os.symlink("x", folder / "new"),
            lambda folder: os.mkfifo(folder / "new"),
            lambda folder: os.unlink(folder / "deep" / "file"),
            lambda folder: os.rename(folder / "deep" / "file", folder / "deep" / "other"),
            lambda folder: os.rmdir(folder / "deep"),
            lambda folder: os.execv("/bin/true", ["true"]),
        ],
    )
    def test_everything_else_is_refused(self, inside: Path, act: Callable[[Path], object]) -> None:
        """Reading elsewhere, and writing, making, moving, removing and executing anywhere, is ``EACCES``."""
        assert self.restricted(inside, lambda: act(inside)) == errno.EACCES
        assert (inside / "deep" / "file").read_text() == "x"

    @pytest.mark.skipif(not kernel_at_least(4), reason="this kernel's Landlock knows no network")
    def test_tcp_is_refused(self, inside: Path) -> None:
        """Neither connecting nor binding works."""
        with socket.create_server(("127.0.0.1", 0)) as server:
            address = server.getsockname()
            assert self.restricted(inside, lambda: socket.socket().connect(address)) == errno.EACCES
        assert self.restricted(inside, lambda: socket.socket().bind(("127.0.0.1", 0))) == errno.EACCES

    @pytest.mark.skipif(not kernel_at_least(6), reason="this kernel's Landlock knows no scopes")
    def test_processes_outside_are_out_of_reach(self, inside: Path) -> None:
        """Signals reach the process itself only, and no abstract socket of others can be connected to."""
        parent = os.getpid()
        assert self.restricted(inside, lambda: os.kill(parent, 0)) == errno.EPERM
        assert self.restricted(inside, lambda: os.kill(os.getpid(), 0)) == 0
        name = f"\0ahd-layers-{parent}"
        with socket.socket(socket.AF_UNIX) as server:
            server.bind(name)
            server.listen()
            assert self.restricted(inside, lambda: socket.socket(socket.AF_UNIX).connect(name)) == errno.EPERM

    def test_needs_no_new_privileges_only(self, inside: Path) -> None:
        """A wrong descriptor is an ``OSError``, so that a candidate is never run without its rules."""
        assert in_child(lambda: landlock.restrict(-1)) == errno.EBADF


def own_signals() -> None:
    os.kill(os.getpid(), 0)
    syscall(234, os.getpid(), os.getpid(), 0)


def int80() -> None:
    """Call ``getpid`` in the way of 32-bit programs."""
    code = mmap.mmap(-1, mmap.PAGESIZE, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    code.write(bytes.fromhex("b814000000cd80c3"))
    ctypes.CFUNCTYPE(ctypes.c_long)(ctypes.addressof(ctypes.c_char.from_buffer(code)))()


LIMITS = (ctypes.c_uint64 * 2)(8, 8)


@needs_seccomp
class TestSeccomp:
    """The filter, with and without files that may be read."""

    def filtered(self, act: Callable[[], object], reading: bool = True) -> int:
        return in_child(lambda: seccomp.install(seccomp.program(reading)), act)

    @pytest.mark.parametrize(
        "act",
        [
            lambda: [0] * 10**7,
            lambda: mmap.mmap(-1, 1 << 20).close(),
            lambda: os.write(1, b""),
            lambda: os.getppid(),
            lambda: os.urandom(8),
            lambda: os.close(os.dup(0)),
            lambda: fcntl.fcntl(0, fcntl.F_GETFL),
            lambda: signal.signal(signal.SIGTERM, signal.SIG_IGN),
            own_signals,
            lambda: resource.prlimit(0, resource.RLIMIT_AS),
            lambda: resource.getrusage(resource.RUSAGE_SELF),
        ],
    )
    @pytest.mark.parametrize("reading", [True, False])
    def test_what_concerns_the_process_itself_works(self, act: Callable[[], object], reading: bool) -> None:
        """Memory, time, random numbers, its own signals and limits, what it has open."""
        assert self.filtered(act, reading) == 0

    @pytest.mark.parametrize(
        "act",
        [
            lambda: os.close(os.open(__file__, os.O_RDONLY)),
            lambda: syscall(2, ctypes.c_char_p(b"/"), 0),
            lambda: os.stat(__file__),
            lambda: os.listdir("/"),
        ],
    )
    def test_files_can_be_read_only_where_rules_say_which(self, act: Callable[[], object]) -> None:
        """``reading`` allows what late imports do; without it, nothing can even be looked for."""
        assert self.filtered(act, reading=True) == 0
        assert self.filtered(act, reading=False) == errno.EPERM

    @pytest.mark.parametrize("flags", ["O_WRONLY", "O_RDWR", "O_CREAT", "O_TRUNC", "O_APPEND", "O_TMPFILE"])
    @pytest.mark.parametrize("reading", [True, False])
    def test_opening_to_write_is_refused(self, tmp_path: Path, flags: str, reading: bool) -> None:
        """Through ``open`` and ``openat``, whatever else the flags and their upper half say."""
        file = ctypes.c_char_p(str(tmp_path).encode())
        for extra in (0, os.O_CLOEXEC | os.O_NONBLOCK, 1 << 40):
            value = getattr(os, flags) | extra
            assert self.filtered(lambda v=value: syscall(257, -100, file, v, 0o600), reading) == errno.EPERM
            assert self.filtered(lambda v=value: syscall(2, file, v, 0o600), reading) == errno.EPERM
        assert list(tmp_path.iterdir()) == []

    @pytest.mark.parametrize(
        "act",
        [
            lambda: os.fork(),
            lambda: os.kill(os.getppid(), 0),
            lambda: os.kill(0, 0),
            lambda: os.kill(-1, 0),
            lambda: os.kill(-os.getpid(), 0),
            lambda: syscall(234, os.getppid(), os.getppid(), 0),
            lambda: syscall(200, os.getppid(), 0),
            lambda: socket.socket(),
            lambda: socket.socketpair(),
            lambda: os.chmod("/nowhere", 0),
            lambda: os.unlink("/nowhere"),
            lambda: os.truncate("/nowhere", 0),
            lambda: os.pipe(),
            lambda: fcntl.fcntl(0, fcntl.F_SETOWN, os.getppid()),
            lambda: fcntl.fcntl(0, 10, 9),
            lambda: fcntl.fcntl(0, 15, bytes(8)),
            lambda: os.setsid(),
            lambda: libc_prctl(1),
            lambda: syscall(302, 0, 7, LIMITS, 0),
            lambda: syscall(302, 0, 7, ctypes.c_void_p(1 << 32), 0),
            lambda: syscall(160, 7, LIMITS),
            lambda: syscall(437, -100, ctypes.c_char_p(b"/"), (ctypes.c_uint64 * 3)(), 24),
            lambda: syscall(9999),
        ],
    )
    def test_other_calls_are_refused(self, act: Callable[[], object]) -> None:
        """``EPERM`` for processes, others' signals, sockets, changes of files and limits, unknown calls."""
        assert self.filtered(act) == errno.EPERM

    def test_clone3_does_not_exist(self) -> None:
        """So that the C library takes ``clone``, whose refusal Python can tell."""
        assert self.filtered(lambda: syscall(435, (ctypes.c_uint64 * 11)(), 88)) == errno.ENOSYS

    @pytest.mark.parametrize("name", seccomp.DEADLY)
    def test_calls_that_nothing_innocent_makes_end_the_process(self, name: str) -> None:
        """With ``SIGSYS``, before they are made."""
        assert self.filtered(lambda: syscall(seccomp.DEADLY[name], 0, 0, 0, 0, 0, 0)) == -signal.SIGSYS

    def test_calls_of_other_kinds_end_the_process(self) -> None:
        """Those of x32 and of 32-bit programs have other numbers: none is let through."""
        assert self.filtered(lambda: syscall(0x40000000 + 39)) == -signal.SIGSYS
        assert self.filtered(lambda: syscall(0x40000000 + 59)) == -signal.SIGSYS
        assert self.filtered(int80) == -signal.SIGSYS

    def test_a_second_filter_cannot_be_put_on(self) -> None:
        """Nor can the first be taken off."""
        assert self.filtered(lambda: seccomp.install(seccomp.program(True))) == errno.EPERM

    def test_numbers_are_on_one_list_only(self) -> None:
        """No call is both allowed and deadly, or allowed without a look at its arguments as well."""
        lists = [
            list(seccomp.ALLOWED.values()),
            list(seccomp.READING.values()),
            [number for number, _ in seccomp.OPENING.values()],
            list(seccomp.DEADLY.values()),
            list(seccomp.SIGNALLING.values()),
        ]
        numbers = [number for each in lists for number in each]
        assert len(set(numbers)) == len(numbers)
        assert len(seccomp.program(True)) % 8 == 0


def libc_prctl(option: int) -> None:
    if libc.prctl(option, 0, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "refused")


def lacking(monkeypatch: pytest.MonkeyPatch, *names: Layer) -> None:
    """Simulate that layers are absent."""
    monkeypatch.setattr(layers, "missing", lambda: dict.fromkeys(names, "simulated absent"))


def test_the_layers_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    """``auto`` takes what there is, ``off`` nothing, ``strict`` all, or an error naming what is missing."""
    for names in ([], [Layer.LANDLOCK], [Layer.SECCOMP], list(Layer)):
        lacking(monkeypatch, *names)
        assert layers.chosen(Mode.AUTO) == set(Layer) - set(names)
        assert layers.chosen(Mode.OFF) == frozenset()
        if not names:
            assert layers.chosen(Mode.STRICT) == set(Layer)
            continue
        with pytest.raises(LayerMissing, match="simulated absent") as caught:
            layers.chosen(Mode.STRICT)
        assert all(f"no {name}" in str(caught.value) for name in names)
        assert "--sandbox auto" in str(caught.value)
        assert "\n" not in str(caught.value)


def test_what_is_missing_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    """A kernel without Landlock and another processor are told apart."""
    monkeypatch.setattr(landlock, "version", lambda: 0)
    monkeypatch.setattr(platform, "machine", lambda: "aarch64")
    found = layers.missing()
    assert "Linux 5.13" in found[Layer.LANDLOCK]
    assert "aarch64" in found[Layer.SECCOMP]


def test_the_level_told() -> None:
    """Limits always, then the layers in one order."""
    assert layers.told(frozenset()) == "limits only"
    assert layers.told(frozenset(Layer)) == "limits, landlock, seccomp"
    assert layers.told(frozenset([Layer.SECCOMP])) == "limits, seccomp"


@pytest.mark.parametrize("names", [[Layer.LANDLOCK], [Layer.SECCOMP], list(Layer)], ids="+".join)
def test_a_strict_run_refuses_to_start(
    names: list[Layer], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """Exit code 2, one line that names what is missing, and no run folder."""
    lacking(monkeypatch, *names)
    command = ["ahd", "run", "tsp", "--model", "scripted", "--budget", "20", "--sandbox", "strict"]
    monkeypatch.setattr(sys, "argv", [*command, "--out", str(tmp_path / "run"), "--display", "plain"])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 2
    told = capsys.readouterr().err
    assert told.startswith("ahd: --sandbox strict: ")
    assert told.count("\n") == 1
    assert all(f"no {name}" in told for name in names)
    assert not (tmp_path / "run").exists()


def test_a_run_shows_its_level(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """The plain display of a run with one layer missing names those in force."""
    lacking(monkeypatch, Layer.LANDLOCK)
    command = ["ahd", "run", *SMALL, "--model", "scripted", "--budget", "20", "--seed", "1"]
    monkeypatch.setattr(sys, "argv", [*command, "--out", str(tmp_path / "run"), "--display", "plain"])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 0
    assert "sandbox: limits, seccomp" in capsys.readouterr().out


def test_doctor_shows_the_level(monkeypatch: pytest.MonkeyPatch) -> None:
    """``ahd doctor`` names the layers in force; one that is missing is a warning with its reason."""
    lacking(monkeypatch)
    finding = doctor.sandbox()
    assert finding.grade == "ok"
    assert "limits, landlock, seccomp" in finding.detail
    lacking(monkeypatch, Layer.SECCOMP)
    finding = doctor.sandbox()
    assert finding.grade == "warn"
    assert "no seccomp: simulated absent" in finding.detail
    assert "limits, landlock" in finding.detail
    assert finding.mend


@needs_landlock
@needs_seccomp
@pytest.mark.parametrize(
    ("mode", "status"),
    [(Mode.STRICT, Status.FORBIDDEN), (Mode.AUTO, Status.FORBIDDEN), (Mode.OFF, Status.OK)],
)
def test_the_mode_reaches_candidates(mode: Mode, status: Status) -> None:
    """A socket, which limits do not prevent, can be made only when the layers are off."""
    with Sandbox(tsp, mode=mode) as sandbox:
        outcome = sandbox.submit("import socket\nsocket.socketpair()\n" + NEAREST).result()
    assert outcome.status is status, outcome
    if outcome.ok:
        assert outcome.objective == NEAREST_LENGTH


def has_capabilities() -> None:
    """Raises what says that this process has some."""
    lines = Path("/proc/self/status").read_text().splitlines()
    held = {line for line in lines if line.startswith(("CapInh", "CapPrm", "CapEff", "CapAmb"))}
    if any(int(line.split()[1], 16) for line in held):
        raise OSError(errno.EPERM, str(held))


@pytest.mark.skipif(os.geteuid() != 0, reason="only root has any")
def test_root_that_stays_root_has_no_capabilities() -> None:
    """As where a container maps root alone, and no other user can be taken on."""
    assert in_child(has_capabilities) == errno.EPERM
    assert in_child(drop_capabilities, has_capabilities) == 0
