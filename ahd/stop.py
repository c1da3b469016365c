"""Stopping a run from outside: Ctrl-C, SIGTERM, a closed terminal."""

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress

_NOTED = b"ahd: stopping when the replies in progress are there; once more stops at once\n"


class Stop:
    """Whether somebody asked the run to stop.

    While things are loading, a signal raises ``KeyboardInterrupt`` on the spot. Once the search runs
    (``gently``), it is only noted, and the search asks for it at every reply: an exception out of
    nowhere can be lost in a C library's callback or leave a lock held. A second signal raises at once.
    ``aloud``: what is only noted is said on standard error, where no dashboard would be drawn over.
    """

    def __init__(self, aloud: bool = False) -> None:
        self._aloud = aloud
        self.requested = False
        self.gently = False

    def __call__(self) -> None:
        """Raise ``KeyboardInterrupt`` if a stop was asked for."""
        if self.requested:
            raise KeyboardInterrupt

    def _receive(self, number: int, frame: object) -> None:
        noted = self.gently and not self.requested
        self.requested = True
        if not noted:
            raise KeyboardInterrupt
        if self._aloud:
            with suppress(OSError):
                os.write(2, _NOTED)  # print could be interrupted in the middle of a print

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Let SIGTERM and SIGHUP, and Ctrl-C where it is not ignored, ask for a stop."""
        numbers = [signal.SIGTERM, signal.SIGHUP]
        if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
            numbers.append(signal.SIGINT)
        previous = {number: signal.signal(number, self._receive) for number in numbers}
        try:
            yield
        finally:
            for number, handler in previous.items():
                signal.signal(number, handler)
