"""``neardup serve`` as a process of its own, and a client for it."""

from __future__ import annotations

import json
import random
import threading
from collections.abc import Container, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from neardup.collection import Collection
from support import forked

for _needed in ("starlette", "uvicorn", "prometheus_client"):
    pytest.importorskip(_needed, reason="the extra service is not installed")

COMMAND = "import sys; sys.argv[0] = 'neardup'; from neardup.cli import main; main()"
JSON = {"Content-Type": "application/json"}
TEXT = "the harbour office {0} is closed on friday {0} and nobody {0} answers the telephone {0} until monday"
WRITERS = 4
BATCH = 3
"""Documents that a writer adds in one request."""


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
def serving(path: Path, *options: object, create: bool = True, before: str = "") -> Iterator[Server]:
    """The command on a free port, after the code ``before``; killed at the end if it still runs."""
    words = [path, "--port", 0, *(["--create"] if create else []), *options]
    with started(path.with_suffix(".log"), *words, before=before) as made:
        yield made


@contextmanager
def started(log: Path, *words: object, before: str = "") -> Iterator[Server]:
    """The command with these options."""
    words = ("serve", *words)
    process = forked.start(
        before + COMMAND, *words, err=log, loaded=["neardup.cli.servers", "neardup.service.server"]
    )
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


class Writing(threading.Thread):
    """Adds, replaces and removes, one document or ``BATCH`` in a request, until the service goes.

    ``known`` is what was acknowledged last of each id.

    With ``again`` it connects anew until ``done`` is set: only a part of the service went. ``unsure`` are codes of
    refusals after which nobody knows whether the document was written.
    """

    def __init__(self, server: Server, name: str, *, again: bool = False, unsure: Container[str] = ()) -> None:
        super().__init__(daemon=True)
        self.server, self.prefix, self.again, self.unsure = server, name, again, unsure
        self.done = threading.Event()
        self.acknowledged = 0
        self.known: dict[str, str | None] = {}
        self.doubtful: set[str] = set()
        self.refused: list[Any] = []

    def run(self) -> None:
        connection = self.server.connect()
        try:
            self.write(connection, random.Random(self.prefix))
        finally:
            connection.close()

    def write(self, connection: HTTPConnection, draw: random.Random) -> None:
        for number in range(100_000):
            if self.done.is_set():
                return
            first = draw.randrange(40)
            id = f"{self.prefix}/{first}"
            new: dict[str, str | None] = {id: TEXT.format(f"{self.prefix}{number}")}
            if number % 3 == 2:
                more = (f"{self.prefix}/{(first + k) % 40}" for k in range(BATCH))
                new = {one: TEXT.format(f"{self.prefix}{number} {one}") for one in more}
            elif number % 5 == 4 and self.known.get(id):
                new = {id: None}
            self.doubtful |= new.keys()
            try:
                if len(new) > 1:
                    documents = [{"id": one, "text": text} for one, text in new.items()]
                    batch = {"documents": documents, "on_duplicate": "replace"}
                    status, said = ask(connection, "POST", "/v1/documents", batch)
                elif new[id] is None:
                    status, said = ask(connection, "DELETE", f"/v1/documents?id={id}")
                else:
                    status, said = ask(connection, "PUT", f"/v1/documents/{id}", {"text": new[id]})
            except (OSError, HTTPException, json.JSONDecodeError):
                if not self.again or self.done.is_set():
                    return  # whether it was written nobody has said
                connection.close()
                continue
            if status in (200, 201):
                self.known |= new
                self.acknowledged += 1
            elif said["error"]["code"] in self.unsure:
                continue
            elif said["error"]["code"] != "stopping":
                self.refused.append(said)
            self.doubtful -= new.keys()


def require_what_was_acknowledged(
    path: Path, writers: list[Writing], most_doubtful: int = 1, others: Iterable[str] = ()
) -> None:
    """``others`` are the ids that somebody else wrote."""
    with Collection(path) as collection:
        for writer in writers:
            assert writer.refused == []
            assert len(writer.doubtful) <= most_doubtful * BATCH
            for id, text in writer.known.items():
                if id not in writer.doubtful:
                    assert (collection.get(id).text if id in collection else None) == text
        assert collection.check() == []
        assert set(collection) <= set(others).union(*(writer.known.keys() | writer.doubtful for writer in writers))
