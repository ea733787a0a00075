"""The service without a network: requests as ASGI messages, so that they can be malformed in every way."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

for _needed in ("starlette", "uvicorn", "prometheus_client"):
    pytest.importorskip(_needed, reason="the extra service is not installed")

from neardup.collection import Collection  # noqa: E402
from neardup.service.app import make_app  # noqa: E402
from neardup.service.executor import Executor  # noqa: E402
from neardup.service.web.limits import Limits  # noqa: E402
from neardup.service.web.middleware import Tokens  # noqa: E402

JSON = {"content-type": "application/json"}
LOCAL = {"host": "127.0.0.1:8321"}


@dataclass(frozen=True)
class Answer:
    """An answer, and how many bytes of the body were taken for it."""

    status: int
    headers: Mapping[str, str]
    content: bytes
    taken: int

    @property
    def json(self) -> Any:
        return json.loads(self.content)

    @property
    def error(self) -> dict[str, Any]:
        """The error body, which must be whole."""
        error: dict[str, Any] = self.json["error"]
        assert set(error) == {"code", "message", "given", "allowed", "do", "position", "fields", "request"}
        assert error["message"]
        assert error["request"] == self.headers["x-request-id"]
        return error


@dataclass
class Service:
    """A service that runs in this process. ``headers`` go with every request."""

    executor: Executor
    app: Any
    runner: asyncio.Runner
    headers: dict[str, str] = field(default_factory=lambda: dict(LOCAL))

    def __call__(self, method: str, target: str, data: Any = None, **more: Any) -> Answer:
        """Send a request; ``data`` goes as JSON, ``body`` (bytes, or pieces) as it is."""
        return self.runner.run(self.ask(method, target, data, **more))

    def all(self, requests: Sequence[tuple[Any, ...]]) -> list[Answer]:
        """Send requests at once."""

        async def together() -> list[Answer]:
            return await asyncio.gather(*(self.ask(*request) for request in requests))

        return self.runner.run(together())

    async def ask(
        self,
        method: str,
        target: str,
        data: Any = None,
        body: bytes | Iterator[bytes] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Answer:
        given = {**self.headers, **(JSON if data is not None or body is not None else {}), **(headers or {})}
        if body is None:
            body = b"" if data is None else json.dumps(data).encode()
        pieces = iter([body]) if isinstance(body, bytes) else body
        sent: list[Any] = []
        taken, ended = 0, False

        async def receive() -> Any:
            nonlocal taken, ended
            if ended:
                await asyncio.Event().wait()  # the client waits for its answer
            piece = next(pieces, None)
            if piece is None:
                ended = True
                return {"type": "http.request", "body": b"", "more_body": False}
            taken += len(piece)
            return {"type": "http.request", "body": piece, "more_body": True}

        async def send(message: Any) -> None:
            sent.append(message)

        await self.app(scope_of(method, target, given), receive, send)
        head, *rest = sent
        fields = {name.decode(): value.decode() for name, value in head["headers"]}
        return Answer(head["status"], fields, b"".join(each.get("body", b"") for each in rest), taken)

    def add(self, **texts: str) -> None:
        """Add documents by id."""
        documents = [{"id": id, "text": text} for id, text in texts.items()]
        answer = self("POST", "/v1/documents", {"documents": documents})
        assert answer.status == 201, answer


def scope_of(method: str, target: str, headers: Mapping[str, str]) -> dict[str, Any]:
    """The answer of a server to the first lines of a request."""
    from urllib.parse import unquote

    raw, _, query = target.encode("latin-1").partition(b"?")
    return {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": method,
        "scheme": "http",
        "path": unquote(raw.decode("latin-1")),
        "raw_path": raw,
        "query_string": query,
        "root_path": "",
        "headers": [(name.lower().encode(), value.encode("latin-1")) for name, value in headers.items()],
        "client": ("127.0.0.1", 5),
        "server": ("127.0.0.1", 8321),
    }


PATIENCE = 120.0
"""Seconds for a request."""


@contextmanager
def serving(
    path: Path, tokens: str = "", scale: int | None = 4, left_out: Mapping[str, Any] | None = None, **limits: float
) -> Iterator[Service]:
    """A service over the collection at ``path``, made with ``left_out`` and ``scale`` (None: it exists).

    Without a limit of ``seconds``, a request has time on a machine with much other work.
    """
    collection = Collection(path, **({} if scale is None else {"scale": scale}), **left_out or {})
    executor = Executor(collection, Limits.of(**{"seconds": PATIENCE, **limits}))
    known = Tokens.of(tokens) if tokens else Tokens()
    with asyncio.Runner() as runner:
        yield Service(executor, make_app(executor, known), runner)
    assert executor.close()


def by_path(id: str) -> str:
    """The address of a document by path."""
    return f"/v1/documents/{quote(id, safe='')}"


def by_query(id: str) -> str:
    """The address of a document by query string."""
    return f"/v1/documents?id={quote(id, safe='')}"
