"""Reading request bodies, with a limit for each and a limit for all together."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from starlette.types import Message, Receive

from neardup.service.limits import GRACE_SECONDS, LEAST_RATE
from neardup.service.refusals import RefusedError, overloaded


class ClientGoneError(Exception):
    """The client has closed the connection; an answer would reach nobody."""


class Room:
    """A budget of ``size`` bytes for the bodies of all requests. ``observe`` receives the bytes in use."""

    def __init__(self, size: int, observe: Callable[[int], None]) -> None:
        self._size, self._observe, self.taken = size, observe, 0

    def take(self, size: int) -> None:
        """Take ``size`` bytes. Raises RefusedError if too few are free."""
        if self.taken + size > self._size:
            raise overloaded("Too many large requests are in progress")
        self.give_back(-size)

    def give_back(self, size: int) -> None:
        """Return ``size`` bytes."""
        self.taken -= size
        self._observe(self.taken)


class Body:
    """The body of one request. It occupies ``size`` bytes of ``room`` until ``close``."""

    def __init__(self, room: Room) -> None:
        self._room, self.size, self._content = room, 0, b""

    async def read(self, receive: Receive, declared: int | None, most: int, seconds: float) -> Receive:
        """Read the whole body, and return a callable from which an application reads it again.

        ``seconds`` limits the total time; after ``GRACE_SECONDS`` the body must arrive at ``LEAST_RATE`` on
        average. Raises RefusedError (413, 408, 503), ClientGoneError.
        """
        if declared is not None and declared > most:
            raise too_large(most)
        pieces: list[bytes] = []
        try:
            begun = asyncio.get_running_loop().time()
            async with asyncio.timeout(None) as clock:
                while True:
                    clock.reschedule(begun + min(seconds, GRACE_SECONDS + self.size / LEAST_RATE))
                    message = await receive()
                    if message["type"] != "http.request":
                        raise ClientGoneError
                    piece: bytes = message.get("body", b"")
                    if self.size + len(piece) > most:
                        raise too_large(most)
                    self._room.take(len(piece))
                    self.size += len(piece)
                    pieces.append(piece)
                    if not message.get("more_body", False):
                        break
        except TimeoutError:
            rate = f"after {GRACE_SECONDS:g} seconds at least {LEAST_RATE:,} bytes a second"
            allowed = f"The whole body within {seconds:g} seconds, and {rate}"
            raise RefusedError(408, "The body did not arrive in time", allowed) from None
        self._content = b"".join(pieces)
        return self._again(receive)

    def close(self) -> None:
        """Drop the content, and free its bytes."""
        self._room.give_back(self.size)
        self.size, self._content = 0, b""

    def _again(self, receive: Receive) -> Receive:
        given = False

        async def replay() -> Message:
            nonlocal given
            if given:
                return await receive()
            given = True
            content, self._content = self._content, b""
            return {"type": "http.request", "body": content, "more_body": False}

        return replay


def too_large(most: int) -> RefusedError:
    """Return the refusal of a body that is too large."""
    return RefusedError(
        413,
        "The body is too large",
        f"At most {most:,} bytes",
        "Send less at a time, or, for documents, start the service with a larger --largest-body",
    )
