"""Answers of servers that are no bytes: their meaning, further attempts, and the errors in words.

A request waits ``patience`` seconds for the next byte; a line on standard error reports one that waits long. The
clients of HTTP and S3 end it themselves. Those of other stores may wait without end, so a thread asks them, and is
waited for up to a limit.
"""

import os
import re
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from contextvars import ContextVar
from http import HTTPStatus
from threading import Thread, Timer
from typing import Any, TypeVar
from urllib.parse import parse_qsl, urlsplit

from neardup.display import counted, printable
from neardup.errors import InputError, NeardupError, NetworkError, SettingError
from neardup.io.place import is_signed, without_credentials, without_password
from neardup.io.storage.pins import ChangedObjectError
from neardup.runtime import report

T = TypeVar("T")

PAUSES = (0.5, 1.0, 2.0)
"""Seconds before each further attempt of a request that failed."""
MOST_PAUSE = 30.0
"""The longest pause that a server may ask for (``Retry-After``); it is not asked again after a longer one."""
PATIENCE = 60.0
_PATIENCE = "NEARDUP_NETWORK_SECONDS"
"""The environment variable with another limit."""
_NOTICE = 12
"""A line reports a request that has waited for this part of the limit: 5 of 60 seconds."""
_AGAIN = {408, 425, 429, 500, 502, 503, 504}
"""The statuses after which the same request may succeed."""
_LIMITED = ("http:", "https:", "s3:", "s3a:")
"""The URLs whose clients end a request that gets no byte."""
SLOWEST = 100_000
"""The bytes a second for which a request waits longer, if its client has no limit."""
_LONGER = 10
"""A listing or an upload, whose progress is not known, may take this many times the limit."""
SAID = 300
"""The most characters of the words of a server that a message shows."""

_ARROW = re.compile(r"HTTP status(?: code)?:? (\d{3})|\b(\d{3}) The (?:specified|server) ", re.IGNORECASE)
"""The status in the errors of Arrow, whose other errors have one of these names."""
_CODES = {
    401: r"UNAUTHENTICATED|InvalidAuthenticationInfo|MISSING_AUTHENTICATION",
    403: r"ACCESS_DENIED|INVALID_ACCESS_KEY|SIGNATURE_DOES_NOT|PERMISSION_DENIED|EXPIRED_TOKEN|INVALID_TOKEN|"
    r"InvalidClientTokenId|INVALID_CLIENT_TOKEN|AuthorizationFailure|AuthenticationFailed|INVALID_SIGNATURE",
    404: r"NO_SUCH_BUCKET|NO_SUCH_KEY|RESOURCE_NOT_FOUND|ContainerNotFound|BlobNotFound",
    412: r"ConditionNotMet|PreconditionFailed|FAILED_PRECONDITION",
    429: r"THROTTLING|TooManyRequests",
    500: r"INTERNAL_FAILURE|INTERNAL_ERROR",
    503: r"SLOW_DOWN|SERVICE_UNAVAILABLE|ServerBusy",
}
_KNOWN = {status: re.compile(names, re.IGNORECASE) for status, names in _CODES.items()}

_EXHAUSTED = re.compile(r"Retry policy exhausted|Azure Error: \[\]", re.IGNORECASE)
"""Failures after attempts of the clients of object stores themselves."""
_TIMEOUT = re.compile(r"curlCode: 28|timed? ?out|timeout was reached", re.IGNORECASE)

_REASON = re.compile(r"(?:AWS|Azure) Error.*|(?<=google::cloud::Status)\(.*", re.DOTALL)
"""The end of the errors of Arrow, after the name of the file and of its bucket."""
_QUERY = re.compile(r"(://[^\s?'\"]*)\?[^\s'\"]*")


def patience() -> float:
    """Return how many seconds a request waits for the next byte. Raises SettingError."""
    given = os.environ.get(_PATIENCE, "")
    try:
        seconds = float(given or PATIENCE)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < 1e6:
        raise SettingError(f"{_PATIENCE} is {given!r}", "A number of seconds above 0", "Leave it out: 60 seconds")
    return seconds


def longer() -> float:
    """Return how many seconds a listing or an upload may take beyond the limit of a request."""
    return (_LONGER - 1) * patience()


class AnswerError(OSError):
    """A server answered with the ``status`` of an error, its ``words`` and ``Retry-After`` in seconds."""

    def __init__(self, status: int, words: str = "", after: float | None = None) -> None:
        super().__init__(f"the server answered {status}")
        self.status, self.words, self.after = status, words, after


class WrongAnswerError(Exception):
    """A server sent something else than it was asked for."""


class SilentError(TimeoutError):
    """A server sent no byte for as long as a request waits."""


class UnansweredError(SilentError):
    """A request was not answered within its ``seconds``; it is still under way, and nobody waits for it."""

    def __init__(self, seconds: float) -> None:
        super().__init__(f"no answer within {seconds:g} seconds")
        self.seconds = seconds


