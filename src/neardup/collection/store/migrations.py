"""Numbered steps from one format version to the next; version 2 is the first that was released."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Mapping
from typing import TypeAlias

from neardup.collection.store.log import advance, schema_cookie
from neardup.collection.store.schema import FORMAT_VERSION, WITH_BASE_TEXTS
from neardup.errors import FormatError

Step: TypeAlias = Callable[[sqlite3.Connection], None]

STEPS: Mapping[int, Step] = {}
"""``STEPS[n]`` converts the tables of version n to those of version n + 1."""


def require_current(
    found: int, where: str, steps: Mapping[int, Step] = STEPS, wanted: int = FORMAT_VERSION
) -> None:
    """Raise FormatError unless ``found`` is the ``wanted`` version.

    The error states whether ``migrate`` could help.
    """
    if found == wanted:
        return
    more = f", and {WITH_BASE_TEXTS} if there are base texts" if wanted == FORMAT_VERSION else ""
    can = found > 0 and found < wanted and all(version in steps for version in range(found, wanted))
    raise FormatError(
        f"{where} is a collection of format version {found}",
        f"This program reads and writes version {wanted}" + more,
        "Make a copy of it, and bring it to that version with neardup compact --upgrade, or upgrade=True in Python"
        if can
        else "Use the program that wrote it, or add the documents to a new collection",
    )


def migrate(
    connection: sqlite3.Connection, where: str, steps: Mapping[int, Step] = STEPS, wanted: int = FORMAT_VERSION
) -> None:
    """Convert the tables to the ``wanted`` version, all in one transaction, or leave them unchanged."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        (found,) = connection.execute("PRAGMA user_version").fetchone()
        for version in range(found, wanted):
            if version not in steps:
                require_current(found, where, steps, wanted)
            advance(connection, schema_cookie(connection))
            steps[version](connection)
            connection.execute(f"PRAGMA user_version = {version + 1}")
        connection.execute("COMMIT")
    except BaseException:
        connection.execute("ROLLBACK")
        raise
