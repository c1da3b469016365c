"""Run files of earlier versions, brought up to date."""

import json
import sqlite3
from contextlib import suppress

_MEANT = {
    "kind": "full",
    "scope": "all",
    "rank": 1,
    "reward": "paper",
    "shaping": "zscores",
    "antithetic": False,
    "per_direction": 1,
    "momentum": 0.0,
    "validity_floor": 0.0,
    "patience": 3,
    "dtype": "bfloat16",
    "replicas": 1,
    "ray_address": "",
    "server": "",
}
"""What the configuration of a version 1 file meant without saying it."""


def from_version_1(connection: sqlite3.Connection) -> None:
    """Bring a version 1 file to version 2, all or nothing.

    Hashes of weights are taken in another way since. A run that has made no update gets a new base hash
    when it goes on; one that has is marked ``begun_with`` version 1 and cannot go on.
    """
    with connection:
        connection.execute("BEGIN IMMEDIATE")
        connection.execute("ALTER TABLE updates ADD COLUMN step_seeds TEXT NOT NULL DEFAULT '[]'")
        connection.execute("ALTER TABLE updates ADD COLUMN step_weights TEXT NOT NULL DEFAULT '[]'")
        connection.execute("ALTER TABLE updates ADD COLUMN rollback_to INTEGER")
        connection.execute("ALTER TABLE updates ADD COLUMN note TEXT NOT NULL DEFAULT ''")
        moved = connection.execute("UPDATE updates SET step_seeds = seeds, step_weights = weights").rowcount
        if moved:
            connection.execute("INSERT INTO meta VALUES ('begun_with', '1')")
        else:
            connection.execute("DELETE FROM meta WHERE key = 'base_hash'")
        for (text,) in connection.execute("SELECT value FROM meta WHERE key = 'config'").fetchall():
            with suppress(ValueError, TypeError):
                config = json.dumps(_MEANT | json.loads(text))
                connection.execute("UPDATE meta SET value = ? WHERE key = 'config'", (config,))
        connection.execute("UPDATE meta SET value = '2' WHERE key = 'schema_version'")
