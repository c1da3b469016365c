"""Text of an instance file, by line, so that every fault can name its line."""

import math
from dataclasses import dataclass
from pathlib import Path

from evaluators.frames import clean

MAX_BYTES = 64 << 20
"""Most bytes a file may have."""
LARGEST = 1e12
"""Numbers beyond this, either way, are refused: their squares would lose the small ones."""


class BrokenInstanceFile(ValueError):
    """An instance file cannot be used. The message is one line naming the file, the line and the mend."""


def broken(path: Path, line: int, what: str) -> BrokenInstanceFile:
    """The error for a fault in ``line`` (0: the file as a whole)."""
    return BrokenInstanceFile(clean(f"{path}: {f'line {line}: ' if line else ''}{what}"))


@dataclass(frozen=True)
class Line:
    """A line that is not blank: its number from 1 and its text without white space around it."""

    number: int
    text: str


def lines(path: Path) -> list[Line]:
    """The lines that are not blank.

    Raises:
        BrokenInstanceFile: no readable file, too large, empty, or binary.
    """
    try:
        if path.exists() and not path.is_file():  # a pipe or a device may never end
            raise broken(path, 0, "is no regular file; give the path of an instance file")
        with open(path, "rb") as file:
            data = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise broken(path, 0, f"{error.strerror}; give the path of an instance file") from error
    if len(data) > MAX_BYTES:
        raise broken(path, 0, f"has more than {MAX_BYTES >> 20} MiB; give a smaller instance")
    text = data.decode("latin-1").removeprefix("\xef\xbb\xbf")  # comments come in any encoding
    for number, line in enumerate(text.splitlines(), 1):
        if any(ord(c) < 32 and c not in "\t\f" for c in line):
            raise broken(path, number, "holds bytes that are no text; give the text file, unpacked")
    found = [Line(number, line.strip()) for number, line in enumerate(text.splitlines(), 1) if line.strip()]
    if not found:
        raise broken(path, 0, "is empty; give an instance file")
    return found


def number(word: str, path: Path, line: int, what: str) -> float:
    """``word`` as a finite number of at most ``LARGEST``.

    Raises:
        BrokenInstanceFile: it is none; the message says that ``what`` is expected.
    """
    try:
        value = math.nan if "_" in word else float(word)
    except ValueError:
        value = math.nan
    if not abs(value) <= LARGEST:
        raise broken(path, line, f"{_short(word)} is no number of use; {what} has to stand here")
    return value


def integer(word: str, path: Path, line: int, what: str, least: int, most: int) -> int:
    """``word`` as an integer from ``least`` to ``most``.

    Raises:
        BrokenInstanceFile: it is none.
    """
    value = number(word, path, line, what)
    if not (value.is_integer() and least <= value <= most):
        raise broken(path, line, f"{what} is {_short(word)}; it has to be an integer from {least} to {most}")
    return int(value)


def _short(word: str) -> str:
    return repr(word if len(word) <= 30 else word[:29] + "…")


class Words:
    """The words of a file one after another, where line breaks mean nothing."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._words = [(line.number, word) for line in lines(path) for word in line.text.split()]
        self._next = 0

    @property
    def left(self) -> int:
        """How many words are left."""
        return len(self._words) - self._next

    def word(self, what: str) -> tuple[int, str]:
        """Line and text of the next word.

        Raises:
            BrokenInstanceFile: the file ends where ``what`` has to stand.
        """
        if not self.left:
            raise broken(self.path, self._words[-1][0], f"the file ends where {what} has to follow")
        self._next += 1
        return self._words[self._next - 1]

    def number(self, what: str) -> float:
        """The next word as a number; see ``number``."""
        line, word = self.word(what)
        return number(word, self.path, line, what)

    def integer(self, what: str, least: int, most: int) -> int:
        """The next word as an integer; see ``integer``."""
        line, word = self.word(what)
        return integer(word, self.path, line, what, least, most)

    def numbers(self, count: int, what: str, least: float = 0.0, most: float = LARGEST) -> list[float]:
        """The next ``count`` words as numbers from ``least`` to ``most``, both included.

        Raises:
            BrokenInstanceFile: there are fewer, or one is none; the message says that ``what`` is expected.
        """
        if self.left < count:
            last = self._words[-1][0]
            raise broken(self.path, last, f"the file ends after {self.left} of {count} numbers: {what}")
        found = []
        for _ in range(count):
            line, word = self.word(what)
            found.append(number(word, self.path, line, what))
            if not least <= found[-1] <= most:
                raise broken(self.path, line, f"{_short(word)} is no {what}")
        return found

    def end(self) -> None:
        """Make sure that nothing follows.

        Raises:
            BrokenInstanceFile: something does.
        """
        if self.left:
            line, word = self.word("the end")
            raise broken(self.path, line, f"{_short(word)} follows where the file has to end")
