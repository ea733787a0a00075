"""Listening, and stopping without losing anything."""

from __future__ import annotations

import asyncio
import json
import os
import socket
from collections.abc import Callable, Mapping
from contextlib import suppress
from types import FrameType
from typing import Any, Protocol
from uuid import uuid4

import h11
import uvicorn
from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from neardup.collection import Collection, Near
from neardup.comparison import compare as measures
from neardup.errors import NeardupError, OutputError, SettingError
from neardup.service import logs
from neardup.service.app import make_app
from neardup.service.desk import Desk
from neardup.service.limits import CONNECTIONS, Limits
from neardup.service.readiness import Warming, warm_behind
from neardup.service.refusals import RefusedError, overloaded
from neardup.service.tokens import Tokens
from neardup.service.watch import ABANDON, SECURITY
from neardup.settings import as_compared

HEAD_SECONDS = 20.0
"""Seconds without a complete request head before a connection is closed, even if it sends a refused body."""
KEEP_SECONDS = 15
"""Seconds for which a connection stays open without a request."""
HEAD_BYTES = 64 << 10
"""Bytes of address and headers."""
LINGER_BYTES, LINGER_SECONDS = 1 << 20, 2.0
"""Limits for reading a refused body before the connection is closed, so that the client reads the answer."""

_LOADING = 10.0
"""Seconds to wait, after the last request, for the thread that uses the collection once at the start."""

_SAMPLE = (
    "The harbour office is closed on Friday; please hand in all receipts for March before noon. Größe und Maß"
)
_OTHER = _SAMPLE.encode("ascii", "ignore").decode()
_QUERY = f'FINGERPRINT:TEXT:"{_SAMPLE}"_20_80 OR SIMILAR:TEXT:"{_SAMPLE}"_90'
_NEAR = 0.5


class Connection(H11Protocol):
    """A connection that closes when a client sends nothing, and whose refusals are JSON."""

    _patience: asyncio.TimerHandle | None = None
    _refused = 0
    """Bytes of a body that arrived after its request was answered."""

    def connection_made(self, transport: Any) -> None:
        """Accept a client."""
        super().connection_made(transport)
        if len(self.connections) > CONNECTIONS:
            self._refuse(overloaded("Too many connections are open"))
            return
        self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        """Abandon the request of a lost client."""
        self._stop_waiting()
        super().connection_lost(exc)
        if self.cycle is not None and not self.cycle.response_complete:
            abandon: Callable[[], None] = self.cycle.scope["state"].get(ABANDON, lambda: None)
            abandon()

    def data_received(self, data: bytes) -> None:
        """Process received bytes."""
        if self.transport.is_closing():
            return
        if self._has_unread_body():
            self._refused += len(data)
            if self._refused > LINGER_BYTES:
                self.transport.close()
                return
        super().data_received(data)
        if self.cycle is not None and not self.cycle.response_complete:
            self._stop_waiting()  # a request in progress has its own time limits

    def on_response_complete(self) -> None:
        """Wait for the next request after an answer."""
        super().on_response_complete()
        self._refused = 0
        if not self.transport.is_closing() and (self.cycle is None or self.cycle.response_complete):
            self._wait()

    def send_400_response(self, msg: str) -> None:
        """Refuse bytes that are not HTTP."""
        self._refuse(
            RefusedError(400, "This is not an HTTP request", "HTTP/1.1, at most 64 kB of address and headers")
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
        """Whether the body of an answered request is still arriving."""
        answered = self.cycle is not None and self.cycle.response_complete
        return answered and self.conn.their_state is h11.SEND_BODY

    def _stop_waiting(self) -> None:
        if self._patience is not None:
            self._patience.cancel()
            self._patience = None


class Server(uvicorn.Server):
    """Finishes pending requests after the first signal, and stops at once after the second."""

    def __init__(self, config: uvicorn.Config, started: Callable[[], None]) -> None:
        super().__init__(config)
        self._tell = started

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to accept connections."""
        await super().startup(sockets)
        self._tell()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Stop after a signal, without raising it again at the end, since a requested stop is not a failure."""
        if self.should_exit:
            os._exit(128 + sig)  # everything acknowledged is on the disk
        self.should_exit = True


def listen(host: str, port: int) -> socket.socket:
    """Return a listening socket. Raises OutputError if that fails, SettingError for an invalid port."""
    if not 0 <= port <= 65_535:  # some systems would use the port modulo 65,536
        raise SettingError(f"--port is {port}", "A whole number from 0 to 65,535")
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
        # with its protocol: asyncio sets TCP_NODELAY only on sockets declared as TCP
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
            f"Cannot listen at {host} port {port}: {error.strerror}",
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
    pages: Mapping[str, ThreadedApp] | None = None,
) -> bool:
    """Serve until a signal arrives; return whether all threads ended in time.

    ``started`` is called with the address when requests can arrive. ``pages`` are applications at addresses of
    their own. Closes collection and socket. If a thread is still running, the collection is perhaps still in use:
    the process must then end without closing it (``cli.stopping.leave``).
    """
    logs.log_to_stderr()
    desk = Desk(collection, limits)
    address = address_of(listening)
    warming: list[Warming] = []

    def begin() -> None:
        started(address)
        warming.append(warm_behind(desk, lambda: warm(collection)))

    logs.event("started", address=address, documents=len(collection), tokens=bool(tokens))
    try:
        run(Beside(make_app(desk, tokens), pages or {}), limits, listening, begin)
    finally:
        desk.closed = True
        shown = [page.close(limits.stop_seconds) for page in (pages or {}).values()]
        warmed = [thread.let_go(_LOADING) for thread in warming]
        ended = desk.close(unused=all((*shown, *warmed))) and all((*shown, *warmed))
        listening.close()
        logs.event("stopped", finished=ended)
    return ended and not any(thread.alive for thread in warming)


