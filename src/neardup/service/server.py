"""Listening, and stopping without losing anything."""

from __future__ import annotations

import asyncio
import json
import os
import socket
from collections.abc import Callable
from contextlib import suppress
from types import FrameType
from typing import Any
from uuid import uuid4

import h11
import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol

from neardup.collection import Collection, Near
from neardup.comparison import compare as measures
from neardup.errors import NeardupError, OutputError, SettingError
from neardup.service import logs
from neardup.service.app import make_app
from neardup.service.desk import Desk
from neardup.service.limits import CONNECTIONS, Limits
from neardup.service.readiness import warm_behind
from neardup.service.refusals import RefusedError, overloaded
from neardup.service.tokens import Tokens
from neardup.service.watch import ABANDON, SECURITY

HEAD_SECONDS = 20.0
"""Without a whole head of a request for so long a connection is closed, also while it sends a refused body."""
KEEP_SECONDS = 15
"""A connection is kept open for so long without a request."""
HEAD_BYTES = 64 << 10
"""Bytes of address and headers."""
LINGER_BYTES, LINGER_SECONDS = 1 << 20, 2.0
"""Of a body that was refused so much is read before the connection is closed, so that the answer is read, too."""

_SAMPLE = (
    "The harbour office is closed on Friday; please hand in all receipts for March before noon. Größe und Maß"
)
_OTHER = _SAMPLE.encode("ascii", "ignore").decode()
_QUERY = f'FINGERPRINT:TEXT:"{_SAMPLE}"_20_80 OR SIMILAR:TEXT:"{_SAMPLE}"_90'
_NEAR = 0.5


class Connection(H11Protocol):
    """A connection that is not kept for clients that send nothing, and whose refusals are JSON, too."""

    _patience: asyncio.TimerHandle | None = None
    _refused = 0
    """Bytes that came of a body after its request was answered."""

    def connection_made(self, transport: Any) -> None:
        """A client has come."""
        super().connection_made(transport)
        if len(self.connections) > CONNECTIONS:
            self._refuse(overloaded("Too many connections are open"))
            return
        self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        """A client has gone."""
        self._stop_waiting()
        super().connection_lost(exc)
        if self.cycle is not None and not self.cycle.response_complete:
            abandon: Callable[[], None] = self.cycle.scope["state"].get(ABANDON, lambda: None)
            abandon()

    def data_received(self, data: bytes) -> None:
        """Bytes have come."""
        if self.transport.is_closing():
            return
        if self._has_unread_body():
            self._refused += len(data)
            if self._refused > LINGER_BYTES:
                self.transport.close()
                return
        super().data_received(data)
        if self.cycle is not None and not self.cycle.response_complete:
            self._stop_waiting()  # a request is under way, and has times of its own

    def on_response_complete(self) -> None:
        """An answer was sent; the next request may come."""
        super().on_response_complete()
        self._refused = 0
        if not self.transport.is_closing() and (self.cycle is None or self.cycle.response_complete):
            self._wait()

    def send_400_response(self, msg: str) -> None:
        """What came is no HTTP."""
        self._refuse(
            RefusedError(400, "This is no HTTP request", "HTTP/1.1, at most 64 kB of address and headers")
        )

    def _refuse(self, refusal: RefusedError) -> None:
        content = json.dumps(refusal.body("")).encode()
        fields = {**SECURITY, **refusal.headers(), "Content-Type": "application/json", "Connection": "close"}
        head = [f"HTTP/1.1 {refusal.status} ", *(f"{name}: {value}" for name, value in fields.items())]
        head += [f"Content-Length: {len(content)}", "", ""]
        self.transport.write("\r\n".join(head).encode("ascii") + content)
        self.transport.close()

    def _wait(self) -> None:
        self._stop_waiting()
        seconds = LINGER_SECONDS if self._has_unread_body() else HEAD_SECONDS
        self._patience = self.loop.call_later(seconds, self.transport.close)

    def _has_unread_body(self) -> bool:
        """Whether a request was answered whose body is still coming."""
        answered = self.cycle is not None and self.cycle.response_complete
        return answered and self.conn.their_state is h11.SEND_BODY

    def _stop_waiting(self) -> None:
        if self._patience is not None:
            self._patience.cancel()
            self._patience = None


