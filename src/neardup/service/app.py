"""The application: endpoints behind the checks of every server, and the rules of this one for requests."""

import json
from base64 import b64decode
from collections.abc import Mapping
from importlib.resources import files
from typing import ClassVar

from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route, Router
from starlette.types import ASGIApp, Receive, Scope, Send

from neardup import __version__
from neardup.display.pictures import page_style
from neardup.display.view import environment, policy_for, self_contained
from neardup.service.endpoints import add_endpoints
from neardup.service.executor import Executor
from neardup.service.requests import PERSON
from neardup.service.routes import Routes
from neardup.service.web.limits import BODIES, MEGABYTE, Client, Limits, RefusedError, status_error
from neardup.service.web.middleware import SECURITY, Middleware, Right, Tokens


def make_app(executor: Executor, tokens: Tokens) -> ASGIApp:
    """The service for a collection, as an ASGI application."""
    rules = ServiceRules(tokens, executor.limits, readonly=executor.readonly, refused=executor.refused)
    return Middleware(Service(executor), rules, tokens, executor.limits, executor.metrics)


class Service:
    """The endpoints alone, as an ASGI application; ``openapi`` describes them."""

    def __init__(self, executor: Executor) -> None:
        routes = Routes()
        add_endpoints(routes, executor)
        self.openapi = routes.openapi(INFO)
        schema = json.dumps(self.openapi, ensure_ascii=False, separators=(",", ":")).encode()
        style = page_style(
            files("neardup.service").joinpath("templates/description.css").read_text(encoding="utf-8")
        )
        headers = {"Content-Security-Policy": f"{policy_for(style)}; frame-ancestors 'none'"}
        page = self_contained(
            environment("neardup.service"),
            "description.html",
            style,
            title=f"neardup {__version__}",
            generator="neardup serve",
            api=self.openapi,
            rights=right_of,
            bounds=_BOUNDS,
        ).encode()

        async def description(_: Request) -> Response:
            return Response(schema, media_type="application/json")

        @routes.add("GET", PAGE)
        async def docs() -> Response:
            """Return the description for people."""
            return Response(page, headers=headers, media_type="text/html")

        every = [*routes, Route("/openapi.json", description)]
        self._router = Router(every, redirect_slashes=False)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        scope["app"] = self  # the router raises an error for an unknown address, instead of an answer of its own
        try:
            await self._router(scope, receive, send)
        except HTTPException as error:
            answer = error_answer(status_error(error.status_code), scope["state"]["request_id"])
            answer.headers.update(error.headers or {})
            await answer(scope, receive, send)


INFO = {
    "title": "neardup",
    "description": "A collection of documents: which are similar, by how much, and with which recall.",
    "version": __version__,
}
_BOUNDS = (
    *(("minimum", "from"), ("exclusiveMinimum", "above"), ("maximum", "to")),
    *(("minLength", "length from"), ("maxLength", "length to"), ("maxItems", "at most")),
)
"""Limits of values in OpenAPI, in words."""


OPEN = frozenset({"/", "/health", "/ready", "/openapi.json"})
"""Addresses that need no token."""
PAGE = "/docs"
"""The address of the description for people; a browser sends the token as the password that it asks for."""
ASKING = frozenset(
    {
        "/v1/search",
        "/v1/explain",
        "/v1/why-not",
        "/v1/compare",
        "/v1/near",
        "/v1/tags/look-up",
        "/v1/shard/search",
        "/v1/shard/why-not",
        "/v1/shard/look-up",
    }
)
"""Addresses where POST changes nothing."""
_WITH_BODY = frozenset({"POST", "PUT", "PATCH"})
_DOCUMENTS = "/v1/documents"
_TEXTS = frozenset({"/v1/search", "/v1/explain", "/v1/why-not", "/v1/near", "/v1/tags"})
_WITH_DOCUMENTS = frozenset({_DOCUMENTS, "/v1/shard/search", "/v1/shard/why-not"})
_TEXT_BYTES = 13 * MEGABYTE
"""A million escaped characters, and the rest of the body."""
_OTHER_BYTES = MEGABYTE // 2


