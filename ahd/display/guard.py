"""A display that cannot stop the run it shows."""

import os
from typing import Self

from ahd.events import Display, Event


class Guarded:
    """Passes events on until the output is gone (a closed pipe, a full disk), then goes silent."""

    def __init__(self, display: Display) -> None:
        self.display = display
        self._gone = False

    @property
    def draws(self) -> bool:
        """Whether lines of others would spoil it."""
        return bool(getattr(self.display, "draws", False))

    @property
    def gone(self) -> bool:
        """Whether nobody can read it any more."""
        return self._gone

    def __enter__(self) -> Self:
        try:
            self.display.__enter__()
        except (OSError, ValueError):
            self._go_silent()
        return self

    def __exit__(self, *exc: object) -> None:
        try:
            self.display.__exit__(*exc)
        except (OSError, ValueError):
            self._go_silent()

    def show(self, event: Event) -> None:
        if self._gone:
            return
        try:
            self.display.show(event)
        except (OSError, ValueError):
            self._go_silent()

    def _go_silent(self) -> None:
        """Nothing more is shown, and what is still buffered goes nowhere."""
        self._gone = True
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, 1)
        os.close(nowhere)
