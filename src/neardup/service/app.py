"""The application: endpoints behind the checks of every server, and the rules of this one for requests."""

from base64 import b64decode
from collections.abc import Mapping
from importlib.resources import files
from typing import Any, ClassVar

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Scope

from neardup import __version__
from neardup.display.pictures import page_style
from neardup.display.view import environment, policy_for, self_contained
from neardup.service.dispatch import Dispatch
from neardup.service.endpoints import add_endpoints
from neardup.service.executor import Executor
from neardup.service.requests import PERSON
from neardup.service.web.limits import BODIES, MEGABYTE, Client, Limits, RefusedError, internal, of_status
from neardup.service.web.middleware import SECURITY, Middleware, Right, Tokens


def make_app(executor: Executor, tokens: Tokens) -> ASGIApp:
    """The service for a collection, as an ASGI application."""
    rules = ServiceRules(tokens, executor.limits, readonly=executor.readonly, refused=executor.refused)
    return Middleware(Dispatch(endpoints(executor)), rules, tokens, executor.limits, executor.metrics)


def endpoints(executor: Executor) -> FastAPI:
    """The endpoints alone."""
    app = FastAPI(
        title="neardup",
        version=__version__,
        description="A collection of documents: which are similar, by how much, and with which recall.",
        # the pages of the framework load scripts from other servers: description.html needs none
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        exception_handlers={
            RefusedError: _refused,
            RequestValidationError: _invalid,
            HTTPException: _of_framework,
            Exception: _mistake,
        },
    )
    style = page_style(files("neardup.service").joinpath("templates/description.css").read_text(encoding="utf-8"))
    headers = {"Content-Security-Policy": f"{policy_for(style)}; frame-ancestors 'none'"}

    @app.get(PAGE, include_in_schema=False)
    async def docs() -> Response:
        """Return the description for people."""
        return Response(page, headers=headers, media_type="text/html")

    add_endpoints(app, executor)  # last: another route would drop the schemas that it adds
    page = self_contained(
        environment("neardup.service"),
        "description.html",
        style,
        title=f"neardup {__version__}",
        generator="neardup serve",
        api=app.openapi(),
        rights=right_of,
        bounds=_BOUNDS,
    ).encode()
    return app


_BOUNDS = (
    *(("minimum", "from"), ("exclusiveMinimum", "above"), ("maximum", "to")),
    *(("minLength", "length from"), ("maxLength", "length to"), ("maxItems", "at most")),
)
"""Limits of values in OpenAPI, in words."""


_SHOWN = 5
"""Number of invalid fields that an answer names."""
_WIDEST = 60
"""Characters of a field name in an answer, since the keys of a body may be any text."""


async def _refused(request: Request, refusal: Any) -> Response:
    return error_answer(refusal, request.state.request_id)


async def _invalid(request: Request, error: Any) -> Response:
    found = error.errors()
    fields = tuple((_place(one["loc"]), str(one["msg"])) for one in found[:_SHOWN])
    more = f" and {len(found) - _SHOWN} more" if len(found) > _SHOWN else ""
    message = f"The request is invalid: {'; '.join(': '.join(field) for field in fields)}{more}"
    return error_answer(
        RefusedError(422, message, "Requests that /openapi.json describes", fields=fields),
        request.state.request_id,
    )


async def _of_framework(request: Request, error: Any) -> Response:
    answer = error_answer(of_status(error.status_code), request.state.request_id)
    answer.headers.update(error.headers or {})
    return answer


async def _mistake(request: Request, _: Any) -> Response:
    return error_answer(internal(), request.state.request_id)


def _place(location: tuple[Any, ...]) -> str:
    """Return the path of a field in the request, without half surrogate pairs, which UTF-8 cannot encode."""
    joined = ".".join(str(part)[:_WIDEST] for part in location)
    return joined.encode("utf-8", "replace").decode("utf-8")


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
        "/v1/shard/look-up",
    }
)
"""Addresses where POST changes nothing."""
_WITH_BODY = frozenset({"POST", "PUT", "PATCH"})
_DOCUMENTS = "/v1/documents"
_TEXTS = frozenset({"/v1/search", "/v1/explain", "/v1/why-not", "/v1/near", "/v1/tags"})
_WITH_DOCUMENTS = "/v1/shard/search"
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

    def refused(self, scope: Scope, refusal: RefusedError, request_id: str) -> ASGIApp:
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
    if path in (_DOCUMENTS, _WITH_DOCUMENTS) or path.startswith(f"{_DOCUMENTS}/"):
        return limits.body_bytes
    return min(limits.body_bytes, _TEXT_BYTES if path in _TEXTS else _OTHER_BYTES)
