"""Random replies and random answers of a worker: does anything come of them that is not typed?

    python benchmarks/fuzz.py [--minutes 10] [--seed 1] [--json FILE]

A third of the time goes to the parser of replies, one to what a worker sends back, one to what a candidate
answers a loop in another process. All begin with what is real
(known heuristics of every problem as replies in both styles, replies of a small model; decisions of known
heuristics and failures as frames) and damage it in one to six random ways: parts cut, doubled, repeated up to
thousands of times, spliced, or replaced by fragments that have broken parsers before.

A reply has to become text, in both styles, by every problem's skeleton, within ``SECONDS``; and so has its
normal form. A frame has to be decoded or refused as ``BadFrame``. An answer has to become an outcome that has
an objective exactly when it is ok; where the line before the frame is damaged, ``SandboxError`` may be raised
too. A frame alone may not raise it: a candidate that forges one would end the run. Answers to calls have to
become decisions that are the loop's own, or a failure. Exit code 1 on a failure.
"""

import argparse
import base64
import dataclasses
import json
import math
import os
import random
import signal
import socket
import sys
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

SECONDS = 5.0
"""CPU seconds that one reply or answer may take."""
SENT = 50_000
"""Bytes that can be sent before anybody reads them."""
MOST_FAILURES = 20
"""Failures of a kind that are kept; more are only counted."""
MODEL_REPLIES = (
    " + np.pi * distance_matrix[destination_node, unvisited_nodes]",
    " - home + rest",
    " + (rel(home - rest) / np.pi * distance_matrix[destination_node, unvisited_nodes])",
    " + np.pi * home + rest ** (np.pi * distance_matrix[unvisited_nodes][:, unvisited_nodes].mean() ** 2)",
    " / np.pi * distance_matrix[destination_node, unvisited_nodes] * (np.power(np.pi, 3))",
    " * distance_matrix[destination_node, unvisited_nodes] + (source_distance_matrix[destination",
    ".mean(axis=0) + 10.72820 + home - home.mean() - rest - rest",
    " + (1.3 * home + 0.2 * rest) + (1.3 * (home + rest) ** 2)",
)
"""Of the shipped model, cut where it was cut."""
FRAGMENTS = (
    *("```", "```python\n", "~~~", "{", "}", "{a {b} c}", "'''", '"""', "'", '"', "\\", "\\\n", "#", "# c\n"),
    *("(", ")", "[", "]", ":", ";", ",", "=", ":=", "->", "**", "//", "@", "@a\n", "...", "!", "$", "?", "`"),
    *("def ", "def f():\n", "async def f():", "class C:\n", "lambda: ", "return ", "\n    return score\n"),
    *(
        "import numpy as np\n",
        "from x import *\n",
        "if x:\n",
        "else:\n",
        "try:\n",
        "except* E:\n",
        "match x:\n",
    ),
    *(
        "case _:\n",
        "with a as b:\n",
        "for i in range(3):\n",
        "yield ",
        "await ",
        "global near\n",
        "nonlocal x\n",
    ),
    *("\n", "\r", "\r\n", "\t", " ", "    ", "\f", "\v", "\x00", "\x1a", "\x1b[2J", "\ufeff", "\u2028"),
    *("\ud800", "\udfff", "é", "ﬁ", "\u202e", "\U0001d7d8", "\u0661", "\u0301", "名", "🙂"),
    *("f'{", "f'{x!r:>{w}}'", "b'\\xff'", "0x", "1e999", "1_000", "0777", "9" * 5000, "-" * 200, "(" * 120),
    *("near", "score", "np.where(near < 1, home, rest)", "not ", "x if y else ", "del near\n", "1 if"),
    *("#", "# -*- coding: utf-7 -*-\n", "type X = int\n", "print(f'''", "<|im_end|>", "</s>", "<think>"),
)
REPEATED = (
    "@a\n",
    "a\\\n",
    "(",
    "[",
    "{",
    "-",
    "if x:\n",
    "a = (\n",
    "'''\n",
    "```\n",
    "# c\n",
    "x if y else ",
    "\n",
    " ",
)
"""What is most often repeated: each is wrong in the line it ends, or in one far before."""
NUMBERS = (0.0, -0.0, 1.0, -1.0, 0.5, math.nan, math.inf, -math.inf, 1e308, -1e308, 5e-324, 1e-300, 2.0**53)
WHOLE = (0, 1, -1, 2, 49, 50, 51, 255, 2**31 - 1, 2**31, -(2**31), 2**53, 2**62, 2**63 - 1, -(2**63))
LINES: tuple[Any, ...] = (
    *(None, True, 0, -1, 1e400, math.nan, "", "frame", [], {}, "\ud800", "x" * 5000, 2**70, -(2**70), [[]]),
    *({"how": "frame"}, {"how": None, "code": None, "text": None}, [1, 2, 3], "\x1b[2J", 9, 31, 64, 65),
)
"""Values for what a worker says before the frame."""


