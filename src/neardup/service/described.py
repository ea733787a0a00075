"""What holds for every endpoint alike: the token it needs, its parameters and no others, the errors it answers."""

from __future__ import annotations

from typing import Any

from fastapi import Depends, Request
from fastapi.security import HTTPBearer
from pydantic import BaseModel

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
_KNOWN = Depends(known_parameters)
_ALWAYS = (400, 401, 403, 421, 422, 500, 503)
_WITH_BODY = (408, 413, 415)


def described(model: type[BaseModel], *statuses: int, body: bool = False, token: bool = True) -> dict[str, Any]:
    """Arguments for a route: what it answers, of which ``statuses`` are those not all endpoints have."""
    errors = sorted({*_ALWAYS, *statuses, *(_WITH_BODY if body else ())})
    answers: dict[int, dict[str, Any]] = {
        status: {"model": Error, "description": _WORDS[status]} for status in errors
    }
    return {"response_model": model, "responses": answers, "dependencies": [_KNOWN, BEARER] if token else [_KNOWN]}