class Wait:
    """A request that waits for an answer: after a while, a line says so; ``limit`` is the end of it in words."""

    def __init__(self, url: str, seconds: float, limit: str = "") -> None:
        self._shown, self._seconds, self._heard = printable(without_password(url)), seconds, time.monotonic()
        self._limit = limit or f"{seconds:g} seconds without a byte"
        self._timer = self._start_timer(seconds / _NOTICE)

    def _start_timer(self, seconds: float) -> Timer:
        timer = Timer(seconds, self._look)
        timer.daemon = True
        timer.start()
        return timer

    def heard(self) -> None:
        """Take note of bytes that have arrived."""
        self._heard = time.monotonic()

    @property
    def silence(self) -> float:
        """The seconds since bytes have arrived."""
        return time.monotonic() - self._heard

    def _look(self) -> None:
        left = self._heard + self._seconds / _NOTICE - time.monotonic()
        if left > 0:
            self._timer = self._start_timer(left)
            return
        report(f"waiting for an answer: {self._shown} (it ends after {self._limit})")

    def __enter__(self) -> "Wait":
        return self

    def __exit__(self, *_: object) -> None:
        self._timer.cancel()


_WAIT: ContextVar[Wait] = ContextVar("_WAIT")


def heard() -> None:
    """Take note of bytes that a request of several pieces has moved, so that its time begins again."""
    if wait := _WAIT.get(None):
        wait.heard()


def once(url: str, request: Callable[[], T], more: float = 0.0) -> T:
    """Return the answer to one request, made now; a line reports a long wait.

    ``more``: seconds that a request may take beyond the limit, if its client has none. Raises UnansweredError.
    """
    seconds = patience()
    if url.lower().startswith(_LIMITED):
        with Wait(url, seconds):
            return request()
    limit = seconds + more
    answer: Future[T] = Future()

    def ask() -> None:
        _WAIT.set(wait)
        try:
            answer.set_result(request())
        except BaseException as error:
            answer.set_exception(error)

    with Wait(url, seconds, f"{limit:g} seconds without an answer") as wait:
        Thread(target=ask, daemon=True).start()
        while (left := limit - wait.silence) > 0:
            try:
                return answer.result(left)
            except TimeoutError:  # of this wait, unless the request itself has ended so
                if answer.done():
                    return answer.result()
    raise UnansweredError(limit)


def status_of(error: BaseException) -> int | None:
    """Return the status of HTTP that an error of a client reports, as a number or by a name; None without one."""
    for holder in (error, getattr(error, "response", None)):
        for name in ("status", "status_code", "code"):
            status = getattr(holder, name, None)
            if isinstance(status, int) and 300 <= status < 600:
                return status
    text = str(error)
    if match := _ARROW.search(text):
        return int(next(filter(None, match.groups())))
    return next((status for status, names in _KNOWN.items() if names.search(text)), None)


def is_silence(error: BaseException) -> bool:
    """Return whether an error is that of a server that says nothing."""
    return isinstance(error, TimeoutError) or _TIMEOUT.search(str(error)) is not None


def retried_answer(
    url: str,
    request: Callable[[], T],
    pauses: Sequence[float] = PAUSES,
    doing: str = "read",
    waited: bool = False,
    more: float = 0.0,
) -> T:
    """Return the answer to a request, which is made again after failures of the network, with growing pauses.

    A line reports a long wait, unless the request itself does (``waited``); ``more``: see ``once``.

    A server may ask for longer pauses, up to ``MOST_PAUSE``. Silence is met with one further attempt, if the first
    is over. Raises InputError for a file that is missing there, and NetworkError when all attempts have failed;
    ChangedObjectError passes.
    """

    def attempt() -> T:
        return request() if waited else once(url, request, more)

    with network_errors(url, doing):
        silences = 0
        for pause in pauses:
            try:
                return attempt()
            except (
                *(NeardupError, ChangedObjectError, WrongAnswerError, UnansweredError),
                *(FileNotFoundError, PermissionError, MemoryError, NotImplementedError),
            ):
                raise
            except Exception as error:  # each plugin of fsspec has errors of its own
                silences += is_silence(error)
                status = status_of(error)
                if (status is not None and status not in _AGAIN) or silences > 1 or _EXHAUSTED.search(str(error)):
                    raise
                pause = max(pause, getattr(error, "after", None) or 0.0)
                if pause > min(MOST_PAUSE, max(patience(), *pauses)):
                    raise
            time.sleep(min(pause, patience()))
        return attempt()


@contextmanager
def network_errors(url: str, doing: str = "read") -> Iterator[None]:
    """Report the failures of another machine, and of the package that asks it, without the password of the URL.

    ``doing`` says if something is read or written.

    Raises InputError for a file that is missing there, and NetworkError for any other failure.
    """
    try:
        yield
    except (NeardupError, MemoryError, ChangedObjectError):
        raise
    except FileNotFoundError as error:
        raise missing_error(url) from error
    except Exception as error:  # each plugin of fsspec has errors of its own
        raise _worded_error(url, doing, error) from error


