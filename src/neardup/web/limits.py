"""The limits of requests: one record, checked when the service starts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from neardup.errors import SettingError

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
