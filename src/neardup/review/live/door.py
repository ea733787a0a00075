"""The checks before every page: host, origin, size, session. And the headers of every answer."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from secrets import token_urlsafe
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.middleware.sessions import SessionMiddleware
from starlette.types import ASGIApp, Receive, Scope, Send

from neardup.service import logs
from neardup.service.bodies import Body, Room
from neardup.service.gate import require_one_length, require_own_name, require_unicode
from neardup.service.limits import READING_SECONDS, Limits
from neardup.service.metrics import Metrics
from neardup.service.places import Places
from neardup.service.refusals import RefusedError, internal
from neardup.service.tokens import Tokens
from neardup.service.watch import SECURITY

POLICY = "; ".join(
    (
        "default-src 'none'",
        "style-src 'self'",
        "script-src 'self'",
        "img-src 'self'",
        "connect-src 'self'",  # the module fetches the next page after a decision
        "form-action 'self'",
        "base-uri 'none'",
        "frame-ancestors 'none'",
    )
)
# no-referrer would make browsers send the Origin "null" with every form, and the check of it impossible
HEADERS = {**SECURITY, "Content-Security-Policy": POLICY, "Referrer-Policy": "same-origin"}

FORM_BYTES = 65_536
BODIES = 64
"""Forms of the largest size that all requests together may hold."""
HOURS = 12
"""Hours after which a session ends."""
COOKIE = "neardup-review"

Refused = Callable[[Scope, RefusedError], Awaitable[ASGIApp]]
"""Makes the page of an error."""


class Door:
    """An ASGI application that lets requests through to the pages, or answers with the page of an error.

    Without tokens, it answers only to the names of this machine, as the service does. A change must come from a
    page of the same origin.
    """

    def __init__(self, app: ASGIApp, refused: Refused, tokens: Tokens, limits: Limits, metrics: Metrics) -> None:
        secret = token_urlsafe(32)  # a restart ends all sessions
        self._plain, self._secure = (_with_session(app, secret, https=https) for https in (False, True))
        self._refused, self._tokens = refused, tokens
        self._room = Room(BODIES * FORM_BYTES, metrics.held.set)
        self._places = Places(limits.requests, 0, "are under way", metrics.under_way.set)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Check a request and pass it on."""
        begun = False

        async def noted(message: object) -> None:
            nonlocal begun
            begun = True
            await send(message)  # type: ignore[arg-type]

        try:
            await self._pass(scope, receive, noted)
        except RefusedError as refusal:
            error = refusal
        except Exception as mistake:
            logs.mistake(mistake, scope["state"]["request_id"])
            error = internal()
        else:
            return
        if not begun:
            page = await self._refused(scope, error)
            await page(scope, receive, send)

    async def _pass(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = Headers(scope=scope)
        require_one_length(headers)
        require_unicode(scope)
        if not self._tokens:
            require_own_name(headers)
        body = Body(self._room)
        self._places.take(None)
        try:
            if scope["method"] not in ("GET", "HEAD"):
                require_own_page(headers)
                length = headers.get("content-length", "")
                declared = int(length) if length.isascii() and length.isdigit() else None
                receive = await body.read(receive, declared, FORM_BYTES, READING_SECONDS)
                scope["state"]["body_bytes"] = body.size
            app = self._secure if _over_https(scope, headers) else self._plain
            await app(scope, receive, send)
        finally:
            self._places.give_back(None)
            body.close()


def require_own_page(headers: Headers) -> None:
    """Raise RefusedError unless a page of the same host sent the request, by the headers of the browser."""
    origins, sites = headers.getlist("origin"), headers.getlist("sec-fetch-site")
    host = headers.get("host", "").lower()
    own = [_host_of(origin) == host for origin in origins] + [site == "same-origin" for site in sites]
    if not host or not own or not all(own):
        raise RefusedError(
            403,
            "The change did not come from a page of this review",
            "Forms of this review, with the header Origin of their own address",
            "Open the page again, and decide there",
        )


def _host_of(origin: str) -> str:
    parts = urlsplit(origin)
    return parts.netloc.lower() if parts.scheme in ("http", "https") else ""


def _over_https(scope: Scope, headers: Headers) -> bool:
    """Whether the browser speaks HTTPS, to this server or to a proxy before it.

    A false header only makes the cookie of its own sender stricter.
    """
    named = headers.get("x-forwarded-proto", ""), headers.get("origin", "").partition(":")[0]
    return "https" in (scope["scheme"], *named)


def _with_session(app: ASGIApp, secret: str, *, https: bool) -> ASGIApp:
    return SessionMiddleware(app, secret, COOKIE, HOURS * 3600, same_site="strict", https_only=https)


__all__ = ["COOKIE", "FORM_BYTES", "HEADERS", "Door", "require_own_page"]
