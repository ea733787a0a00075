"""How much a request may ask for: one record, checked when the service starts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from neardup.errors import SettingError

MEGABYTE = 1_000_000

READING_SECONDS = 60.0
"""A body must have arrived within so many seconds, and a piece of a response must have been taken."""
GRACE_SECONDS = 5.0
"""A body may begin as slowly as it likes for so long."""
LEAST_RATE = 20_000
"""Bytes a second that it must have come with after that, on the whole."""
BODIES = 4
"""Bodies of the largest size that are held at a time, over all requests."""
CONNECTIONS = 1000
"""Connections at a time."""
COMPARED_BYTES = 4 * MEGABYTE
"""Characters of both texts of a comparison: the steps of its matching are work that no clock interrupts."""
BATCH = 1000
"""Documents in one request."""

_DOCUMENTS = "/v1/documents"
_TEXTS = frozenset({"/v1/search", "/v1/explain", "/v1/why-not", "/v1/near"})
_TEXT_BYTES = 13 * MEGABYTE
"""A million characters, all of them escaped, and the rest of the question."""
_OTHER_BYTES = MEGABYTE // 2


@dataclass(frozen=True)
class Limits:
    """What a request may take; make one with :meth:`of`, which checks it.

    ``largest_body``: megabytes of a body. ``most_hits``: hits on a page. ``most_candidates``: documents that are
    compared for a search. ``seconds``: time for the work of a request. ``requests``: requests under way.
    ``threads``: threads that read. ``stop_seconds``: time to finish what is under way when the service is stopped.

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
        """Limits with the given ones set. Raises SettingError for what is not allowed."""
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
        """Bytes of a body at most."""
        return int(self.largest_body * MEGABYTE)

    def body_bytes_of(self, path: str) -> int:
        """Bytes of a body at most that is sent to an address."""
        if path == _DOCUMENTS or path.startswith(f"{_DOCUMENTS}/"):
            return self.body_bytes
        return min(self.body_bytes, _TEXT_BYTES if path in _TEXTS else _OTHER_BYTES)


ALLOWED: dict[str, tuple[float, float]] = {
    "largest_body": (0.001, 2000),
    "most_hits": (1, 1000),
    "most_candidates": (1, 1_000_000_000),
    "seconds": (0.01, 3600),
    "requests": (1, 10_000),
    "threads": (1, 64),
    "stop_seconds": (0, 3600),
}
"""The least and the greatest value of every limit."""
