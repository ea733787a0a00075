"""Requests of the client: repeated when the service asks for it; answers whole and in time; refusals as errors."""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from neardup import errors
from neardup.display import counted, printable
from neardup.io.place import without_password
from neardup.runtime import Deadline
from neardup.service.web.limits import usable_token

if TYPE_CHECKING:
    import ssl
    from typing import TypeAlias

    import httpx

    Authority: TypeAlias = str | os.PathLike[str] | ssl.SSLContext | None


T = TypeVar("T")
LONGEST_WAIT = 60.0
"""Seconds to wait at most before a request is sent again."""
_DIGITS = 9
_AGAIN = frozenset({429, 503})
_SETTINGS = frozenset(
    {"limit", "after", "near", "recall", "overlap", "probability", "measure", "on_near", "on_duplicate", "role"}
)
"""Fields of requests whose values are settings of a method."""
_SHOWN, _LONGEST_PART = 200, 4_000


class Sender:
    """Sends requests to a service. Any number of threads may use it.

    ``retries``: how often a request that changes nothing when it is repeated is sent again after 429 or 503; it
    waits for the seconds of Retry-After. ``timeout``: seconds for a whole answer, ``largest``: its most bytes.
    ``verify``: the certificates of the authority that signed those of the service.
    """

    def __init__(
        self,
        url: str,
        token: str | None,
        timeout: float,
        retries: int,
        largest: int,
        transport: httpx.BaseTransport | None,
        verify: Authority = None,
    ) -> None:
        try:
            import httpx
        except ModuleNotFoundError as error:
            raise errors.InputError(
                f"The client needs the package {error.name}", "", errors.install("client")
            ) from error
        address = _address(url)
        if not isinstance(retries, int) or not 0 <= retries <= 100:
            raise errors.SettingError(f"retries is {retries!r}", "A whole number from 0 to 100")
        if not isinstance(timeout, int | float) or not 0 < timeout <= 86_400:
            raise errors.SettingError(f"timeout is {timeout!r}", "A number of seconds above 0, at most 86,400")
        if not isinstance(largest, int) or largest < 1:
            raise errors.SettingError(f"largest is {largest!r}", "A whole number of bytes, from 1 on")
        if token is not None and not usable_token(token):
            raise errors.SettingError("token is not one of neardup serve", "A-Z a-z 0-9 . _ ~ + / - =")
        if token is not None and address.userinfo:
            raise errors.SettingError("A token and a user name in the address were given", "One of them")
        self.url = without_password(str(address)).rstrip("/")
        self._retries, self._timeout, self._largest = retries, timeout, largest
        headers = {"Accept-Encoding": "identity"}
        if token is not None:
            headers["Authorization"] = f"Bearer {token}"
        # no redirect is followed: the token and the documents go to this address and to no other
        self._http = httpx.Client(
            base_url=str(address).rstrip("/"),
            headers=headers,
            timeout=timeout,
            follow_redirects=False,
            transport=transport,
            verify=_certificates(verify),
        )
        self._broken, self._late = httpx.HTTPError, httpx.TimeoutException
        self._time = WholeTime(lambda: late_error(self.url, timeout))

    def send(
        self,
        kind: type[T],
        method: str,
        path: str,
        body: Mapping[str, Any] | None = None,
        *,
        again: bool | None = None,
        query: str = "",
        **asked: Any,
    ) -> T:
        """Return an answer as a record of a ``kind``; ``asked`` are parameters of the address.

        Fields that the record lacks are left out: a later service may send more.

        ``again``: whether the request may be repeated, by default unless it is a POST. ``query`` is shown in a
        QueryError. Raises the errors of the package, NetworkError for an answer that lacks something.
        """
        parameters = {name: _parameter(value) for name, value in asked.items() if value is not None}
        content = None if body is None else _content(body)
        request = {"content": content, "params": parameters}
        if body is not None:
            request["headers"] = {"Content-Type": "application/json"}
        left = self._retries if (method != "POST" if again is None else again) else 0
        while True:
            found = self._answer(method, path, request)
            wait = _wait(found) if left and found.status in _AGAIN else None
            if wait is None:
                break
            left -= 1
            time.sleep(wait)
        data = self._data(found, query)
        try:
            return msgspec.convert(data, kind)
        except msgspec.ValidationError as error:
            raise self.unlike_error(f"JSON that is no answer to {method} {path}: {_fault_text(error)}") from error

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def _answer(
        self, method: str, path: str, request: Mapping[str, Any], deadline: Deadline | None = None
    ) -> Answered:
        deadline = deadline or Deadline(self._timeout, lambda: late_error(self.url, self._timeout))
        try:
            with (
                self._time.limit(deadline) as extensions,
                self._http.stream(method, path, **request, extensions=extensions) as response,
            ):
                return read_answer(response, self._largest, deadline, self.url)
        except self._late as error:
            raise late_error(self.url, self._timeout) from error
        except self._broken as error:
            unsigned = "CERTIFICATE_VERIFY_FAILED" in str(error)
            authority = 'Name the authority that signed its certificate: Client(…, verify="ca.pem")'
            way = authority if unsigned else "Check the address, and that the service runs"
            raise errors.NetworkError(
                f"The service at {self.url} cannot be reached: {_fault_text(error)}", "", way
            ) from error
        except RuntimeError as error:
            if not self._http.is_closed:
                raise
            raise errors.OutputError(f"The client of {self.url} is closed", "", "Make another one") from error

    def _data(self, found: Answered, query: str) -> Any:
        status, data = found.status, found.data
        if 300 <= status < 400:
            target = without_password(found.headers.get("location", "")[:_SHOWN])
            raise errors.NetworkError(
                f"The service at {self.url} redirects to {target!r}",
                "An address that answers itself: redirects are not followed",
                "Give that address if you trust it",
            )
        if 200 <= status < 300 and data is not None:
            return data
        refusal = data.get("error") if isinstance(data, dict) else None
        if not isinstance(refusal, dict):
            raise self.unlike_error(f"status {status}, and not like a service")
        raise answered_error(status, refusal, query)

    def unlike_error(self, how: str) -> errors.NetworkError:
        """Return the error for an answer that no service of this version sends."""
        way = "Check that the address is that of neardup serve, of this version"
        return UnlikeAnswerError(f"{self.url} answered with {how}", "", way)


