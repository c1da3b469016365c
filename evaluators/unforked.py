"""Memory that a fork does not inherit."""

import mmap
import os

from evaluators.pipes import write_all


class Unforked:
    """Up to ``size`` bytes from a descriptor, kept where processes that are forked later have nothing.

    What a worker passes on is one candidate's decisions; those that come after must not find them, however
    they search their memory, which is a copy of the worker's. So the bytes never become a Python object.
    """

    def __init__(self, size: int) -> None:
        self.size = size
        self.used = 0
        self._map = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        self._map.madvise(mmap.MADV_DONTFORK)
        self._view = memoryview(self._map)

    def read(self, descriptor: int) -> int:
        """Add what can be read now, as far as there is room; the number of bytes, 0 at the end."""
        count = os.readv(descriptor, [self._view[self.used :]])
        self.used += count
        return count

    def copy(self, start: int, end: int) -> bytes:
        """Bytes that may be known to all."""
        return bytes(self._view[start : min(end, self.used)])

    def write(self, descriptor: int, start: int) -> None:
        """Write all from ``start`` on."""
        write_all(descriptor, self._view[start : self.used])

    def clear(self) -> None:
        """Forget everything, and give the memory back."""
        if self.used:
            self._map.madvise(mmap.MADV_DONTNEED, 0, self.used)
        self.used = 0
