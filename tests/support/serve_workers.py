"""The processes of ``neardup serve --workers``, and its metrics."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from contextlib import suppress
from http.client import HTTPConnection, HTTPException
from pathlib import Path

from support.serve_command import Server

PATIENCE = 120
"""Seconds for the start of a worker, on a machine with much other work."""


def workers_of(server: Server) -> set[int]:
    """The processes that the supervisor has started."""
    children = Path(f"/proc/{server.process.pid}/task/{server.process.pid}/children")
    return set(map(int, children.read_text().split()))


def runs(process: int) -> bool:
    """Whether a process runs; a zombie does not."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(") ")[2][0] != "Z"
    except OSError:
        return False


def until(condition: Callable[[], bool], pause: float = 0.02) -> None:
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end
        time.sleep(pause)


def metric(server: Server, name: str) -> float:
    """The sum of a metric over its labels."""
    connection = server.connect()
    try:
        return value_of(connection, name)
    finally:
        connection.close()


def value_of(connection: HTTPConnection, name: str) -> float:
    """The sum of a metric over its labels, on an open connection."""
    connection.request("GET", "/metrics")
    page = connection.getresponse().read().decode()
    return sum(float(value) for value in re.findall(rf"^{name}(?:{{.*}})? (\S+)$", page, re.MULTILINE))


def serves(server: Server, workers: int, starts: int) -> bool:
    with suppress(OSError, HTTPException):
        return (metric(server, "neardup_workers"), metric(server, "neardup_worker_starts_total")) == (
            workers,
            starts,
        )
    return False
