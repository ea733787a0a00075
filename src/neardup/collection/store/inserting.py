"""Rows into tables, many with one statement.

The interpreter lets go of its lock while a statement runs, and asks for it again afterwards. With a statement for
each row, a thread that writes waits at every row for those that prepare what comes next: in sum as long as it
works (measured).
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from itertools import chain, islice
from typing import Any

_TOGETHER = 100
"""Rows of a statement: of these the full text takes some milliseconds."""


def insert(connection: sqlite3.Connection, into: str, width: int, rows: Iterable[tuple[Any, ...]]) -> None:
    """Insert rows of ``width`` values into a table, with its columns if they are not all."""
    one = f"({', '.join('?' * width)})"
    many = f"INSERT INTO {into} VALUES {', '.join([one] * _TOGETHER)}"
    left = iter(rows)
    while len(part := list(islice(left, _TOGETHER))) == _TOGETHER:
        connection.execute(many, list(chain.from_iterable(part)))
    connection.executemany(f"INSERT INTO {into} VALUES {one}", part)
