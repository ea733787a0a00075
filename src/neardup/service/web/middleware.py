"""The outermost layer of every server: each request is checked, read whole, answered, counted and logged.

Bearer tokens have the right to read or to write, and are kept as hashes.
"""

import asyncio
import hashlib
import hmac
import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from ipaddress import ip_address
from pathlib import Path
from socket import gaierror, getaddrinfo
from time import perf_counter
from typing import Any, ClassVar, Literal, NamedTuple, Protocol, TypeAlias
from urllib.parse import unquote_to_bytes
from uuid import uuid4

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from neardup.errors import InputError, SettingError
from neardup.io.files import beginning_and_mode
from neardup.io.outputs import exposure_warning
from neardup.service.web import monitoring
from neardup.service.web.limits import (
    GRACE_SECONDS,
    LEAST_RATE,
    READING_SECONDS,
    Client,
    Limits,
    Quota,
    RefusedError,
    internal_error,
    usable_token,
)
from neardup.service.web.monitoring import METHODS, Metrics

Right: TypeAlias = Literal["read", "write"]

SHORTEST = 16
_LONGEST_FILE = 1_000_000
LONGEST_NAME = 100
"""Characters of the name of a token."""
_FORM = (
    f"Lines of 'read TOKEN [NAME]' or 'write TOKEN [NAME]'; a token has {SHORTEST} or more of "
    f"A-Z a-z 0-9 . _ ~ + / - =, a name at most {LONGEST_NAME} characters, in shorter words than a token"
)


class KnownToken(NamedTuple):
    """A token of the file: its right, its hash, and the name of its owner, or ""."""

    right: Right
    hash: bytes
    name: str


@dataclass(frozen=True, repr=False)
class Tokens:
    """The tokens of each right, as hashes. Without tokens every request may read and write.

    >>> tokens = Tokens.of("read 0123456789abcdef Ann Lee # the office")
    >>> tokens.allow("read", "0123456789abcdef"), tokens.allow("write", "0123456789abcdef")
    (True, False)
    >>> tokens.known[0].name
    'Ann Lee'
    """

    known: tuple[KnownToken, ...] = ()

    @classmethod
    def of(cls, text: str, where: str = "the token file") -> "Tokens":
        """Return the tokens of a file. Raises InputError, without naming a token, for invalid lines."""
        found: list[KnownToken] = []
        for number, line in enumerate(text.splitlines(), 1):
            right, *rest = line.partition("#")[0].split() or [""]
            if not right:
                continue
            token, name = rest[0] if rest else "", " ".join(rest[1:])
            if right not in ("read", "write") or not _has_form(token) or not _is_name(name):
                raise InputError(f"Line {number} of {where} cannot be read", _FORM)
            if name and name in (one.name for one in found):
                raise InputError(
                    f"Line {number} of {where} has the name of an earlier line",
                    "One token for each name",
                    "Give the tokens of a person different names",
                )
            found.append(KnownToken("read" if right == "read" else "write", _hash(token), name))
        if not found:
            raise InputError(f"{where} contains no token", _FORM)
        return cls(tuple(found))

    def __bool__(self) -> bool:
        return bool(self.known)

    def knows(self, token: str) -> bool:
        """Whether ``token`` is one of the tokens, with any right."""
        return self.allow("read", token)

    def place(self, token: str) -> int:
        """Return the index of the token, from 0; -1 if it is unknown. Takes the same time for every token."""
        given, found = _hash(token), -1
        for k, one in enumerate(self.known):
            found = k if hmac.compare_digest(given, one.hash) else found
        return found

    def allow(self, right: Right, token: str) -> bool:
        """Whether a token has a right; write includes read. Takes the same time for every token."""
        given, allowed = _hash(token), False
        for one in self.known:
            fits = one.right in (right, "write")
            allowed |= hmac.compare_digest(given, one.hash) and fits
        return allowed

    def person(self, token: str, named: str) -> str:
        """Return the name in the history of whoever enters with a known token, and gives the name ``named``.

        A name of the file is that of one token alone. Any other name is followed by the beginning of the hash of
        the token, so that nobody has the name of another token.
        """
        one = self.known[self.place(token)]
        return one.name or f"{named or 'somebody'} (token {one.hash[:_SHOWN_BYTES].hex()})"