class ServiceRules:
    """The rules of the service; see ``neardup.service.web.middleware.Rules``."""

    headers: ClassVar[Mapping[str, str]] = SECURITY
    unlimited = OPEN | {"/metrics"}

    def __init__(
        self, tokens: Tokens, limits: Limits, *, readonly: bool = False, refused: tuple[str, ...] = ()
    ) -> None:
        self._tokens, self._limits, self._readonly, self._refused = tokens, limits, readonly, refused
        self.bodies = BODIES * limits.body_bytes

    def client(self, scope: Scope, headers: Headers) -> Client:
        """Return the index of the token. Raises RefusedError if it lacks the right, or if nobody may write."""
        right = right_of(scope["method"], scope["path"])
        client = None if right is None or not self._tokens else self._place(right, scope["path"], headers)
        if client is not None:
            scope[PERSON] = self._tokens.known[client].name
        if right == "write" and self._readonly:
            raise RefusedError(
                403,
                "The service is read-only",
                "Requests that change nothing",
                "Send changes to the service that writes",
                code="read_only",
            )
        if scope["path"].startswith(self._refused):
            raise RefusedError(
                422,
                "The request needs one collection, and this service has several shards",
                "Requests about documents, and searches",
                "Ask the service of a shard",
                code="shards",
            )
        return client

    def _place(self, right: Right, path: str, headers: Headers) -> int:
        scheme, _, token = headers.get("authorization", "").partition(" ")
        token = token.strip()
        if path == PAGE and scheme.lower() == "basic":
            scheme, token = "bearer", _password(token)
        if scheme.lower() != "bearer" or not token:
            raise RefusedError(401, "The request has no token", "The header Authorization: Bearer TOKEN")
        if not self._tokens.knows(token):
            raise RefusedError(
                401, "The token is unknown", "A token of the service's token file", code="unknown_token"
            )
        if not self._tokens.allow(right, token):
            raise RefusedError(403, f"The token lacks the right to {right}", f"A token with the right to {right}")
        return self._tokens.place(token)

    def body_bytes(self, scope: Scope, headers: Headers) -> int | None:
        """Return the largest size of the body. Raises RefusedError unless it is declared as JSON."""
        if scope["method"] not in _WITH_BODY:
            return None
        # browsers do not send JSON to other sites unasked
        kind = headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind != "application/json":
            raise RefusedError(
                415, "The body is not declared as JSON", "The header Content-Type: application/json"
            )
        return largest_body(self._limits, scope["path"])

    def answer_refusal(self, scope: Scope, refusal: RefusedError, request_id: str) -> ASGIApp:
        """Return the error as JSON."""
        refused = error_answer(refusal, request_id)
        if scope["path"] == PAGE and refusal.status == 401:
            refused.headers["WWW-Authenticate"] = 'Basic realm="neardup"'
        return refused


def _password(credentials: str) -> str:
    """Return the password of the scheme Basic; "" for anything else."""
    try:
        return b64decode(credentials, validate=True).decode("ascii").partition(":")[2]
    except ValueError:
        return ""


def error_answer(refusal: RefusedError, request_id: str) -> JSONResponse:
    """Return an error as JSON."""
    return JSONResponse(refusal.body(request_id), refusal.status, dict(refusal.headers()))


def right_of(method: str, path: str) -> Right | None:
    """Return the right that a request needs: to write, unless it is known to be harmless."""
    if path in OPEN:
        return None
    return "read" if method in ("GET", "HEAD") or (method == "POST" and path in ASKING) else "write"


def largest_body(limits: Limits, path: str) -> int:
    """Return the largest number of bytes of a body sent to ``path``."""
    if path in _WITH_DOCUMENTS or path.startswith(f"{_DOCUMENTS}/"):
        return limits.body_bytes
    return min(limits.body_bytes, _TEXT_BYTES if path in _TEXTS else _OTHER_BYTES)