def missing_error(url: str, answer: str = "") -> InputError:
    """Return the error for a file that is not there."""
    words = f"; the server says: {answer}" if answer else ""
    given = f"There is no {printable(without_password(url))}{words}"
    return InputError(given, "An existing file, folder or pattern", "Check the URL")


def _worded_error(url: str, doing: str, error: Exception) -> NeardupError:
    shown, status = printable(without_password(url)), status_of(error)
    words = redacted_words(url, error.words if isinstance(error, AnswerError) else _words_of(error))
    if status == HTTPStatus.NOT_FOUND:
        return missing_error(url, words if isinstance(error, AnswerError) else "")
    if isinstance(error, UnansweredError):
        why = str(error)
        do = f"Run again later, or allow more seconds: {_PATIENCE}"
    elif is_silence(error):
        why = f"the server said nothing for {patience():g} seconds"
        do = f"Run again later, or allow more seconds: {_PATIENCE}"
    elif status is not None:
        why = f"the server answered {_status_in_words(status)}" + (f": {words}" if words else "")
        after = getattr(error, "after", None)
        why += f"; it asks to wait {counted(round(after), 'second')}" if after else ""
        do = _way_out(status, is_signed(url))
    else:
        why, do = words, "Check the URL and the network, and run again"
    allowed = f"A URL that may be {doing}, on a machine that can be reached"
    return NetworkError(f"{shown} cannot be {doing}: {why}", allowed, do)


def _words_of(error: Exception) -> str:
    text = str(error)
    reason = _REASON.search(text)
    name = "" if isinstance(error, WrongAnswerError) else f"{type(error).__name__}: "
    return name + (reason[0] if reason else text)


def redacted_words(url: str, words: str) -> str:
    """Return words about a URL without its user, its password, and the values of its query."""
    shown = without_password(url)
    words = _QUERY.sub(r"\1", without_credentials(words.replace(url, shown)))
    try:
        parts = urlsplit(url)
        values = {value for _, value in parse_qsl(parts.query)} | {parts.password or ""}
    except ValueError:
        values = set()
    for value in sorted((value for value in values if len(value) > 3), key=len, reverse=True):
        words = words.replace(value, "…")
    return printable(words)


def _status_in_words(status: int) -> str:
    try:
        return f"{status} {HTTPStatus(status).phrase}"
    except ValueError:
        return str(status)


def _way_out(status: int, signed: bool) -> str:
    if status in (400, 401, 403) and signed:
        return "Make a new signed URL: the signature may have expired, or be of another key or another object"
    if status == HTTPStatus.UNAUTHORIZED:
        return "Give the user and the password (https://USER:PASSWORD@…), or the credentials of the store"
    if status == HTTPStatus.FORBIDDEN:
        return "Use credentials that may do this: a wrong key, an expired token or a missing right is refused so"
    if status == HTTPStatus.GONE:
        return "Find its new place: the server says that it will not come back"
    if status == HTTPStatus.TOO_MANY_REQUESTS:
        return "Run again later, with fewer requests at a time"
    if status >= 500:
        return "Run again later: the failure is that of the server"
    if status < 400:
        return "Open the URL in a browser, and give the address at which it ends"
    return "Check the URL, and run again"


def facts_in(body: str, kind: str) -> str:
    """Return the words for people in the body of an answer that is an error: at most ``SAID`` characters.

    Of the XML of object stores only the code and the message: the rest repeats signed text and keys.

    >>> facts_in("<Error><Code>AccessDenied</Code><Message>Request has expired</Message><Key>k</Key></Error>", "")
    'AccessDenied: Request has expired'
    """
    named = [re.search(rf"<{name}>(.*?)</{name}>", body, re.DOTALL) for name in ("Code", "Message")]
    if any(named):
        text = ": ".join(part[1].strip() for part in named if part)
    elif "<" in body and ("html" in kind or "<html" in body[:SAID].lower()):
        title = re.search(r"<title[^>]*>([^<]*)", body, re.IGNORECASE)
        text = title[1] if title else ""
    else:
        text = "" if kind and not re.search(r"text|json|xml", kind) else body
    return " ".join(text.split())[:SAID]


def retry_after(headers: Any) -> float | None:
    """Return the seconds of ``Retry-After``; a time in it counts from the ``Date`` of the same answer."""
    given = str(headers.get("Retry-After") or "").strip()
    if given.isascii() and given.isdigit():
        return float(given[:9])
    from email.utils import parsedate_to_datetime

    try:
        until, now = (parsedate_to_datetime(text) for text in (given, str(headers.get("Date"))))
        return max(0.0, (until - now).total_seconds())
    except (ValueError, TypeError):
        return None
