"""The checks before every endpoint: host, token, size of the body, and number of requests."""

from __future__ import annotations

import re
from urllib.parse import unquote_to_bytes

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from neardup.service.bodies import Body, Room
from neardup.service.limits import BODIES, READING_SECONDS, Limits
from neardup.service.metrics import Metrics
from neardup.service.places import Client, Places
from neardup.service.refusals import RefusedError
from neardup.service.tokens import Right, Tokens

OPEN = frozenset({"/", "/health", "/ready", "/openapi.json"})
"""Addresses that need no token."""

ALWAYS = OPEN | {"/metrics"}
"""Addresses without a limit on concurrent requests."""

ASKING = frozenset({"/v1/search", "/v1/explain", "/v1/why-not", "/v1/compare", "/v1/near"})
"""Addresses where POST changes nothing."""

_WITH_BODY = frozenset({"POST", "PUT", "PATCH"})
_OWN_HOST = re.compile(r"(localhost|127\.0\.0\.1|\[::1\])(:[0-9]{1,5})?", re.ASCII | re.IGNORECASE)
_OWN_ORIGIN = re.compile(rf"https?://{_OWN_HOST.pattern}", re.ASCII | re.IGNORECASE)
# matched as a whole: an address parser may ignore characters behind a bracket
_NO_BYTE = re.compile(rb"%(?![0-9A-Fa-f]{2})")


def right_of(method: str, path: str) -> Right | None:
    """Return the right that a request needs: to write, unless it is known to be harmless."""
    if path in OPEN:
        return None
    return "read" if method in ("GET", "HEAD") or (method == "POST" and path in ASKING) else "write"


class Gate:
    """An ASGI application that lets requests through to another one, or raises RefusedError.

    Without tokens, the service listens to this machine only, and answers only to the names of this machine.
    Otherwise a web page could reach it through a DNS name that points here.
    """

    def __init__(self, app: ASGIApp, tokens: Tokens, limits: Limits, metrics: Metrics) -> None:
        self._app, self._tokens, self._limits, self._metrics = app, tokens, limits, metrics
        self._room = Room(BODIES * limits.body_bytes, metrics.held.set)
        most, n_clients = limits.requests, len(tokens.hashes)
        self._arriving = Places(most, n_clients, "are arriving", metrics.arriving.set)
        self._under_way = Places(most, n_clients, "are under way", metrics.under_way.set)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Check a request and pass it on."""
        headers = Headers(scope=scope)
        method, path = scope["method"], scope["path"]
        require_one_length(headers)
        require_one_token(headers)
        require_unicode(scope)
        client: Client = None
        if not self._tokens:
            require_own_name(headers)
        else:
            client = self._require_token(headers, right_of(method, path))
        if path in ALWAYS:
            await self._app(scope, receive, send)
            return
        self._under_way.require(client)
        body = Body(self._room)
        try:
            if method in _WITH_BODY:
                receive = await self._read(body, scope, receive, headers, client)
            # only now: a slowly arriving body must not block other requests
            self._under_way.take(client)
            try:
                await self._app(scope, receive, send)
            finally:
                self._under_way.give_back(client)
        finally:
            body.close()

    async def _read(self, body: Body, scope: Scope, receive: Receive, headers: Headers, client: Client) -> Receive:
        """Read the body of a request."""
        require_json(headers)
        length = headers.get("content-length", "")
        declared = int(length) if length.isascii() and length.isdigit() else None
        self._arriving.take(client)
        try:
            most = self._limits.body_bytes_of(scope["path"])
            return await body.read(receive, declared, most, READING_SECONDS)
        finally:
            self._arriving.give_back(client)
            scope.setdefault("state", {})["body_bytes"] = body.size

    def _require_token(self, headers: Headers, right: Right | None) -> Client:
        if right is None:
            return None
        scheme, _, token = headers.get("authorization", "").partition(" ")
        token = token.strip()
        if scheme.lower() != "bearer" or not token:
            raise RefusedError(401, "The request has no token", "The header Authorization: Bearer TOKEN")
        if not self._tokens.knows(token):
            raise RefusedError(
                401, "The token is unknown", "A token of the service's token file", code="unknown_token"
            )
        if not self._tokens.allow(right, token):
            raise RefusedError(403, f"The token lacks the right to {right}", f"A token with the right to {right}")
        return self._tokens.place(token)


def require_one_length(headers: Headers) -> None:
    """Raise RefusedError if a body has both a length and chunks, so that a proxy may see another end of it."""
    if "transfer-encoding" in headers and "content-length" in headers:
        raise RefusedError(
            400,
            "The request has both Content-Length and Transfer-Encoding",
            "One of them",
            code="ambiguous_length",
        )


def require_one_token(headers: Headers) -> None:
    """Raise RefusedError for several tokens, of which a proxy may check another one."""
    if len(headers.getlist("authorization")) > 1:
        raise RefusedError(
            400, "The request has several Authorization headers", "One of them", code="ambiguous_token"
        )


def require_unicode(scope: Scope) -> None:
    """Raise RefusedError unless address and query string are UTF-8; otherwise an id could silently change."""
    whole = (scope.get("raw_path") or b"") + b"?" + scope.get("query_string", b"")
    if _NO_BYTE.search(whole):
        raise RefusedError(
            400,
            "A percent sign in the address is not followed by two hexadecimal digits",
            "%XX for a byte, %25 for the percent sign itself",
            code="encoding",
        )
    try:
        unquote_to_bytes(whole).decode("utf-8")
    except UnicodeDecodeError:
        raise RefusedError(400, "The address is not UTF-8", "Percent-encoded UTF-8", code="encoding") from None


def require_own_name(headers: Headers) -> None:
    """Raise RefusedError if a request names another host, or comes from a page of another host."""
    if not _OWN_HOST.fullmatch(headers.get("host", "")):
        raise RefusedError(
            421,
            "The service without tokens answers this machine only",
            "The host localhost, 127.0.0.1 or [::1]",
            "Start it with a --token-file to use another host name",
        )
    if not all(map(_OWN_ORIGIN.fullmatch, headers.getlist("origin"))):
        raise RefusedError(403, "A page of another site sent the request", "No foreign Origin")


def require_json(headers: Headers) -> None:
    """Raise RefusedError unless the Content-Type is JSON, which browsers do not send to other sites unasked."""
    kind = headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":
        raise RefusedError(415, "The body is not declared as JSON", "The header Content-Type: application/json")