_SHOWN_BYTES = 3
"""Bytes of the hash of a token in the history: they tell the tokens of a file apart, and reveal none."""


def _has_form(token: str) -> bool:
    return len(token) >= SHORTEST and usable_token(token)


def _is_name(name: str) -> bool:
    # a second token on the line must not be shown in the history as a name
    return len(name) <= LONGEST_NAME and name.isprintable() and not any(map(_has_form, name.split()))


def read_tokens(path: Path) -> tuple[Tokens, str]:
    """Return the tokens of a file, and a warning if other users may read it, else ""."""
    text, warning = _text(path)
    return Tokens.of(text, str(path)), warning


def first_token(path: Path) -> tuple[str, str]:
    """Return the first token of a token file, to send it, and a warning if other users may read the file."""
    text, warning = _text(path)
    Tokens.of(text, str(path))
    lines = (line.partition("#")[0].split() for line in text.splitlines())
    return next(line[1] for line in lines if line), warning


def _text(path: Path) -> tuple[str, str]:
    try:
        content, mode = beginning_and_mode(path, _LONGEST_FILE + 1)
    except OSError as error:
        raise InputError(f"The token file {path} cannot be read: {error.strerror}", _FORM) from error
    if len(content) > _LONGEST_FILE:
        raise InputError(f"The token file {path} has more than {_LONGEST_FILE:,} bytes", _FORM)
    return content.decode("utf-8", "replace"), exposure_warning(path, mode)


def require_tokens(host: str, tokens: Tokens) -> bool:
    """Whether ``host`` is this machine only. Raises SettingError if it is not and no tokens are given."""
    try:
        addresses = {str(found[4][0]) for found in getaddrinfo(host, None)}
    except (gaierror, UnicodeError) as error:
        raise SettingError(f"--host is {host!r}, which is not an address", "An address of this machine") from error
    local = all(ip_address(address.partition("%")[0]).is_loopback for address in addresses)
    if not local and not tokens:
        raise SettingError(
            f"--host is {host!r}, which other machines can reach, without a --token-file",
            "Access from other machines only with tokens",
            "Give a --token-file, or --host 127.0.0.1",
        )
    return local


def _hash(token: str) -> bytes:
    # tokens are long and random, so a slow hash would add nothing but time
    return hashlib.sha256(token.encode("utf-8", "surrogateescape")).digest()


CLIENT_GONE = 499
"""The logged status of a client that did not wait for its answer."""
SECURITY = {
    "X-Content-Type-Options": "nosniff",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
    "Cross-Origin-Resource-Policy": "same-origin",
}
"""Headers of every answer."""


class Rules(Protocol):
    """The demands of one server on requests, and its form of refusals."""

    headers: ClassVar[Mapping[str, str]]
    """Headers of every answer."""
    unlimited: frozenset[str]
    """Addresses without a limit on concurrent requests."""
    bodies: int
    """Bytes of the bodies of all requests together."""

    def client(self, scope: Scope, headers: Headers) -> Client:
        """Return who sends a request. Raises RefusedError if they may not."""

    def body_bytes(self, scope: Scope, headers: Headers) -> int | None:
        """Return the largest size of the body, None for a request without one. Raises RefusedError."""

    def answer_refusal(self, scope: Scope, refusal: RefusedError, request_id: str) -> ASGIApp:
        """Return the answer to a refused request."""


