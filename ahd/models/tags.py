"""How a request names the direction it is answered under: a mark in its id, which is all of a request that
reaches the worker unchanged on every way into the engine."""

import re

_MARK = re.compile(r"~(\d+)~")


def tagged(request_id: str, slot: int) -> str:
    """The id with its slot written into it; slot 0 is the unperturbed model."""
    return f"{request_id}~{slot}~"


def slot_of(request_id: str) -> int:
    """The slot in an id, whatever the engine has put before or behind it; 0 where there is none."""
    found = _MARK.search(request_id)
    return int(found[1]) if found else 0
