"""The one error body, and which status goes with which error."""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus
from pathlib import Path
from typing import Any

from neardup.errors import FormatError, InputError, LimitError, NeardupError, OutputError, QueryError, SettingError

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
"""The code of a status where nothing says more."""

RETRY_SECONDS = 1


class RefusedError(Exception):
    """An answer that is an error: its status, a code for programs, and what people need to mend it."""

    def __init__(
        self,
        status: int,
        message: str,
        allowed: str = "",
        todo: str = "",
        *,
        code: str = "",
        position: int | None = None,
        fields: tuple[tuple[str, str], ...] = (),
    ) -> None:
        super().__init__(message)
        self.status, self.code = status, code or CODES.get(status, "bad_request")
        self.message, self.allowed, self.todo = message, allowed, todo
        self.position, self.fields = position, fields

    def body(self, request: str) -> dict[str, Any]:
        """The error body; every key is always there."""
        return {
            "error": {
                "code": self.code,
                "message": self.message,
                "allowed": self.allowed,
                "todo": self.todo,
                "position": self.position,
                "fields": [{"where": where, "message": message} for where, message in self.fields],
                "request": request,
            }
        }

    def headers(self) -> Mapping[str, str]:
        """What the status asks for."""
        if self.code == "ambiguous_length":
            return {"Connection": "close"}  # what follows may be the rest of the body
        if self.status == 503:
            return {"Retry-After": str(RETRY_SECONDS)}
        return {"WWW-Authenticate": "Bearer"} if self.status == 401 else {}


def refusal_of(error: NeardupError, path: Path) -> RefusedError:
    """An error of the library as an answer; where the collection lies is nobody's business."""
    given, allowed, todo = (
        part.replace(str(path), "the collection") for part in (error.given, error.allowed, error.do)
    )
    if isinstance(error, QueryError):
        place = error.position if error.query else None
        # the body has the place as a number, so the picture of it is left out
        given = given.partition(f" (character {error.position + 1}):\n")[0]
        return RefusedError(400, given, allowed, todo, code="query", position=place)
    if of_the_file(error):
        return RefusedError(503, given, allowed, todo)
    if isinstance(error, LimitError):
        return RefusedError(503, given, allowed, todo, code="timeout")
    if isinstance(error, OutputError):
        return RefusedError(503, given, allowed, todo, code="unwritable")
    if isinstance(error, SettingError | InputError):
        return RefusedError(400, given, allowed, todo)
    if isinstance(error, FormatError):
        return RefusedError(500, "The collection is damaged", "", "Restore it from a copy", code="damaged")
    return internal()


def of_the_file(error: NeardupError) -> bool:
    """Whether it says that the file cannot be opened, or is closed: no mistake of who asks, though an InputError.

    The store tells so from what SQLite said, which it keeps as the cause; its module is the store's alone.
    """
    return isinstance(error, InputError) and type(error.__cause__).__name__ in (
        "OperationalError",
        "ProgrammingError",
    )


def gone() -> RefusedError:
    """The file was moved or removed, or another one put in its place: what was written to it would be lost."""
    return RefusedError(
        503,
        "The file of the collection is not at its place any more",
        "Nothing was changed",
        "Put it back with its -wal file, or start the service again",
    )


def internal() -> RefusedError:
    """A mistake of ours, of which nothing is told but that it was one."""
    return RefusedError(
        500, "This is a mistake in the service, not in the request", "", "Report it with its request id"
    )


def of_status(status: int) -> RefusedError:
    """What the framework refuses, in words."""
    phrase = HTTPStatus(status).phrase if status in list(HTTPStatus) else "Refused"
    known = {
        404: ("There is nothing at this address", "The addresses of /openapi.json", ""),
        405: ("This method is not possible here", "The methods in the header Allow", ""),
        400: ("The body cannot be read", "JSON in UTF-8", ""),
    }
    return RefusedError(status, *known.get(status, (phrase, "", "")))


def overloaded(what: str) -> RefusedError:
    """There is more to do than the service takes on."""
    return RefusedError(503, what, "", "Try again after the seconds in the header Retry-After", code="overloaded")


def timeout() -> RefusedError:
    """The time of a request is over before it was begun, or while it was worked on."""
    return RefusedError(
        503,
        "The request took longer than it may; nothing was changed",
        "",
        "Try again, or ask for less: more overlap, fewer hits, more words, fewer documents",
        code="timeout",
    )


def stopping() -> RefusedError:
    """The service takes no more requests."""
    return RefusedError(503, "The service is being stopped", "", "Try again when it runs", code="stopping")


__all__ = [
    "CODES",
    "RefusedError",
    "gone",
    "internal",
    "of_status",
    "of_the_file",
    "overloaded",
    "refusal_of",
    "stopping",
    "timeout",
]
