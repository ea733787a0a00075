"""Files of servers on the web: their state, their parts and the whole, by the session that fsspec opens."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from email.utils import parsedate_to_datetime
from typing import Any

from neardup.io.storage.answers import (
    AnswerError,
    SilentError,
    Wait,
    WrongAnswerError,
    facts_in,
    patience,
    retry_after,
)
from neardup.io.storage.pins import ChangedObjectError, Pin

_CONNECT_SECONDS = 10.0
_REDIRECTS = 10
_PIECE_BYTES = 1 << 20
_ERROR_BYTES = 4 << 10
"""The most bytes of the body of an error that are read."""
_RANGE = re.compile(r"bytes (\d+)-(\d+)/(\d+|\*)")


class WebObject:
    """A file of a server, asked by HTTP; ``address`` is where redirects led.

    Every answer must be of the pinned version: ``If-Match`` asks for it, and the headers of the answer are
    compared, since many servers ignore such questions.
    """

    def __init__(self, system: Any, path: str) -> None:
        self._system, self._url = system, path
        self.address = path
        self._sent: Any = None  # an answer with the whole file to a question for a part

    def look(self) -> tuple[Pin, bool]:
        """Return the present pin, and whether it tells versions apart."""
        seen: tuple[Pin, bool] = self._run(self._look)
        return seen

    def part(self, start: int, stop: int, pin: Pin) -> bytes | None:
        """Return the bytes of a part; None if the server sends no parts of a version that can be told apart.

        Raises ChangedObjectError, and WrongAnswerError for other bytes than those asked for.
        """
        data: bytes | None = self._run(self._part, start, stop, pin)
        return data

    def whole(self, pin: Pin) -> Iterator[bytes]:
        """Yield the whole file piece by piece, of one answer. Raises ChangedObjectError."""
        response, self._sent = self._sent or self._run(self._begin_download, pin), None
        taken = 0
        try:
            while data := self._run(self._piece, response):
                taken += len(data)
                yield data
            size = _length_of(response)
            if size is None and pin.size is not None and not _encoding_of(response) and taken < pin.size:
                raise OSError(f"the connection ended after {taken:,} of {pin.size:,} bytes")
        finally:
            self._run(_close_response, response)

    def _run(self, work: Any, *given: Any) -> Any:
        from fsspec.asyn import sync

        limit = patience()
        with Wait(self._url, limit) as wait, _failures(limit):
            return sync(self._system.loop, work, *given, *([wait] if work == self._part else []))

    async def _ask(self, method: str, headers: dict[str, str]) -> Any:
        import aiohttp

        session = await self._system.set_session()
        given = dict(self._system.kwargs)
        headers = {**(given.pop("headers", None) or {}), "Accept-Encoding": "identity", **headers}
        limit = patience()
        times = aiohttp.ClientTimeout(total=None, sock_connect=min(limit, _CONNECT_SECONDS), sock_read=limit)
        response = await session.request(
            method,
            self._system.encode_url(self._url),
            **{"allow_redirects": True, "max_redirects": _REDIRECTS, **given},
            headers=headers,
            timeout=times,
        )
        self.address = str(response.url)
        return response

    async def _look(self) -> tuple[Pin, bool]:
        response = await self._ask("HEAD", {})
        size = _length_of(response)
        if response.status < 400 and size and not _encoding_of(response):
            response.release()
            return _pin_and_parts(response, size)
        # a server may refuse HEAD, as one of signed URLs does, or not know the length
        response.release()
        response = await self._ask("GET", {"Range": "bytes=0-0"})
        try:
            if response.status == 416:  # an empty file
                return _pin_and_parts(response, 0)
            await _require(response)
            if response.status == 206 and not _encoding_of(response):
                total = (_range_of(response) or ("", "", "*"))[2]
                return _pin_and_parts(response, None if total == "*" else int(total))
            self._sent = response if response.status == 200 else None
            return _pin_and_parts(response, None if _encoding_of(response) else _length_of(response))
        finally:
            if response is not self._sent:
                response.close()

    async def _part(self, start: int, stop: int, pin: Pin, wait: Wait) -> bytes | None:
        response, length = await self._ask("GET", {"Range": f"bytes={start}-{stop - 1}", **_conditions(pin)}), 0
        try:
            if response.status in (404, 410, 412, 416):
                raise ChangedObjectError(await self._seen_now())
            await _require(response)
            named = _range_of(response)
            seen = _pin_of(response, None if named is None or named[2] == "*" else int(named[2]))
            if response.status == 206 and named and int(named[0]) != start:
                raise WrongAnswerError(_lie(response, start, stop))
            if not pin.is_of(seen):
                raise ChangedObjectError(seen)
            if response.status == 200:
                self._sent = response
            if response.status != 206 or _encoding_of(response) or not pin.proves(seen):
                return None
            if named is None or int(named[1]) != stop - 1:
                raise WrongAnswerError(_lie(response, start, stop))
            parts = []
            while data := await response.content.read(_PIECE_BYTES):
                wait.heard()
                parts.append(data)
                length += len(data)
            if length != stop - start:
                raise OSError(f"the connection ended after {length:,} of {stop - start:,} bytes")
            return b"".join(parts)
        finally:
            if response is not self._sent:
                response.close() if length < stop - start else response.release()

    async def _begin_download(self, pin: Pin) -> Any:
        response = await self._ask("GET", _conditions(pin))
        try:
            if response.status == 412:
                raise ChangedObjectError(await self._seen_now())
            await _require(response)
            size = None if _encoding_of(response) else _length_of(response)
            seen = _pin_of(response, size)
            known = pin if pin.etag or pin.version or pin.modified else Pin()
            if not known.is_of(seen):
                raise ChangedObjectError(seen)
        except BaseException:
            response.close()
            raise
        return response

    async def _seen_now(self) -> Pin | None:
        try:
            return (await self._look())[0]
        except AnswerError as error:
            if error.status in (404, 410):
                return None
            raise

    async def _piece(self, response: Any) -> bytes:
        data: bytes = await response.content.read(_PIECE_BYTES)
        return data


async def _close_response(response: Any) -> None:
    response.close()


def _conditions(pin: Pin) -> dict[str, str]:
    return {"If-Match": pin.strong_etag} if pin.strong_etag else {}


async def _require(response: Any) -> None:
    """Raise AnswerError for an answer that is an error."""
    if response.status >= 400:
        body = (await response.content.read(_ERROR_BYTES)).decode("utf-8", "replace")
        words = facts_in(body, response.headers.get("Content-Type", ""))
        raise AnswerError(response.status, words, retry_after(response.headers))


@contextmanager
def _failures(limit: float) -> Iterator[None]:
    """Raise the failures of the client as those that ``asked`` knows."""
    import aiohttp
    from fsspec.exceptions import FSTimeoutError

    try:
        yield
    except aiohttp.TooManyRedirects as error:
        raise AnswerError(int(error.history[-1].status), f"{_REDIRECTS} redirects, one after another") from error
    except aiohttp.NonHttpUrlClientError as error:
        raise WrongAnswerError("the server redirects to an address that is not one of HTTP") from error
    except (aiohttp.ServerTimeoutError, FSTimeoutError) as error:
        raise SilentError(f"no byte for {limit:g} seconds") from error


def _length_of(response: Any) -> int | None:
    length = response.headers.get("Content-Length", "")
    return int(length) if length.isascii() and length.isdigit() else None


def _encoding_of(response: Any) -> str | None:
    """The encoding that the client takes off, so that lengths and ranges are those of other bytes."""
    encoding: str = response.headers.get("Content-Encoding", "").strip().lower()
    return None if encoding in ("", "identity") else encoding


def _pin_of(response: Any, size: int | None) -> Pin:
    names = {"ETag": "etag", "Last-Modified": "modified", "x-amz-version-id": "version_id"}
    names["x-goog-generation"] = "generation"
    return Pin.of({known: response.headers.get(name) for name, known in names.items()}, size)


def _pin_and_parts(response: Any, size: int | None) -> tuple[Pin, bool]:
    """The pin of an answer, and whether parts can be asked for: weak tags and new times do not tell versions."""
    pin = _pin_of(response, size)
    try:  # RFC 9110, 8.8.2.2: a time is a strong validator once it is past, by the clock of the server
        date, last = (parsedate_to_datetime(response.headers[name]) for name in ("Date", "Last-Modified"))
        old = (date - last).total_seconds() >= 1
    except (KeyError, ValueError, TypeError):
        old = False
    parts = response.headers.get("Accept-Ranges", "").strip().lower() != "none"
    return pin, parts and size is not None and bool(pin.strong_etag or pin.version or old)


def _range_of(response: Any) -> tuple[str, str, str] | None:
    named = _RANGE.fullmatch(response.headers.get("Content-Range", "").strip())
    return None if named is None else (named[1], named[2], named[3])


def _lie(response: Any, start: int, stop: int) -> str:
    named = response.headers.get("Content-Range")
    sent = f"Content-Range: {named}" if named else "no Content-Range"
    return f"bytes {start}-{stop - 1} were asked for, and the server sent others ({sent}); fetch the file first"
