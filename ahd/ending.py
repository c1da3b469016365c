"""How a run ended, read back from its file, and whether such a record can be what was written."""

from typing import Any

from ahd.store import Store

_NUMBERS = ("best", "gap", "test", "test_gap", "test_reference")
_TEXTS = ("status", "folder", "test_what", "test_detail", "test_reference_source")


def stored_end(store: Store) -> dict[str, Any] | None:
    """The fields of the last ``Finished`` event, None while there was none; an older ahd stored fewer.

    Raises:
        ConfigError: they are damaged.
    """
    record = store.meta_record("finished")
    if record is None:
        return None
    sound = (
        all(record.get(name) is None or is_number(record[name]) for name in _NUMBERS)
        and all(isinstance(record.get(name, ""), str) for name in _TEXTS)
        and are_numbers(record.get("test_known", {}))
        and isinstance(record.get("summary", {}), dict)
    )
    if not sound:
        raise store.damaged("finished in table meta")
    return record


def is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def are_numbers(value: object) -> bool:
    """Whether it has names and their numbers."""
    return isinstance(value, dict) and all(map(is_number, value.values()))
