"""The limits of one request, checked when the service starts, and of all requests together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import Any, TypeAlias

from neardup.errors import SettingError
from neardup.web.refusals import overloaded

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
    def of(cls, **given: float) -> Limits:
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
            raise overloaded(self._given.format(""))
        if client is not None and self._taken[client] + units > self._share:
            raise overloaded(self._given.format(" with this token"))

    def take(self, units: int = 1, client: Client = None) -> None:
        """Take units. Raises RefusedError if too few are free."""
        self.require(units, client)
        self.give_back(-units, client)

    def give_back(self, units: int = 1, client: Client = None) -> None:
        """Free units."""
        self._taken[client] -= units
        self._observe(self.taken)
