"""The outermost layer: gives every request an id, an answer, a line in the log and a count in the metrics."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any
from uuid import uuid4

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from neardup.service import logs
from neardup.service.bodies import ClientGoneError
from neardup.service.gate import ALWAYS
from neardup.service.limits import READING_SECONDS
from neardup.service.metrics import METHODS, Metrics
from neardup.service.refusals import RefusedError, internal

CLIENT_GONE = 499
"""The logged status of a client that did not wait for its answer."""

ABANDON = "abandon"
"""The key, in the state of a request, of the function that a lost connection calls."""

SECURITY = {
    "X-Content-Type-Options": "nosniff",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
    "Cross-Origin-Resource-Policy": "same-origin",
}

# ids as proxies create them: the log must not contain words or ids of documents
_REQUEST_ID = re.compile(r"[0-9A-Fa-f-]{16,64}")


@dataclass(eq=False)
class _Exchange:
    request: str
    status: int = CLIENT_GONE
    started: bool = False
    sent: int = 0
    begun: float = field(default_factory=perf_counter)
    task: asyncio.Task[Any] | None = field(default_factory=asyncio.current_task)
    abandoned: bool = False

    def abandon(self) -> None:
        """Cancel the request of a lost client, unless a thread has already begun its work."""
        self.abandoned = True
        if self.task is not None:
            self.task.cancel()


class Watch:
    """An ASGI application that wraps another one, and answers even if that raises.

    ``security`` are headers of every answer.
    """

    def __init__(self, app: ASGIApp, metrics: Metrics, security: Mapping[str, str] = SECURITY) -> None:
        self._app, self._metrics, self._security = app, metrics, security

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] != "http":
            return
        exchange = _Exchange(request_id(Headers(scope=scope)))
        scope.setdefault("state", {}).update({"request_id": exchange.request, ABANDON: exchange.abandon})

        async def watched(message: Message) -> None:
            await _send(exchange, message, send, self._security)

        try:
            await self._app(scope, receive, watched)
        except RefusedError as refusal:
            await _answer(exchange, refusal, watched)
        except ClientGoneError:
            exchange.status = CLIENT_GONE
        except asyncio.CancelledError:
            if not exchange.abandoned:
                raise
            exchange.status = CLIENT_GONE
        except Exception as error:
            logs.mistake(error, exchange.request)
            await _answer(exchange, internal(), watched)
        finally:
            self._note(scope, exchange)

    def _note(self, scope: Scope, exchange: _Exchange) -> None:
        route = _template(scope)
        method = scope["method"] if scope["method"] in METHODS else "other"
        seconds = perf_counter() - exchange.begun
        self._metrics.answered(method, route, exchange.status, seconds)
        logs.event(
            "request",
            request=exchange.request,
            method=method,
            route=route,
            status=exchange.status,
            ms=round(1000 * seconds, 3),
            bytes_in=scope["state"].get("body_bytes", 0),
            bytes_out=exchange.sent,
        )


def _template(scope: Scope) -> str:
    """Return the route template of a request, without ids; all unknown addresses share one."""
    if scope["path"] in ALWAYS:
        return str(scope["path"])
    return str(getattr(scope.get("route"), "path_format", "unmatched"))


def request_id(headers: Headers) -> str:
    """Return the request id of a proxy if it is harmless, else a new one."""
    given = headers.get("x-request-id", "")
    return given if _REQUEST_ID.fullmatch(given) else uuid4().hex


async def _send(exchange: _Exchange, message: Message, send: Send, security: Mapping[str, str]) -> None:
    if message["type"] == "http.response.start":
        headers = MutableHeaders(scope=message)
        for name, value in security.items():
            headers[name] = value
        headers["X-Request-Id"] = exchange.request
        exchange.started, exchange.status = True, message["status"]
    try:
        # a client that reads nothing must not keep its answer in memory for ever
        async with asyncio.timeout(READING_SECONDS):
            await send(message)
    except TimeoutError:
        raise ClientGoneError from None
    exchange.sent += len(message.get("body", b""))


async def _answer(exchange: _Exchange, refusal: RefusedError, send: Send) -> None:
    """Send an error, unless an answer has begun; that one just ends."""
    if exchange.started:
        return
    content = json.dumps(refusal.body(exchange.request)).encode()
    headers = {"content-type": "application/json", "content-length": str(len(content)), **refusal.headers()}
    raw = [(name.lower().encode(), value.encode()) for name, value in headers.items()]
    await send({"type": "http.response.start", "status": refusal.status, "headers": raw})
    await send({"type": "http.response.body", "body": content})