class Middleware:
    """An ASGI application that lets requests through to another one, and answers even if that raises.

    Without tokens, the server listens to this machine only, and answers only to the names of this machine.
    Otherwise a web page could reach it through a DNS name that points here.
    """

    def __init__(self, app: ASGIApp, rules: Rules, tokens: Tokens, limits: Limits, metrics: Metrics) -> None:
        self._app, self._rules, self._tokens, self._metrics = app, rules, tokens, metrics
        most, clients = limits.requests, len(tokens.known)
        self._bodies = Quota(rules.bodies, "Too many large requests are in progress", metrics.held.set)
        self._arriving = Quota(most, "Too many requests{} are arriving", metrics.arriving.set, clients)
        self._under_way = Quota(most, "Too many requests{} are under way", metrics.under_way.set, clients)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] != "http":
            return
        headers = Headers(scope=scope)
        body = Body(self._bodies, headers, receive)
        exchange = _Exchange(scope, body, send, self._rules.headers, request_id(headers))
        scope.setdefault("state", {})["request_id"] = exchange.id
        try:
            await self._check(exchange, headers)
        except RefusedError as refusal:
            await self._refuse(exchange, refusal)
        except ClientGoneError:
            exchange.status = CLIENT_GONE
        except asyncio.CancelledError:
            if not exchange.abandoned:
                raise
            exchange.status = CLIENT_GONE
        except Exception as error:
            monitoring.mistake(error, exchange.id)
            await self._refuse(exchange, internal_error())
        finally:
            bytes_in = body.size
            body.close()
            self._note(exchange, bytes_in)

    async def _check(self, exchange: "_Exchange", headers: Headers) -> None:
        """Check a request, read its body, and pass it on."""
        scope, body = exchange.scope, exchange.body
        require_one_meaning(headers)
        require_unicode(scope)
        if not self._tokens:
            require_own_name(headers)
        client = self._rules.client(scope, headers)
        if scope["path"] in self._rules.unlimited:
            await self._app(scope, body.again, exchange.answer)
            return
        self._under_way.require(1, client)
        most = self._rules.body_bytes(scope, headers)
        if most is not None:
            self._arriving.take(1, client)
            try:
                await body.read(most)
            finally:
                self._arriving.give_back(1, client)
        # only now: a slowly arriving body must not block other requests
        self._under_way.take(1, client)
        task: Any = asyncio.current_task()
        listening = asyncio.create_task(exchange.until_gone(task))
        try:
            await self._app(scope, body.again, exchange.answer)
        finally:
            listening.cancel()
            self._under_way.give_back(1, client)

    async def _refuse(self, exchange: "_Exchange", refusal: RefusedError) -> None:
        """Send an error, unless an answer has begun; that one just ends."""
        if not exchange.started:
            answer = self._rules.answer_refusal(exchange.scope, refusal, exchange.id)
            with suppress(ClientGoneError):
                await answer(exchange.scope, exchange.body.again, exchange.answer)

    def _note(self, exchange: "_Exchange", bytes_in: int) -> None:
        scope, seconds = exchange.scope, perf_counter() - exchange.begun
        # the template of the address, without ids; all unknown addresses share one
        known = scope["path"] if scope["path"] in self._rules.unlimited else None
        route = known or str(getattr(scope.get("route"), "path_format", "unmatched"))
        method = scope["method"] if scope["method"] in METHODS else "other"
        self._metrics.count_answer(method, route, exchange.status, seconds)
        monitoring.event(
            "request",
            request=exchange.id,
            method=method,
            route=route,
            status=exchange.status,
            ms=round(1000 * seconds, 3),
            bytes_in=bytes_in,
            bytes_out=exchange.sent,
        )


_PIECE = 64 << 10
"""Bytes of an answer that may wait in memory for a client that does not read: the buffer of the HTTP server."""


