"""``neardup serve`` as a process of its own, and a client for it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.client import HTTPConnection
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from support import forked

for _needed in ("fastapi", "uvicorn", "prometheus_client"):
    pytest.importorskip(_needed, reason="the extra service is not installed")

COMMAND = "import sys; sys.argv[0] = 'neardup'; from neardup.cli import main; main()"
JSON = {"Content-Type": "application/json"}


@dataclass
class Server:
    """A running service. ``log`` is the file of its standard error."""

    process: forked.Child
    host: str
    port: int
    log: Path

    def connect(self, seconds: float = 60) -> HTTPConnection:
        return HTTPConnection(self.host, self.port, timeout=seconds)

    def ask(
        self, method: str, target: str, data: Any = None, headers: dict[str, str] | None = None
    ) -> tuple[int, Any]:
        """One request on a connection of its own: status and JSON."""
        connection = self.connect()
        try:
            return ask(connection, method, target, data, headers)
        finally:
            connection.close()

    def events(self) -> list[dict[str, Any]]:
        """The log; every line must be JSON."""
        return [json.loads(line) for line in self.log.read_text().splitlines()]


def ask(
    connection: HTTPConnection, method: str, target: str, data: Any = None, headers: dict[str, str] | None = None
) -> tuple[int, Any]:
    """One request on an open connection."""
    body = None if data is None else json.dumps(data).encode()
    connection.request(method, target, body, {**(JSON if body else {}), **(headers or {})})
    answer = connection.getresponse()
    return answer.status, json.loads(answer.read())


@contextmanager
def serving(path: Path, *options: object, create: bool = True) -> Iterator[Server]:
    """The command on a free port; killed at the end if it still runs."""
    log = path.with_suffix(".log")
    words = ["serve", path, "--port", 0, *(["--create"] if create else []), *options]
    process = forked.start(COMMAND, *words, err=log, loaded=["neardup.cli.servers", "neardup.service.server"])
    try:
        said = process.line()
        assert said.startswith("listening at "), log.read_text()
        address = urlsplit(said.removeprefix("listening at ").strip())
        assert address.hostname
        assert address.port
        yield Server(process, address.hostname, address.port, log)
    finally:
        process.kill()
        process.folder.cleanup()
