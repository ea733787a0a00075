"""The common error body, and the status of each error."""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from neardup.errors import message_of

CODES: dict[int, str] = {
    400: "bad_request",
    401: "no_token",
    403: "forbidden",
    404: "not_found",
    405: "method_not_allowed",
    408: "too_slow",
    409: "duplicate",
    413: "too_large",
    415: "unsupported_media_type",
    421: "wrong_host",
    422: "invalid",
    500: "internal",
    503: "unavailable",
}
"""The default code of each status."""

RETRY_SECONDS = 1


class RefusedError(Exception):
    """An error answer: its status, a code for programs, and the parts of ``NeardupError`` for people."""

    def __init__(
        self,
        status: int,
        given: str,
        allowed: str = "",
        do: str = "",
        *,
        code: str = "",
        position: int | None = None,
        fields: tuple[tuple[str, str], ...] = (),
    ) -> None:
        super().__init__(message_of(given, allowed, do))
        self.status, self.code = status, code or CODES.get(status, "bad_request")
        self.given, self.allowed, self.do = given, allowed, do
        self.position, self.fields = position, fields

    def body(self, request: str) -> dict[str, Any]:
        """Return the error body, which always has all keys."""
        return {
            "error": {
                "code": self.code,
                "message": message_of(self.given, self.allowed, self.do),
                "given": self.given,
                "allowed": self.allowed,
                "do": self.do,
                "position": self.position,
                "fields": [{"where": where, "message": message} for where, message in self.fields],
                "request": request,
            }
        }

    def headers(self) -> Mapping[str, str]:
        """Return the headers that belong to the status."""
        if self.code == "ambiguous_length":
            return {"Connection": "close"}  # the following bytes may be the rest of the body
        if self.status == 503:
            return {"Retry-After": str(RETRY_SECONDS)}
        return {"WWW-Authenticate": "Bearer"} if self.status == 401 else {}


def internal() -> RefusedError:
    """Return the refusal for an error of the service, without details."""
    return RefusedError(
        500, "This is an error in the service, not in the request", "", "Report it with its request id"
    )


def of_status(status: int) -> RefusedError:
    """Return the refusal for a status of the framework, in words."""
    phrase = HTTPStatus(status).phrase if status in list(HTTPStatus) else "Refused"
    known = {
        404: ("There is nothing at this address", "The addresses of /openapi.json", ""),
        405: ("This address does not support the method", "The methods in the header Allow", ""),
        400: ("The body cannot be read", "JSON in UTF-8", ""),
    }
    return RefusedError(status, *known.get(status, (phrase, "", "")))


def overloaded(given: str) -> RefusedError:
    """Return the refusal of a service with too much work."""
    return RefusedError(503, given, "", "Repeat it after the seconds in Retry-After", code="overloaded")


def timeout() -> RefusedError:
    """Return the refusal for a request that exceeded its time limit, before or during its work."""
    return RefusedError(
        503,
        "The request exceeded its time limit; nothing was changed",
        "",
        "Repeat it, or ask for less: more overlap, fewer hits, more words, fewer documents",
        code="timeout",
    )


def stopping() -> RefusedError:
    """Return the refusal of a service that accepts no more requests."""
    return RefusedError(503, "The service is stopping", "", "Repeat it when the service runs", code="stopping")