class TookTooLong(BaseException):
    """Raised out of whatever is running when its time is up."""


@dataclasses.dataclass(frozen=True)
class Failure:
    """Something that is not as it has to be; ``data`` is what led to it, in base 64."""

    target: str
    problem: str
    what: str
    data: str


@dataclasses.dataclass
class Report:
    """What has been tried, what came of it and what failed."""

    executions: Counter[str] = dataclasses.field(default_factory=Counter)
    results: Counter[str] = dataclasses.field(default_factory=Counter)
    failed: Counter[str] = dataclasses.field(default_factory=Counter)
    failures: list[Failure] = dataclasses.field(default_factory=list)
    slowest: dict[str, float] = dataclasses.field(default_factory=dict)

    def attempt(self, target: str, problem: str, data: bytes, job: Callable[[], str]) -> None:
        """Do a job, which says what came of it and raises ``AssertionError`` where that is wrong."""
        self.executions[target] += 1
        started = time.process_time()
        what = ""
        try:
            with limited(SECONDS):
                self.results[f"{target}: {job()}"] += 1
        except AssertionError as error:
            what = str(error)
        except TookTooLong:
            what = f"takes more than {SECONDS:g} s"
        except BaseException as error:
            if isinstance(error, KeyboardInterrupt):
                raise
            what = f"raises {type(error).__name__}: {error}"[:300]
        self.slowest[target] = max(self.slowest.get(target, 0.0), time.process_time() - started)
        if what:
            self.failed[target] += 1
            if self.failed[target] <= MOST_FAILURES:
                self.failures.append(Failure(target, problem, what, base64.b64encode(data).decode()))


@contextmanager
def limited(seconds: float) -> Iterator[None]:
    """Raise ``TookTooLong`` out of a block that takes more CPU time than this."""

    def stop(number: int, frame: object) -> None:
        raise TookTooLong

    previous = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, previous)


# --- replies ----------------------------------------------------------------------------------------


def real_replies(problem: Any) -> list[str]:
    """Replies as models write them, to prompts of both styles."""
    from operators.parsing import completion_in

    found = list(MODEL_REPLIES)
    for name, code in problem.heuristics.items():
        completion = completion_in(code, problem)
        found += [
            completion,
            f" {completion}\n    return score\n\nThis is {name}.",
            f"{{Take {name}.}}\n\n```python\n{code}```\nIt does what it says.",
            f"Here it is:\n\n{code}\nThis function takes the best.",
            f"```\n{code}",
        ]
    return found + [problem.template, f"```python\n{problem.template}\n```"]


def damaged_text(draw: random.Random, replies: Sequence[str]) -> str:
    """A reply after one to six random changes."""
    text = draw.choice(replies)
    for _ in range(draw.randint(1, 6)):
        a, b = sorted(draw.randint(0, len(text)) for _ in range(2))
        if draw.random() < 0.5:
            a = 1 + text.rfind("\n", 0, a)
        part, kind = text[a:b], draw.randrange(9)
        if kind == 0:
            text = text[:a] + text[b:]
        elif kind == 1:
            text = text[:a] + draw.choice(FRAGMENTS) + text[a:]
        elif kind == 2:
            text = text[:a] + draw.choice(FRAGMENTS) + text[b:]
        elif kind == 3:
            text = text[:b] + part + text[b:]
        elif kind == 4:
            other = draw.choice(replies)
            text = text[:a] + other[draw.randint(0, len(other)) :]
        elif kind == 5:
            repeated = draw.choice([part[:40], draw.choice(FRAGMENTS), draw.choice(REPEATED)])
            rest = draw.choice(["", text[a:]])
            text = text[:a] + repeated * int(10 ** draw.uniform(0, 4.3)) + rest
        elif kind == 6:
            text = (
                text[:a]
                + "".join(chr(draw.choice([draw.randrange(128), draw.randrange(0x110000)])) for _ in range(5))
                + text[a:]
            )
        elif kind == 7:
            lines = text.split("\n")
            line = draw.randrange(len(lines))
            lines[line] = draw.choice([" ", "    ", "\t", ""]) + lines[line].lstrip()
            text = "\n".join(lines)
        else:
            text = text[:a]
        text = text[:300_000]
    return text


