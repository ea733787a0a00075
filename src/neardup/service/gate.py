"""What every request passes before it reaches its endpoint: host, token, size, and whether there is room."""

from __future__ import annotations

from urllib.parse import unquote_to_bytes, urlsplit

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from neardup.service.bodies import Body, Room
from neardup.service.limits import BODIES, READING_SECONDS, Limits
from neardup.service.metrics import Metrics
from neardup.service.refusals import RefusedError, overloaded
from neardup.service.tokens import Right, Tokens

OPEN = frozenset({"/", "/health", "/ready", "/openapi.json"})
"""Answered without a token."""

ALWAYS = OPEN | {"/metrics"}
"""Answered however much is under way."""

ASKING = frozenset({"/v1/search", "/v1/explain", "/v1/why-not", "/v1/compare", "/v1/near"})
"""Addresses to which POST asks and changes nothing."""

_WITH_BODY = frozenset({"POST", "PUT"})
_OWN_NAMES = frozenset({"localhost", "127.0.0.1", "::1"})


def right_of(method: str, path: str) -> Right | None:
    """The right a request needs; whatever is not known to be harmless needs the right to write."""
    if path in OPEN:
        return None
    return "read" if method in ("GET", "HEAD") or (method == "POST" and path in ASKING) else "write"


class Gate:
    """An ASGI application that lets requests through to another one, or raises RefusedError.

    ``local``: it listens to this machine only. Without tokens it then answers only to its own names, so that no
    page in a browser reaches it through a name that its owner let point here.
    """

    def __init__(self, app: ASGIApp, tokens: Tokens, limits: Limits, metrics: Metrics) -> None:
        self._app, self._tokens, self._limits, self._metrics = app, tokens, limits, metrics
        self._under_way = 0
        self._room = Room(BODIES * limits.body_bytes, metrics.held.set)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on."""
        headers = Headers(scope=scope)
        method, path = scope["method"], scope["path"]
        require_unicode(scope)
        if not self._tokens:
            require_own_name(headers)
        else:
            self._require_token(headers, right_of(method, path))
        if path in ALWAYS:
            await self._app(scope, receive, send)
            return
        if self._under_way >= self._limits.requests:
            raise overloaded("Too many requests are under way")
        self._count(1)
        body = Body(self._room)
        try:
            if method in _WITH_BODY:
                require_json(headers)
                length = headers.get("content-length", "")
                declared = int(length) if length.isascii() and length.isdigit() else None
                receive = await body.read(receive, declared, self._limits.body_bytes, READING_SECONDS)
                scope.setdefault("state", {})["body_bytes"] = body.size
            await self._app(scope, receive, send)
        finally:
            body.close()
            self._count(-1)

    def _count(self, change: int) -> None:
        self._under_way += change
        self._metrics.under_way.set(self._under_way)

    def _require_token(self, headers: Headers, right: Right | None) -> None:
        if right is None:
            return
        scheme, _, token = headers.get("authorization", "").partition(" ")
        token = token.strip()
        if scheme.lower() != "bearer" or not token:
            raise RefusedError(401, "A token is needed", "The header Authorization: Bearer TOKEN")
        if not self._tokens.knows(token):
            raise RefusedError(
                401, "This token is not known", "A token of the service's token file", code="unknown_token"
            )
        if not self._tokens.allow(right, token):
            raise RefusedError(403, f"This token has no right to {right}", f"A token with the right to {right}")


def require_unicode(scope: Scope) -> None:
    """Raise RefusedError unless address and query string are UTF-8: an id would silently become another one."""
    raw = scope.get("raw_path") or b""
    try:
        unquote_to_bytes(raw + b"?" + scope.get("query_string", b"")).decode("utf-8")
    except UnicodeDecodeError:
        raise RefusedError(400, "The address is not UTF-8", "Percent-encoded UTF-8", code="encoding") from None


def require_own_name(headers: Headers) -> None:
    """Raise RefusedError when a request was meant for another host, or comes from a page of another one."""
    if _name(f"//{headers.get('host', '')}") not in _OWN_NAMES:
        raise RefusedError(
            421,
            "This service is for this machine only",
            "The host localhost, 127.0.0.1 or [::1]",
            "Start it with a --token-file to reach it by another name",
        )
    origin = headers.get("origin")
    if origin is not None and _name(origin) not in _OWN_NAMES:
        raise RefusedError(403, "Pages of other sites may not use this service", "No foreign Origin")


def require_json(headers: Headers) -> None:
    """Raise RefusedError unless the body is said to be JSON: browsers ask before they send that elsewhere."""
    kind = headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":
        raise RefusedError(415, "The body is not said to be JSON", "The header Content-Type: application/json")


def _name(address: str) -> str:
    try:
        return urlsplit(address).hostname or ""
    except ValueError:
        return ""