class UnlikeAnswerError(errors.NetworkError):
    """An answer that no service of this version sends; the service is not silent."""


def _certificates(verify: Authority) -> ssl.SSLContext | bool:
    """Return the certificates by which a service is checked: those of a file; True for the usual authorities."""
    import ssl  # late: most clients have no authority of their own

    if verify is None or isinstance(verify, ssl.SSLContext):
        return True if verify is None else verify
    allowed = "A file with the certificates of an authority (PEM), or an ssl.SSLContext"
    if not isinstance(verify, str | os.PathLike):
        given = f"verify is {verify!r}"
        raise errors.SettingError(given, allowed, 'Name the authority of the service: verify="ca.pem"')
    try:
        return ssl.create_default_context(cafile=verify)
    except OSError as error:  # an ssl.SSLError, too
        fault = "holds no certificates" if isinstance(error, ssl.SSLError) else f"cannot be read: {error.strerror}"
        given = f"{printable(verify)} {fault}"
        raise errors.InputError(given, allowed, "Name the file that the authority of the service gave") from error


def _address(url: str) -> httpx.URL:
    """Return the address of a service. Raises InputError, without a password, for any other."""
    import httpx

    try:
        address = httpx.URL(url)
    except (httpx.InvalidURL, TypeError, ValueError):
        address = None
    if address is None or address.scheme not in ("http", "https") or not address.host or address.query:
        shown = without_password(url) if isinstance(url, str) else url
        raise errors.InputError(f"{shown!r} is not the address of a service", "Such as http://127.0.0.1:8321")
    return address


_ERRORS: Mapping[object, type[errors.NeardupError]] = {
    "unknown_id": errors.UnknownIdError,
    "timeout": errors.LimitError,
    "changed": errors.ChangedMeanwhileError,
    "damaged": errors.FormatError,
    "second_review": errors.SecondReviewError,
}
"""The errors that codes of refusals mean, whatever their status."""


def answered_error(status: int, refusal: Mapping[str, Any], query: str = "") -> errors.NeardupError:
    """Return the error that the body of a refusal means, as the method of a collection would raise it."""
    code = str(refusal.get("code"))
    parts = tuple(_lines(str(refusal.get(name) or "")[:_LONGEST_PART]) for name in ("given", "allowed", "do"))
    if code == "query":
        position = refusal.get("position")
        if isinstance(position, int) and query and 0 <= position <= len(query):
            return errors.QueryError(*parts, query=query, position=position)
        return errors.QueryError(*parts)
    if code in _ERRORS:
        return _ERRORS[code](*parts)
    if status >= 500 or status == 429:
        return errors.OutputError(*parts)
    named = refusal.get("fields")
    fields = [one for one in named if isinstance(one, dict)] if isinstance(named, list) else []
    wrong = {str(field.get("where")).rpartition(".")[2] for field in fields}
    return errors.SettingError(*parts) if code == "setting" or wrong & _SETTINGS else errors.InputError(*parts)


def _lines(text: str) -> str:
    """Return words of a server without what could control a terminal."""
    return "\n".join(map(printable, text.split("\n")))


def _fault_text(error: Exception) -> str:
    return printable(error)[:_SHOWN]


def _wait(found: Answered) -> float | None:
    """The seconds after which to send a request again, or None: not at all."""
    told = found.headers.get("retry-after", "")
    if not (told.isascii() and told.isdigit()) or len(told) > _DIGITS or int(told) > LONGEST_WAIT:
        return None
    error = found.data.get("error") if isinstance(found.data, dict) else None
    code = error.get("code") if isinstance(error, dict) else ""
    return None if code == "timeout" else float(told)  # it would take as long again


def _content(body: Mapping[str, Any]) -> bytes:
    try:
        return json.dumps(body, allow_nan=False).encode()
    except (ValueError, TypeError, RecursionError) as error:
        raise errors.InputError(
            f"The request cannot be written as JSON: {_fault_text(error)}", "Values of JSON"
        ) from error


def _parameter(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


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
    def limit(self, deadline: Deadline) -> Iterator[dict[str, Any]]:
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


def read_answer(response: httpx.Response, largest: int, deadline: Deadline, url: str) -> Answered:
    """Read an answer. Raises NetworkError for more than ``largest`` bytes, and the error of the deadline."""
    if response.headers.get("content-encoding", "identity") != "identity":  # a few bytes may unpack to any size
        raise errors.NetworkError(
            f"{url} answered with compressed data, which was not asked for", "", "Check that it is neardup serve"
        )
    parts, size = [], 0
    for part in response.iter_bytes():
        deadline.check()
        size += len(part)
        if size > largest:
            raise errors.NetworkError(
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


def late_error(url: str, seconds: float) -> errors.LimitError:
    """Return the error for an answer that is not whole in time."""
    return errors.LimitError(
        f"The service at {url} did not answer within {seconds:g} seconds",
        "",
        "Give a longer timeout, or ask for less; a change may have been made",
    )