def check_reply(text: str, problem: Any, style: Any) -> str:
    """Parse a reply as the search does; whether there is code in it that can be read."""
    from operators.parsing import completion_in, normalise, parse_reply
    from operators.syntax import UNPARSABLE, parse

    parsed = parse_reply(text, problem, style)
    texts = parsed.code, parsed.completion, parsed.thought, normalise(parsed.code)
    assert all(isinstance(each, str) for each in texts), "not text"
    assert parsed.code, "no code"
    assert isinstance(completion_in(parsed.code, problem), str), "no completion"
    assert "\n" not in parsed.thought, "a thought of several lines"
    try:
        parse(parsed.code)
    except UNPARSABLE:
        return f"{style}, cannot be read"
    return f"{style}, code"


# --- answers ----------------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class Target:
    """A problem whose answers are judged: a few instances and what a known heuristic decides on them."""

    problem: Any
    instances: Any
    decisions: Any
    seconds: float
    """That judging the decisions takes."""


def target_of(problem: Any, count: int = 2) -> Target:
    """The problem's first training instances, decided by its simplest heuristic."""
    from evaluators.candidate import load

    instances = problem.instances("train", problem.sizes["train"][0])[:count]
    decisions = problem.run(load(problem.simplest[1], problem.function, problem.arguments), instances)
    arguments = [0] if problem.seeded else []
    problem.objective(instances, decisions, *arguments)  # compiles its loops
    started = time.process_time()
    problem.objective(instances, decisions, *arguments)
    return Target(problem, instances, decisions, time.process_time() - started)


def random_decisions(draw: random.Random, decisions: Any) -> Any:
    """Decisions as a candidate might forge them: the right ones changed, or numbers of another kind."""
    import numpy as np

    array = np.array(decisions)
    kind = draw.randrange(8)
    if kind == 0:
        shape = [draw.choice([0, 1, 2, 3, 50]) for _ in range(draw.randint(0, 4))]
        array = np.zeros(shape, draw.choice([np.int64, np.float64]))
    elif kind == 1:
        array = array.astype(np.float64 if array.dtype.kind == "i" else np.int64)
    elif kind == 2:
        array = array.reshape(draw.choice([(-1,), (1, *array.shape), (*array.shape, 1)]))
    elif kind == 3 and array.ndim:
        array = np.roll(array, 1, axis=draw.randrange(array.ndim))
    elif kind == 4 and array.ndim:
        array = array[:, ::-1] if array.ndim > 1 else array[::-1]
    elif kind == 5 and array.ndim:
        array = np.concatenate([array, array[:1]], axis=0) if draw.random() < 0.5 else array[:-1]
    values = WHOLE if array.dtype.kind == "i" else NUMBERS
    if draw.random() < 0.1:
        array = np.full_like(array, draw.choice(values))
    elif array.size:
        for _ in range(draw.randint(0, 4)):
            array.flat[draw.randrange(array.size)] = draw.choice(values)
    return array


def random_frame(draw: random.Random, decisions: Any) -> bytes:
    """A frame that is whole, damaged or nothing of the kind."""
    from evaluators import frames
    from evaluators.outcome import Status

    kind = draw.randrange(6)
    if kind == 0:
        status = draw.choice(list(Status))
        frame = frames.encode_error(status, "".join(draw.choices(FRAGMENTS, k=draw.randint(0, 30))))
    elif kind == 1:
        frame = draw.randbytes(draw.randint(0, 200))
    else:
        frame = frames.encode_decisions(random_decisions(draw, decisions))
    return damaged_bytes(draw, frame) if draw.random() < 0.4 else frame


def damaged_bytes(draw: random.Random, data: bytes) -> bytes:
    """Bytes after one to four random changes, most of them near the beginning."""
    changed = bytearray(data)
    for _ in range(draw.randint(1, 4)):
        end = draw.choice([min(40, len(changed)), len(changed)])
        a, b = sorted(draw.randint(0, end) for _ in range(2))
        kind = draw.randrange(5)
        if kind == 0 and changed:
            changed[min(a, len(changed) - 1)] = draw.choice([0, 1, 127, 128, 255, draw.randrange(256)])
        elif kind == 1:
            del changed[a:b]
        elif kind == 2:
            changed[a:a] = draw.randbytes(draw.randint(1, 9))
        elif kind == 3:
            changed[a : a + 8] = draw.choice([0, 1, 2**32, 2**63, 2**64 - 1]).to_bytes(8, "little")
        else:
            del changed[a:]
    return bytes(changed)


