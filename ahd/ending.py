"""How a run ended, read back from its file, and whether such a record can be what was written."""

import typing
from contextlib import suppress
from typing import Any

from ahd import typed
from ahd.events import Finished
from ahd.figures import figures
from ahd.store import Store

_SUMMARY: dict[str, Any] = {
    name: dict[str, float] if isinstance(each, dict) else float | None
    for name, each in figures((), (), 0.0).items()
} | {"weights_hash": str}
"""What the figures in the summary of an end are; an older ahd named some of them otherwise."""


def stored_end(store: Store) -> dict[str, Any] | None:
    """The fields of the last ``Finished`` event, None while there was none; an older ahd stored fewer.

    Raises:
        ConfigError: they are damaged.
    """
    record = store.meta_record("finished")
    if record is None:
        return None
    hints = typing.get_type_hints(Finished)
    try:
        for name in record.keys() & hints.keys():
            typed.value(hints[name], record[name])
        summary = record.get("summary", {})
        for name in summary.keys() & _SUMMARY.keys():
            typed.value(_SUMMARY[name], summary[name])
    except (TypeError, ValueError):
        raise store.damaged("finished in table meta") from None
    return record


def end_of(store: Store, record: dict[str, Any]) -> Finished | None:
    """The event that ``stored_end`` gave the fields of, None where some are missing."""
    with suppress(KeyError):
        return typed.read(Finished, record, folder=store.folder)
    return None
