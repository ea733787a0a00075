"""What holds for every endpoint alike: the token it needs, its parameters and no others, the errors it answers."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from fastapi import Depends, Request
from fastapi.security import HTTPBearer
from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from neardup.service.answers import Error
from neardup.service.refusals import RefusedError

BEARER = Depends(HTTPBearer(auto_error=False, description="A token of the token file; needed when there is one."))


async def known_parameters(request: Request) -> None:  # else it would run in a thread of its own
    """Raise RefusedError for a parameter that the endpoint does not have, or that comes twice."""
    known = {parameter.alias for parameter in request.scope["route"].dependant.query_params}
    given = [name for name, _ in request.query_params.multi_items()]
    if not known.issuperset(given) or len(set(given)) < len(given):
        allowed = ", ".join(sorted(known)) or "None"
        raise RefusedError(422, "A parameter of the address is unknown here, or comes twice", allowed)


_WORDS = {
    400: "The query, the address or the body cannot be read.",
    401: "No token, or an unknown one.",
    403: "The token has not the right.",
    404: "There is no such document.",
    408: "The body did not arrive in time.",
    409: "A document with this id is there already.",
    413: "The body is too large.",
    415: "The body is not said to be JSON.",
    421: "Without tokens: the service was called by another name than this machine's.",
    422: "The request is not as it must be.",
    500: "A mistake of the service, or a damaged collection.",
    503: "Too much is under way, or it took too long, or the file cannot be read or written to now.",
}
_REFERENCE = "#/components/schemas/{model}"
_KNOWN = Depends(known_parameters)
_ALWAYS = (400, 401, 403, 421, 422, 500, 503)
_WITH_BODY = (408, 413, 415)


def described(
    model: type[BaseModel], *statuses: int, body: type[BaseModel] | None = None, token: bool = True
) -> dict[str, Any]:
    """Arguments for a route: what it answers, of which ``statuses`` are those not all endpoints have.

    ``body``: what it is sent, which ``received`` reads; so it is told here what the framework cannot know.
    """
    errors = sorted({*_ALWAYS, *statuses, *(_WITH_BODY if body is not None else ())})
    answers: dict[int, dict[str, Any]] = {
        status: {"model": Error, "description": _WORDS[status]} for status in errors
    }
    route = {
        "response_model": model,
        "responses": answers,
        "dependencies": [_KNOWN, BEARER] if token else [_KNOWN],
    }
    return route if body is None else {**route, "openapi_extra": _sent(body)}


def _sent(body: type[BaseModel]) -> dict[str, Any]:
    """How OpenAPI describes what is sent."""
    schema = {"$ref": _REFERENCE.format(model=body.__name__)}
    return {"requestBody": {"required": True, "content": {"application/json": {"schema": schema}}}}


def with_bodies(api: dict[str, Any], bodies: Iterable[type[BaseModel]]) -> None:
    """Add the schemas of what is sent to a description."""
    _, definitions = models_json_schema([(body, "validation") for body in bodies], ref_template=_REFERENCE)
    api["components"]["schemas"] |= definitions["$defs"]