class Server(uvicorn.Server):
    """Stops at the first signal when everything is finished, at the second one at once."""

    def __init__(self, config: uvicorn.Config, started: Callable[[], None]) -> None:
        super().__init__(config)
        self._tell = started

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to accept connections."""
        await super().startup(sockets)
        self._tell()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """A signal has come; it is not raised again at the end, for a stop that was asked for is no failure."""
        if self.should_exit:
            os._exit(128 + sig)  # nothing that was acknowledged is lost: it is on the disk
        self.should_exit = True


def listen(host: str, port: int) -> socket.socket:
    """A socket that listens. Raises OutputError when it cannot, SettingError for a port that is none."""
    if not 0 <= port <= 65_535:  # some systems would take the rest of it
        raise SettingError(f"--port is {port}", "A whole number from 0 to 65 535")
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
        # with its protocol: asyncio sends at once (TCP_NODELAY) only where it knows that this is TCP
        listening = socket.socket(found[0], socket.SOCK_STREAM, socket.IPPROTO_TCP)
        try:
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listening.bind(found[4])
            listening.listen(512)
        except BaseException:
            listening.close()
            raise
    except OSError as error:
        raise OutputError(
            f"Nobody can listen at {host} port {port}: {error.strerror}",
            "A free port",
            "Choose another --port, or 0 for any",
        ) from error
    return listening


def serve(
    collection: Collection,
    tokens: Tokens,
    limits: Limits,
    listening: socket.socket,
    started: Callable[[str], None],
) -> bool:
    """Serve until a signal comes; whether everything that was under way ended in time.

    ``started`` is told the address when requests can come. Closes collection and socket.
    """
    logs.log_to_stderr()
    desk = Desk(collection, limits)
    address = address_of(listening)

    def begin() -> None:
        started(address)
        warm_behind(desk, lambda: warm(collection))

    server = Server(_config(make_app(desk, tokens), limits), begin)
    logs.event("started", address=address, documents=len(collection), tokens=bool(tokens))
    try:
        server.run(sockets=[listening])
    finally:
        ended = desk.close()
        listening.close()
        logs.event("stopped", finished=ended)
    return ended


def warm(collection: Collection) -> None:
    """Compile or load what the first requests would wait for. Changes nothing in the collection."""
    measures.compare(_SAMPLE, _OTHER, length=collection.settings.length)
    collection.search(_QUERY, limit=1)
    # where nothing can be written now, the first who can waits a little; he is told of what is wrong, too
    with suppress(_UndoneError, NeardupError), collection.together():
        _write(collection)
        raise _UndoneError


class _UndoneError(Exception):
    """What was written is not to be kept."""


def _write(collection: Collection) -> None:
    """Whatever a request may change, once: all writers would wait for the first that loads it."""
    ids = first, second = [uuid4().hex, uuid4().hex]
    entries = collection.prepare(ids, [_SAMPLE, _OTHER], [{}, {}])
    for near in (None, _NEAR, Near(_NEAR, recall=1)):
        collection.put(entries, "replace", near=near, on_near="link" if near else "keep")
    collection.decide(first, second, "same")
    collection.remove(ids)


def address_of(listening: socket.socket) -> str:
    """The address as it is typed into a browser."""
    host, port = listening.getsockname()[:2]
    return f"http://{f'[{host}]' if ':' in host else host}:{port}"


def _config(app: ASGIApp, limits: Limits) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        loop="asyncio",
        http=Connection,
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        h11_max_incomplete_event_size=HEAD_BYTES,
        timeout_keep_alive=KEEP_SECONDS,
        timeout_graceful_shutdown=max(1, round(limits.stop_seconds)),
    )


__all__ = ["HEAD_SECONDS", "Connection", "Server", "address_of", "listen", "serve", "warm"]
