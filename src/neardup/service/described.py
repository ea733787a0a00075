"""The common parts of all endpoints: their token, their parameters and the check of them, and their errors."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import Depends, Path, Query, Request
from fastapi.security import HTTPBearer
from msgspec import Struct
from msgspec.json import schema_components
from pydantic import AfterValidator, Field

from neardup.collection.fields import LONGEST_ID, id_fault
from neardup.service.answers import ErrorAnswer
from neardup.service.requests import LONGEST_QUERY
from neardup.web.refusals import RefusedError


def _id(id: str) -> str:
    fault = id_fault(id)
    if fault:
        raise ValueError(f"{fault}; allowed are 1 to {LONGEST_ID:,} bytes of UTF-8")
    return id


_Id = Annotated[str, Field(min_length=1, max_length=LONGEST_ID), AfterValidator(_id)]
LARGEST = (1 << 63) - 1
"""The largest number in a store."""
IdInPath = Annotated[_Id, Path(description="Percent-encoded.")]
IdInQuery = Annotated[_Id, Query(description="Any text of 1 to 1,024 bytes of UTF-8.")]
AfterId = Annotated[_Id | None, Query(description="The last id of the previous page.")]
After = Annotated[int, Query(ge=0, le=LARGEST, description="The last number of the previous page.")]
Rows = Annotated[int, Query(ge=1, le=1000)]
QueryInAddress = Annotated[
    str,
    Query(alias="q", min_length=1, max_length=LONGEST_QUERY, description="See the page on the query language."),
]
Hits = Annotated[int | None, Query(ge=1, description="Hits on the page; by default 20, at most --most-hits.")]

BEARER = Depends(HTTPBearer(auto_error=False, description="A token of the token file, if the service has one."))


async def known_parameters(request: Request) -> None:  # async, since a plain function would run in another thread
    """Raise RefusedError for an unknown or repeated parameter."""
    known = {parameter.alias for parameter in request.scope["route"].dependant.query_params}
    given = [name for name, _ in request.query_params.multi_items()]
    if not known.issuperset(given) or len(set(given)) < len(given):
        allowed = ", ".join(sorted(known)) or "None"
        raise RefusedError(422, "A parameter of the address is unknown or repeated", allowed)


_WORDS = {
    400: "The query, the address or the body cannot be parsed.",
    401: "No token, or an unknown one.",
    403: "The token lacks the right.",
    404: "The document does not exist.",
    408: "The body did not arrive in time.",
    409: "A document with this id exists already.",
    413: "The body is too large.",
    415: "The Content-Type of the body is not JSON.",
    421: "Without tokens: the request names a host other than this machine.",
    422: "The request is invalid.",
    500: "An error of the service, or a damaged collection.",
    503: "Too many requests are in progress, a time limit was exceeded, or the file cannot be used now.",
}
_REFERENCE = "#/components/schemas/{name}"
_RECORDS: list[type] = []
"""The records of all bodies and answers."""
_KNOWN = Depends(known_parameters)
_ALWAYS = (400, 401, 403, 421, 422, 500, 503)
_WITH_BODY = (408, 413, 415)


def described(
    record: type, *statuses: int, body: type[Struct] | None = None, token: bool = True, status: int = 200
) -> dict[str, Any]:
    """Return the arguments of a route: its answers, and its ``statuses`` beyond those of all endpoints.

    ``record``: the record of its answer with ``status``. ``body``: the record of its request body.
    """
    errors = sorted({*_ALWAYS, *statuses, *(_WITH_BODY if body is not None else ())})
    route: dict[str, Any] = {
        "status_code": status,
        "responses": {
            status: {"description": "Successful Response", **_content(record)},
            **{error: {"description": _WORDS[error], **_content(ErrorAnswer)} for error in errors},
        },
        "dependencies": [_KNOWN, BEARER] if token else [_KNOWN],
    }
    if body is not None:
        route["openapi_extra"] = {"requestBody": {"required": True, **_content(body)}}
    return route


def with_schemas(api: dict[str, Any]) -> None:
    """Add the schemas of all bodies and answers to a description."""
    _, schemas = schema_components(_RECORDS, ref_template=_REFERENCE)
    api["components"].setdefault("schemas", {}).update(schemas)


def _content(record: type) -> dict[str, Any]:
    if record not in _RECORDS:
        _RECORDS.append(record)
    return {"content": {"application/json": {"schema": {"$ref": _REFERENCE.format(name=record.__name__)}}}}
