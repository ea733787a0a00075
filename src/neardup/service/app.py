"""The application: endpoints, described by OpenAPI, behind the checks of every server."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.types import ASGIApp

from neardup import __version__
from neardup.service import documents, front, groups, questions, state
from neardup.service.described import with_schemas
from neardup.service.executor import Executor
from neardup.service.rules import ServiceRules, error_answer
from neardup.web.middleware import Middleware
from neardup.web.refusals import RefusedError, internal, of_status
from neardup.web.tokens import Tokens

_SHOWN = 5
"""Number of invalid fields that an answer names."""
_WIDEST = 60
"""Characters of a field name in an answer, since the keys of a body may be any text."""


def make_app(executor: Executor, tokens: Tokens) -> ASGIApp:
    """The service for a collection, as an ASGI application."""
    rules = ServiceRules(tokens, executor.limits)
    return Middleware(endpoints(executor), rules, tokens, executor.limits, executor.metrics)


def endpoints(executor: Executor) -> FastAPI:
    """The endpoints alone."""
    app = FastAPI(
        title="neardup",
        version=__version__,
        description="A collection of documents: which are similar, by how much, and with which recall.",
        # the pages that would show the description load scripts from other servers
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
    for room in (front, documents, questions, groups, state):
        room.add_to(app, executor)
    with_schemas(app.openapi())  # built now, so that the first request need not wait for it
    return app


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
