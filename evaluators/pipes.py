"""Writing to pipes and sockets, which may take less than they are given."""

import os


def write_all(descriptor: int, data: bytes | memoryview) -> None:
    """Write all of ``data``, without copying it."""
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]
