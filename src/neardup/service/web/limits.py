"""The limits of one request and of all together, the status of each error, and the body of a refusal."""

import re
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from http import HTTPStatus
from typing import Any, TypeAlias

from neardup.errors import SettingError, message_of

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


def internal_error() -> RefusedError:
    """Return the refusal for an error of the service, without details."""
    return RefusedError(
        500, "This is an error in the service, not in the request", "", "Report it with its request id"
    )


def status_error(status: int) -> RefusedError:
    """Return the refusal for a status of the framework, in words."""
    phrase = HTTPStatus(status).phrase if status in list(HTTPStatus) else "Refused"
    known = {
        404: ("There is nothing at this address", "The addresses of /openapi.json", ""),
        405: ("This address does not support the method", "The methods in the header Allow", ""),
        400: ("The body cannot be read", "JSON in UTF-8", ""),
    }
    return RefusedError(status, *known.get(status, (phrase, "", "")))


def overloaded_error(given: str) -> RefusedError:
    """Return the refusal of a service with too much work."""
    return RefusedError(503, given, "", "Repeat it after the seconds in Retry-After", code="overloaded")


def timeout_error() -> RefusedError:
    """Return the refusal for a request that exceeded its time limit, before or during its work."""
    return RefusedError(
        503,
        "The request exceeded its time limit; nothing was changed",
        "",
        "Repeat it, or ask for less: more overlap, fewer hits, more words, fewer documents",
        code="timeout",
    )


def stopping_error() -> RefusedError:
    """Return the refusal of a service that accepts no more requests."""
    return RefusedError(503, "The service is stopping", "", "Repeat it when the service runs", code="stopping")


MEGABYTE = 1_000_000
READING_SECONDS = 60.0
"""Seconds within which a body must arrive, and a client must read each piece of a response."""
GRACE_SECONDS = 5.0
"""Seconds at the start of a body without a least rate."""
LEAST_RATE = 20_000
"""Bytes per second that a body must reach after that, on average."""
BODIES = 4
"""Bodies of the largest size that all requests together may hold."""
CONNECTIONS = 1000
"""Open connections at a time."""


@dataclass(frozen=True)
class Limits:
    """The limits of a request; create one with :meth:`of`, which checks the values.

    ``largest_body``: megabytes of a body. ``most_hits``: hits on a page. ``most_candidates``: documents that a
    search compares. ``seconds``: time limit of a request. ``requests``: concurrent requests. ``threads``: threads
    that read. ``stop_seconds``: time to finish pending requests when the service stops.

    >>> Limits.of(seconds=2).seconds
    2.0
    """

    largest_body: float = 64.0
    most_hits: int = 1000
    most_candidates: int = 100_000
    seconds: float = 10.0
    requests: int = 200
    threads: int = 2
    stop_seconds: float = 30.0

    @classmethod
    def of(cls, **given: float) -> "Limits":
        """Return limits with the given values. Raises SettingError for a value that is not allowed."""
        kinds: Mapping[str, Any] = {field.name: type(field.default) for field in fields(cls)}
        for name, value in given.items():
            least, most = ALLOWED[name]
            if (
                isinstance(value, bool)
                or not least <= value <= most
                or (kinds[name] is int and value != int(value))
            ):
                kind = "A whole number" if kinds[name] is int else "A number"
                raise SettingError(
                    f"--{name.replace('_', '-')} is {value:g}", f"{kind} from {least:,g} to {most:,g}"
                )
        return cls(**{name: kinds[name](value) for name, value in given.items()})

    @property
    def body_bytes(self) -> int:
        """The largest number of bytes of a body."""
        return int(self.largest_body * MEGABYTE)


ALLOWED: dict[str, tuple[float, float]] = {
    "largest_body": (0.001, 2000),
    "most_hits": (1, 1000),
    "most_candidates": (1, 1_000_000_000),
    "seconds": (0.01, 3600),
    "requests": (1, 10_000),
    "threads": (1, 64),
    "stop_seconds": (0, 3600),
}
"""The smallest and the largest value of each limit."""
Client: TypeAlias = int | None
"""The index of the client's token in the token file, or None if clients are not distinguished."""
_SHARE = 3, 4


class Quota:
    """``most`` units, such as requests or bytes; each of several clients takes at most three quarters.

    ``observe`` receives the number of taken units. ``given`` is the message of a refusal, with ``{}``
    for the words about one client.

    >>> quota = Quota(10, "Too many requests{} are under way", lambda taken: None)
    >>> quota.take(7)
    >>> quota.give_back(2)
    >>> quota.taken
    5
    """

    def __init__(self, most: int, given: str, observe: Callable[[int], None], clients: int = 0) -> None:
        self._most, self._given, self._observe = most, given, observe
        self._share = most if clients < 2 else -(-most * _SHARE[0] // _SHARE[1])
        self._taken: Counter[Client] = Counter()

    @property
    def taken(self) -> int:
        """The number of taken units."""
        return self._taken.total()

    def require(self, units: int = 1, client: Client = None) -> None:
        """Raise RefusedError if too few units are free for this client."""
        if self.taken + units > self._most:
            raise overloaded_error(self._given.format(""))
        if client is not None and self._taken[client] + units > self._share:
            raise overloaded_error(self._given.format(" with this token"))

    def take(self, units: int = 1, client: Client = None) -> None:
        """Take units. Raises RefusedError if too few are free."""
        self.require(units, client)
        self.give_back(-units, client)

    def give_back(self, units: int = 1, client: Client = None) -> None:
        """Free units."""
        self._taken[client] -= units
        self._observe(self.taken)


_TOKEN = re.compile(r"[A-Za-z0-9._~+/-]+=*")  # b64token of RFC 6750, section 2.1


def usable_token(token: object) -> bool:
    """Return whether a value has the form of a token, which a header can hold. The client asks this, too."""
    return isinstance(token, str) and _TOKEN.fullmatch(token) is not None
