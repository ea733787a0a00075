"""Insert rows into tables, many rows per statement.

The interpreter releases its lock while a statement runs, and acquires it again afterwards. With one statement per
row, the writing thread waits at every row for the threads that prepare the next documents: in total, it waits as
long as it works (measured).
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from itertools import chain, islice
from typing import Any

_TOGETHER = 100
"""Rows per statement: the full-text index needs some milliseconds for them."""


def insert(connection: sqlite3.Connection, into: str, width: int, rows: Iterable[tuple[Any, ...]]) -> None:
    """Insert rows of ``width`` values into a table; ``into`` also lists its columns unless all are given."""
    one = f"({', '.join('?' * width)})"
    many = f"INSERT INTO {into} VALUES {', '.join([one] * _TOGETHER)}"
    left = iter(rows)
    while len(part := list(islice(left, _TOGETHER))) == _TOGETHER:
        connection.execute(many, list(chain.from_iterable(part)))
    connection.executemany(f"INSERT INTO {into} VALUES {one}", part)