@dataclass(eq=False)
class _Exchange:
    """A request and what was sent for it."""

    scope: Scope
    body: "Body"
    send: Send
    headers: Mapping[str, str]
    id: str
    status: int = CLIENT_GONE
    sent: int = 0
    started: bool = False
    finished: bool = False
    abandoned: bool = False
    begun: float = field(default_factory=perf_counter)

    async def answer(self, message: Message) -> None:
        """Send a part of the answer; after a refused body, the connection closes."""
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in self.headers.items():
                headers.setdefault(name, value)  # a page has a policy of its own
            headers["X-Request-Id"] = self.id
            if self.body.unread:
                headers["Connection"] = "close"  # the following bytes are the rest of the body
            self.started, self.status = True, message["status"]
        elif not message.get("more_body", False) and (self.body.unread or len(message.get("body", b"")) > _PIECE):
            await self._in_time({**message, "more_body": True})
            if self.body.unread:
                await self.body.linger()
            # the end is sent when the client has read the rest: until then the answer is in memory
            message = {"type": "http.response.body"}
        self.finished = message["type"] == "http.response.body" and not message.get("more_body", False)
        await self._in_time(message)

    async def _in_time(self, message: Message) -> None:
        try:
            # a client that reads nothing must not keep its answer in memory for ever
            async with asyncio.timeout(READING_SECONDS):
                await self.send(message)
        except TimeoutError:
            raise ClientGoneError from None
        self.sent += len(message.get("body", b""))

    async def until_gone(self, task: asyncio.Task[Any]) -> None:
        """Cancel the request of a lost client, unless a thread has already begun its work."""
        await self.body.until_gone()
        if not self.finished:
            self.abandoned = True
            task.cancel()


# ids as proxies create them: the log must not contain words or ids of documents
_REQUEST_ID = re.compile(r"[0-9A-Fa-f-]{16,64}")
_OWN_HOST = re.compile(r"(localhost|127\.0\.0\.1|\[::1\])(:[0-9]{1,5})?", re.ASCII | re.IGNORECASE)
_OWN_ORIGIN = re.compile(rf"https?://{_OWN_HOST.pattern}", re.ASCII | re.IGNORECASE)
# matched as a whole: an address parser may ignore characters behind a bracket
_NO_BYTE = re.compile(rb"%(?![0-9A-Fa-f]{2})")


def request_id(headers: Headers) -> str:
    """Return the request id of a proxy if it is harmless, else a new one."""
    given = headers.get("x-request-id", "")
    return given if _REQUEST_ID.fullmatch(given) else uuid4().hex


def require_one_meaning(headers: Headers) -> None:
    """Raise RefusedError for headers of which a proxy may believe another one: two lengths, or two tokens."""
    if "transfer-encoding" in headers and "content-length" in headers:
        raise RefusedError(
            400,
            "The request has both Content-Length and Transfer-Encoding",
            "One of them",
            code="ambiguous_length",
        )
    if len(headers.getlist("authorization")) > 1:
        raise RefusedError(
            400, "The request has several Authorization headers", "One of them", code="ambiguous_token"
        )


def require_unicode(scope: Scope) -> None:
    """Raise RefusedError unless address and query string are UTF-8; otherwise an id could silently change."""
    whole = (scope.get("raw_path") or b"") + b"?" + scope.get("query_string", b"")
    if _NO_BYTE.search(whole):
        raise RefusedError(
            400,
            "A percent sign in the address is not followed by two hexadecimal digits",
            "%XX for a byte, %25 for the percent sign itself",
            code="encoding",
        )
    try:
        unquote_to_bytes(whole).decode("utf-8")
    except UnicodeDecodeError:
        raise RefusedError(400, "The address is not UTF-8", "Percent-encoded UTF-8", code="encoding") from None


def require_own_name(headers: Headers) -> None:
    """Raise RefusedError if a request names another host, or comes from a page of another host."""
    if not _OWN_HOST.fullmatch(headers.get("host", "")):
        raise RefusedError(
            421,
            "The service without tokens answers this machine only",
            "The host localhost, 127.0.0.1 or [::1]",
            "Start it with a --token-file to use another host name",
        )
    if not all(map(_OWN_ORIGIN.fullmatch, headers.getlist("origin"))):
        raise RefusedError(403, "A page of another site sent the request", "No foreign Origin")


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
            raise _too_large_error(most)
        begun = asyncio.get_running_loop().time()
        try:
            async with asyncio.timeout(None) as clock:
                while not self._complete:
                    clock.reschedule(begun + min(READING_SECONDS, GRACE_SECONDS + self.size / LEAST_RATE))
                    piece = await self._next()
                    if self.size + len(piece) > most:
                        raise _too_large_error(most)
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


def _too_large_error(most: int) -> RefusedError:
    return RefusedError(
        413,
        "The body is too large",
        f"At most {most:,} bytes",
        "Send less at a time, or, for documents, start the service with a larger --largest-body",
    )
