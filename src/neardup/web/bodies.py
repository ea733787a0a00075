"""The body of a request: read whole, within a size, a time and a rate, and given to the application once."""

from __future__ import annotations

import asyncio

from starlette.datastructures import Headers
from starlette.types import Message, Receive

from neardup.web.limits import GRACE_SECONDS, LEAST_RATE, READING_SECONDS
from neardup.web.quotas import Quota
from neardup.web.refusals import RefusedError

LINGER_BYTES, LINGER_SECONDS = 1 << 20, 2.0
"""Limits for the rest of a refused body: a client may read the answer only after it has sent everything."""


class ClientGoneError(Exception):
    """The client has closed the connection; an answer would reach nobody."""


class Body:
    """The body of one request. It occupies ``size`` bytes of ``quota`` until ``close``."""

    def __init__(self, quota: Quota, headers: Headers, receive: Receive) -> None:
        self._quota, self._receive = quota, receive
        self._length = headers.get("content-length", "")
        self._declared = "transfer-encoding" in headers or self._length not in ("", "0")
        self._pieces: list[bytes] = []
        self._complete = self._given = False
        self.size = 0

    @property
    def unread(self) -> bool:
        """Whether a part of the body has not arrived."""
        return self._declared and not self._complete

    async def read(self, most: int) -> None:
        """Read the whole body.

        It must arrive within ``READING_SECONDS``, and after ``GRACE_SECONDS`` at ``LEAST_RATE`` on average. Raises
        RefusedError (413, 408, 503), ClientGoneError.
        """
        if self._length.isascii() and self._length.isdigit() and int(self._length) > most:
            raise _too_large(most)
        begun = asyncio.get_running_loop().time()
        try:
            async with asyncio.timeout(None) as clock:
                while not self._complete:
                    clock.reschedule(begun + min(READING_SECONDS, GRACE_SECONDS + self.size / LEAST_RATE))
                    piece = await self._next()
                    if self.size + len(piece) > most:
                        raise _too_large(most)
                    self._quota.take(len(piece))
                    self.size += len(piece)
                    self._pieces.append(piece)
        except TimeoutError:
            rate = f"after {GRACE_SECONDS:g} seconds at least {LEAST_RATE:,} bytes a second"
            allowed = f"The whole body within {READING_SECONDS:g} seconds, and {rate}"
            raise RefusedError(408, "The body did not arrive in time", allowed) from None

    async def again(self) -> Message:
        """Return the body as one message, and then none: ``until_gone`` notices a lost client."""
        if self._given:
            await asyncio.Event().wait()
        self._given, content = True, b"".join(self._pieces)
        self._pieces.clear()
        return {"type": "http.request", "body": content, "more_body": False}

    async def until_gone(self) -> None:
        """Return when the client closes the connection, or has its answer."""
        while (await self._receive())["type"] != "http.disconnect":
            pass

    async def linger(self) -> None:
        """Drop some of the rest of a refused body."""
        dropped = 0
        try:
            async with asyncio.timeout(LINGER_SECONDS):
                while self.unread and dropped < LINGER_BYTES:
                    dropped += len(await self._next())
        except (TimeoutError, ClientGoneError):
            pass

    def close(self) -> None:
        """Drop the content, and free its bytes."""
        self._quota.give_back(self.size)
        self._pieces.clear()
        self.size = 0

    async def _next(self) -> bytes:
        message = await self._receive()
        if message["type"] != "http.request":
            raise ClientGoneError
        self._complete = not message.get("more_body", False)
        return bytes(message.get("body", b""))


def _too_large(most: int) -> RefusedError:
    return RefusedError(
        413,
        "The body is too large",
        f"At most {most:,} bytes",
        "Send less at a time, or, for documents, start the service with a larger --largest-body",
    )


__all__ = ["Body", "ClientGoneError"]