def run(app: ASGIApp, limits: Limits, listening: socket.socket, started: Callable[[], None]) -> None:
    """Serve an application until a signal arrives; ``started`` is called when requests can arrive."""
    Server(_config(app, limits), started).run(sockets=[listening])


class ThreadedApp(Protocol):
    """An ASGI application with threads of its own."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""

    def close(self, seconds: float) -> bool:
        """Stop the threads; return whether they all ended in time."""


class Beside:
    """An ASGI application, and others beside it, each at all addresses that begin with its own."""

    def __init__(self, app: ASGIApp, others: Mapping[str, ThreadedApp]) -> None:
        self._app, self._others = app, others

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on."""
        for place, other in self._others.items():
            if f"{scope.get('path', '')}/".startswith(f"{place}/"):
                path = scope["path"] if scope["path"] != place else f"{place}/"
                await other({**scope, "root_path": place, "path": path}, receive, send)
                return
        await self._app(scope, receive, send)


def warm(collection: Collection) -> None:
    """Compile or load everything that the first requests would wait for. Does not change the collection."""
    measures.compare(_SAMPLE, _OTHER, **as_compared(collection.settings.as_dict()))
    collection.search(_QUERY, limit=1)
    # if writing fails now, the first write that succeeds waits a little; failures are reported then, too
    with suppress(_UndoneError, NeardupError), collection.together():
        _write(collection)
        raise _UndoneError


class _UndoneError(Exception):
    """Raised to roll back the transaction."""


def _write(collection: Collection) -> None:
    """Perform each kind of change once; otherwise all writers would wait for the first one."""
    ids = first, second = [uuid4().hex, uuid4().hex]
    entries = collection.prepare(ids, [_SAMPLE, _OTHER], [{}, {}])
    for near in (None, _NEAR, Near(_NEAR, recall=1)):
        collection.put_prepared(entries, "replace", near=near, on_near="link" if near else "keep")
    collection.decide(first, second, "same")
    collection.remove(ids)


def address_of(listening: socket.socket) -> str:
    """Return the address for a browser."""
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


__all__ = [
    "HEAD_SECONDS",
    "Beside",
    "Connection",
    "Server",
    "ThreadedApp",
    "address_of",
    "listen",
    "run",
    "serve",
    "warm",
]
