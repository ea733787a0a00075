"""The rules of the pages for requests, and their sessions: a change comes from a page of the same origin."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from secrets import token_urlsafe
from typing import ClassVar
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.middleware.sessions import SessionMiddleware
from starlette.types import ASGIApp, Receive, Scope, Send

from neardup.web.limits import Client
from neardup.web.middleware import SECURITY
from neardup.web.refusals import RefusedError

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
FORM_BYTES = 65_536
BODIES = 64
"""Forms of the largest size that all requests together may hold."""
HOURS = 12
"""Hours after which a session ends."""
COOKIE = "neardup-review"


class PageRules:
    """The rules of the pages; see ``neardup.web.middleware.Rules``. ``page`` makes the page of an error."""

    # no-referrer would make browsers send the Origin "null" with every form, and the check of it impossible
    headers: ClassVar[Mapping[str, str]] = {
        **SECURITY,
        "Content-Security-Policy": POLICY,
        "Referrer-Policy": "same-origin",
    }
    unlimited: frozenset[str] = frozenset()
    bodies = BODIES * FORM_BYTES

    def __init__(self, page: Callable[[Scope, RefusedError], ASGIApp]) -> None:
        self._page = page

    def client(self, scope: Scope, headers: Headers) -> Client:
        """Return None: a session is checked where the page is made."""
        return None

    def body_bytes(self, scope: Scope, headers: Headers) -> int | None:
        """Return the largest size of a form. Raises RefusedError for a change from another page."""
        if scope["method"] in ("GET", "HEAD"):
            return None
        require_own_page(headers)
        return FORM_BYTES

    def refused(self, scope: Scope, refusal: RefusedError, request_id: str) -> ASGIApp:
        """Return the page of an error."""
        return self._page(scope, refusal)


class Sessions:
    """An ASGI application with sessions, whose cookie is for HTTPS only if the browser speaks it."""

    def __init__(self, app: ASGIApp) -> None:
        secret = token_urlsafe(32)  # a restart ends all sessions
        self._plain, self._secure = (
            SessionMiddleware(app, secret, COOKIE, HOURS * 3600, same_site="strict", https_only=https)
            for https in (False, True)
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on."""
        app = self._secure if _over_https(scope, Headers(scope=scope)) else self._plain
        await app(scope, receive, send)


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


__all__ = ["COOKIE", "FORM_BYTES", "PageRules", "Sessions", "require_own_page"]
