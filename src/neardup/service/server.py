"""A collection served over HTTP until a signal arrives."""

from __future__ import annotations

import socket
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Protocol
from uuid import uuid4

from starlette.types import ASGIApp, Receive, Scope, Send

from neardup.collection import Collection, Near
from neardup.comparison import compare as measures
from neardup.errors import NeardupError
from neardup.service.app import make_app
from neardup.service.executor import Executor
from neardup.service.readiness import Warming, warm_behind
from neardup.settings import as_compared
from neardup.web import logs
from neardup.web.limits import Limits
from neardup.web.server import address_of, run
from neardup.web.tokens import Tokens

_LOADING = 10.0
"""Seconds to wait, after the last request, for the thread that uses the collection once at the start."""

_SAMPLE = (
    "The harbour office is closed on Friday; please hand in all receipts for March before noon. Größe und Maß"
)
_OTHER = _SAMPLE.encode("ascii", "ignore").decode()
_QUERY = f'FINGERPRINT:TEXT:"{_SAMPLE}"_20_80 OR SIMILAR:TEXT:"{_SAMPLE}"_90'
_NEAR = 0.5


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
    executor = Executor(collection, limits)
    address = address_of(listening)
    warming: list[Warming] = []

    def begin() -> None:
        started(address)
        warming.append(warm_behind(executor, lambda: warm(collection)))

    logs.event("started", address=address, documents=len(collection), tokens=bool(tokens))
    try:
        run(Beside(make_app(executor, tokens), pages or {}), limits, listening, begin)
    finally:
        executor.closed = True
        shown = [page.close(limits.stop_seconds) for page in (pages or {}).values()]
        warmed = [thread.let_go(_LOADING) for thread in warming]
        ended = executor.close(unused=all((*shown, *warmed))) and all((*shown, *warmed))
        listening.close()
        logs.event("stopped", finished=ended)
    return ended and not any(thread.alive for thread in warming)


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
    collection.decide(first, second, "duplicate")
    collection.remove(ids)


__all__ = ["Beside", "ThreadedApp", "serve", "warm"]
