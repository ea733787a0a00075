"""A collection, or several shards, served over HTTP until a signal arrives."""

import socket
import sys
from collections.abc import Callable, Mapping
from typing import Protocol

from starlette.types import ASGIApp, Receive, Scope, Send

from neardup.collection import Collection
from neardup.collection.shards import Collections
from neardup.service.app import make_app
from neardup.service.executor import Executor
from neardup.service.front import Front
from neardup.service.web import monitoring
from neardup.service.web.limits import Limits
from neardup.service.web.middleware import Tokens
from neardup.service.web.server import address_of, collect_less, run

SWITCHING = 0.001
"""Seconds after which a thread that computes lets another one run, such as the one that listens."""


def serve(
    collection: Collection,
    tokens: Tokens,
    limits: Limits,
    listening: socket.socket,
    started: Callable[[str], None],
    pages: "Mapping[str, ThreadedApp] | None" = None,
) -> bool:
    """Serve until a signal arrives; return whether all threads ended in time.

    ``started`` is called with the address when requests can arrive. ``pages`` are applications at addresses of
    their own. Closes collection and socket. If a thread is still running, the collection is perhaps still in use:
    the process must then end without closing it (``cli.messages.leave``).
    """
    executor = Executor(collection, limits)
    monitoring.event("started", address=address_of(listening), documents=len(collection), tokens=bool(tokens))
    return _serve(executor, tokens, listening, started, pages)


def serve_front(
    shards: Collections,
    tokens: Tokens,
    limits: Limits,
    listening: socket.socket,
    started: Callable[[str], None],
    *,
    readonly: bool = False,
) -> bool:
    """Serve several shards until a signal arrives, as ``serve`` does a collection."""
    front = Front(shards, limits, readonly=readonly)
    monitoring.event("started", address=address_of(listening), shards=len(shards.parts), tokens=bool(tokens))
    return _serve(front, tokens, listening, started, None)


def _serve(
    executor: Executor,
    tokens: Tokens,
    listening: socket.socket,
    started: Callable[[str], None],
    pages: Mapping[str, "ThreadedApp"] | None,
) -> bool:
    limits, before = executor.limits, sys.getswitchinterval()

    def begin() -> None:
        collect_less()
        started(address_of(listening))

    sys.setswitchinterval(SWITCHING)
    try:
        run(Beside(make_app(executor, tokens), pages or {}), limits, listening, begin)
    finally:
        sys.setswitchinterval(before)
        executor.closed = True
        shown = [page.close(limits.stop_seconds) for page in (pages or {}).values()]
        ended = executor.close(unused=all(shown)) and all(shown)
        listening.close()
        monitoring.event("stopped", finished=ended)
    return ended


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