def random_line(draw: random.Random) -> bytes:
    """What comes before the frame, damaged."""
    ending: dict[str, Any] = {"how": "frame", "code": 0, "text": ""}
    ending["how"] = draw.choice(["frame", "exit", "signal", "timeout", "starved", "bad", "fault", "else"])
    for _ in range(draw.randint(0, 2)):
        ending[draw.choice(list(ending) or ["how"])] = draw.choice(LINES)
    if draw.random() < 0.2:
        ending.pop(draw.choice(list(ending)))
    line = json.dumps(ending if draw.random() < 0.9 else draw.choice(LINES)).encode()
    if draw.random() < 0.05:
        line = b"[" * 200_000
    return damaged_bytes(draw, line) if draw.random() < 0.4 else line


def check_frame(data: bytes) -> str:
    """Decode a frame; what it was."""
    import numpy as np

    from evaluators import frames
    from evaluators.outcome import Status

    try:
        result = frames.decode(data)
    except frames.BadFrame as error:
        return _refused("refused", error)
    if isinstance(result, np.ndarray):
        assert result.dtype in (np.int64, np.float64), "numbers of another kind"
        assert not result.flags.writeable, "numbers that can be changed"
        return "decisions"
    status, text = result
    assert isinstance(status, Status), "an untyped status"
    assert status is not Status.OK, "a failure that is ok"
    _check_text(text)
    return "failure"


def _refused(what: str, error: Exception) -> str:
    if "\n" in str(error):
        raise AssertionError("a reason of several lines")
    return what


def _check_text(text: object) -> None:
    assert isinstance(text, str), "a reason that is no text"
    assert text.isprintable() or not text, "a reason that cannot be printed"
    assert len(text) <= 1000, "a reason without an end"


def check_answer(data: bytes, target: Target, honest_line: bool) -> str:
    """Judge an answer; its status."""
    from evaluators.judge import judge
    from evaluators.outcome import SandboxError, Status

    try:
        status, text, objective = judge(target.problem, target.instances, data)
    except SandboxError as error:
        if honest_line:
            raise AssertionError(f"a frame ends the run: {error}") from None
        return _refused("SandboxError", error)
    assert isinstance(status, Status), "an untyped status"
    _check_text(text)
    assert (objective is not None) == (status is Status.OK), "an objective that was not earned"
    assert objective is None or (type(objective) is float and math.isfinite(objective)), "no finite objective"
    return status.value


def random_answers(draw: random.Random) -> bytes:
    """What a candidate sends that is asked call by call: right at first, mostly, then of any kind."""
    import numpy as np

    from evaluators import questions

    right = questions.answer(0) * draw.choice([0, 1, 5, 20, 60])
    odd = [0, 1, -1, 0.0, 7, math.nan, True, np.zeros(2), np.zeros((3, 0))]
    others = [questions.answer(draw.choice(odd)) for _ in range(draw.randint(0, 3))]
    others += [random_frame(draw, np.zeros(3)) for _ in range(draw.randint(0, 2))]
    draw.shuffle(others)
    data = draw.choice([b"\0", b"\0", b"\0", b"", b"\1"]) + right + b"".join(others)
    return (damaged_bytes(draw, data) if draw.random() < 0.4 else data)[:SENT]


def check_answers(data: bytes, problem: Any) -> str:
    """Have a referee read what a candidate sent before it ended; what the worker is told."""
    import numpy as np

    from evaluators import frames, referee

    ours, theirs = socket.socketpair()
    told, tell = os.pipe()
    try:
        theirs.sendall(data)
        theirs.close()
        last = referee.result(problem, ["val", 6, 0, 1], ours.fileno(), tell)
        os.write(tell, b"|")
        begun = os.read(told, 2) == b"\0|"
    finally:
        for descriptor in (told, tell, ours.detach()):
            os.close(descriptor)
    if not begun:
        assert data[:1] != b"\0", "a candidate that was confined, and is not told to be"
        return "not confined"
    if len(last) < 2:
        return "ended midway" if last else "ended"
    try:
        result = frames.decode(last)
    except frames.BadFrame:
        assert frames.is_error(last), "a frame of nothing that is told"
        return "crashed"
    if isinstance(result, np.ndarray):
        order = np.sort(result, axis=1)
        assert (order == np.repeat(np.arange(6), 6)).all(), "decisions that are not the loop's"
        return "decisions"
    return result[0].value


