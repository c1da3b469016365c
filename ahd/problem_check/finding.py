"""What one check found."""

from dataclasses import asdict, dataclass
from enum import StrEnum


class Level(StrEnum):
    OK = "ok"
    WARNING = "warning"
    """Worth a look; the search works all the same."""
    FAILED = "failed"


@dataclass(frozen=True)
class Finding:
    """``what`` was checked, what was ``found``, and how to ``mend`` it where it is not ok."""

    what: str
    level: Level
    found: str
    mend: str = ""

    def as_dict(self) -> dict[str, str]:
        return asdict(self)


def ok(what: str, found: str) -> Finding:
    return Finding(what, Level.OK, found)


def warning(what: str, found: str, mend: str) -> Finding:
    return Finding(what, Level.WARNING, found, mend)


def failed(what: str, found: str, mend: str) -> Finding:
    return Finding(what, Level.FAILED, found, mend)
