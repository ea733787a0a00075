"""An answer as the client receives it: whole, within a time and a size, whatever the server does."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from neardup.display import counted
from neardup.errors import LimitError, NetworkError
from neardup.runtime import Deadline

if TYPE_CHECKING:
    import httpx


@dataclass(frozen=True)
class Answered:
    """The status, the headers and the JSON of an answer; ``data`` is None for anything else than JSON."""

    status: int
    headers: Mapping[str, str]
    data: Any


class WholeTime:
    """Makes the time limit of a request hold for all of it: that of httpx holds for each read and write anew."""

    def __init__(self, late: Callable[[], Exception]) -> None:
        self._here, self._late = threading.local(), late

    @contextmanager
    def limited(self, deadline: Deadline) -> Iterator[dict[str, Any]]:
        """Limit the request of this thread; the value is for its ``extensions``."""
        self._here.deadline = deadline
        try:
            yield {"trace": self._trace}
        finally:
            self._here.deadline = None

    def _trace(self, event: str, info: Mapping[str, Any]) -> None:
        """Limit a connection as soon as it is made; it serves one request at a time, each with its own limit."""
        stream: Any = info.get("return_value")
        if event.endswith(".complete") and hasattr(stream, "get_extra_info") and hasattr(stream, "read"):
            stream.read, stream.write = self._within(stream.read), self._within(stream.write)

    def _within(self, call: Callable[..., Any]) -> Callable[..., Any]:
        def within(data: Any, timeout: float | None = None) -> Any:
            deadline: Deadline | None = getattr(self._here, "deadline", None)
            if deadline is None:
                return call(data, timeout)
            if deadline.passed:  # a server may send without end, and no read waits
                raise self._late()
            return call(data, deadline.left if timeout is None else min(timeout, deadline.left))

        return within


def answered(response: httpx.Response, largest: int, deadline: Deadline, url: str) -> Answered:
    """Read an answer. Raises NetworkError for more than ``largest`` bytes, and the error of the deadline."""
    if response.headers.get("content-encoding", "identity") != "identity":  # a few bytes may unpack to any size
        raise NetworkError(
            f"{url} answered with compressed data, which was not asked for", "", "Check that it is neardup serve"
        )
    parts, size = [], 0
    for part in response.iter_bytes():
        deadline.check()
        size += len(part)
        if size > largest:
            raise NetworkError(
                f"The answer of {url} is too large",
                f"At most {counted(largest, 'byte')}",
                "Ask for less, or give a larger largest",
            )
        parts.append(part)
    try:
        data = json.loads(b"".join(parts))
    except (ValueError, RecursionError):
        data = None
    return Answered(response.status_code, response.headers, data)


def late(url: str, seconds: float) -> LimitError:
    """Return the error for an answer that is not whole in time."""
    return LimitError(
        f"The service at {url} did not answer within {seconds:g} seconds",
        "",
        "Give a longer timeout, or ask for less; a change may have been made",
    )