# --- all of it --------------------------------------------------------------------------------------


def fuzz_replies(
    report: Report, draw: random.Random, problems: Sequence[Any], go_on: Callable[[], bool]
) -> None:
    """Damaged replies to all problems in turn, each parsed in both styles."""
    replies = {problem.name: real_replies(problem) for problem in problems}
    while go_on():
        for problem in problems:
            text = damaged_text(draw, replies[problem.name])
            data = text.encode("utf-8", "surrogatepass")
            for style in ("skeleton", "free"):
                job = _bound(check_reply, text, problem, style)
                report.attempt(f"reply, {style}", problem.name, data, job)


def fuzz_answers(
    report: Report, draw: random.Random, targets: Sequence[Target], go_on: Callable[[], bool]
) -> None:
    """Damaged answers; problems that are dear to judge come less often."""
    weights = [1 / (0.002 + target.seconds) for target in targets]
    honest = json.dumps({"how": "frame", "code": 0, "text": ""}).encode()
    while go_on():
        target = draw.choices(targets, weights)[0]
        name = target.problem.name
        frame = random_frame(draw, target.decisions)
        report.attempt("frame", name, frame, _bound(check_frame, frame))
        answer = honest + b"\n" + frame
        report.attempt("forged frame", name, answer, _bound(check_answer, answer, target, True))
        answer = random_line(draw) + draw.choice([b"\n", b"\n", b"", b"\n\n"]) + frame
        report.attempt("answer", name, answer, _bound(check_answer, answer, target, False))
        noise = draw.randbytes(draw.randint(0, 60))
        report.attempt("noise", name, noise, _bound(check_answer, noise, target, False))


def fuzz_conversations(report: Report, draw: random.Random, problem: Any, go_on: Callable[[], bool]) -> None:
    """Damaged answers to the calls of a loop in another process."""
    while go_on():
        data = random_answers(draw)
        report.attempt("conversation", problem.name, data, _bound(check_answers, data, problem))


def _bound(check: Callable[..., str], *arguments: Any) -> Callable[[], str]:
    return lambda: check(*arguments)


def for_seconds(seconds: float) -> Callable[[], bool]:
    """True until so much time has passed from now."""
    end = time.monotonic() + seconds
    return lambda: time.monotonic() < end


def rounds(count: int) -> Callable[[], bool]:
    """True so many times."""
    left = iter(range(count))
    return lambda: next(left, None) is not None


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", type=Path, help="also write the figures to this file")
    options = parser.parse_args()
    from benchmarks.machine import facts, write
    from problems import registry

    warnings.simplefilter("ignore")
    machine, report = facts(), Report()
    problems = [registry.load(name) for name in registry.packaged()]
    targets = [target_of(problem) for problem in problems]
    started = time.monotonic()
    part, job_shop = 20 * options.minutes, registry.load("job-shop")
    fuzz_replies(report, random.Random(options.seed), problems, for_seconds(part))
    fuzz_answers(report, random.Random(options.seed), targets, for_seconds(part))
    fuzz_conversations(report, random.Random(options.seed), job_shop, for_seconds(part))
    seconds = time.monotonic() - started
    for name, count in report.executions.items():
        told = f"{count} executions, {report.failed[name]} failures, slowest {report.slowest[name]:.2f} s CPU"
        print(f"{name}: {told}")
    for name, count in sorted(report.results.items()):
        print(f"  {name}: {count}")
    for failure in report.failures:
        print(f"FAILURE {failure.target}, {failure.problem}: {failure.what}; {failure.data[:200]}")
    total, failed = sum(report.executions.values()), sum(report.failed.values())
    print(f"{total} executions, {failed} failures, {seconds:.0f} s")
    write(
        options.json,
        machine,
        seed=options.seed,
        seconds=seconds,
        executions=report.executions,
        failed=report.failed,
        slowest_cpu_seconds=report.slowest,
        results=dict(sorted(report.results.items())),
        failures=[dataclasses.asdict(failure) for failure in report.failures],
    )
    return int(bool(report.failed))


if __name__ == "__main__":
    sys.path[0] = str(Path(__file__).resolve().parent.parent)
    sys.exit(main())
