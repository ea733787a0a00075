"""Requests of the client: sent again when the service asks for it, and refusals as the errors of the package."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from neardup.errors import (
    FormatError,
    InputError,
    LimitError,
    NeardupError,
    OutputError,
    QueryError,
    SettingError,
    UnknownIdError,
)

if TYPE_CHECKING:
    import httpx

LONGEST_WAIT = 60.0
"""Seconds to wait at most before a request is sent again."""
_AGAIN = frozenset({429, 503})
_SETTINGS = frozenset(
    {"limit", "after", "near", "recall", "overlap", "probability", "measure", "on_near", "on_duplicate", "role"}
)
"""Fields of requests whose values are settings of a method."""
_SHOWN = 200


class Sender:
    """Sends requests to a service. Any number of threads may use it.

    ``retries``: how often a request that changes nothing when it is repeated is sent again after 429 or 503; it
    waits for the seconds of Retry-After.
    """

    def __init__(
        self, url: str, token: str | None, timeout: float, retries: int, transport: httpx.BaseTransport | None
    ) -> None:
        try:
            import httpx
        except ModuleNotFoundError as error:
            way = 'pip install "neardup[client]"'
            raise InputError(f"The client needs the package {error.name}", "", way) from error
        address = httpx.URL(url)
        if address.scheme not in ("http", "https") or not address.host:
            raise InputError(f"{url!r} is not the address of a service", "Such as http://127.0.0.1:8321")
        if not isinstance(retries, int) or not 0 <= retries <= 100:
            raise SettingError(f"retries is {retries!r}", "A whole number from 0 to 100")
        if not 0 < timeout <= 86_400:
            raise SettingError(f"timeout is {timeout!r}", "A number of seconds above 0, at most 86,400")
        self.url, self._retries, self._timeout = str(address).rstrip("/"), retries, timeout
        headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        # no redirect is followed: the token and the documents go to this address and to no other
        self._http = httpx.Client(
            base_url=self.url, headers=headers, timeout=timeout, follow_redirects=False, transport=transport
        )
        self._broken, self._late = httpx.HTTPError, httpx.TimeoutException

    def send(
        self,
        method: str,
        path: str,
        body: Mapping[str, Any] | None = None,
        *,
        again: bool | None = None,
        query: str = "",
        **asked: Any,
    ) -> Any:
        """Return the JSON of an answer; ``asked`` are parameters of the address.

        ``again``: whether the request may be repeated, by default unless it is a POST. ``query`` is shown in a
        QueryError. Raises the errors of the package.
        """
        parameters = {name: _parameter(value) for name, value in asked.items() if value is not None}
        content = None if body is None else json.dumps(body, allow_nan=False).encode()
        headers = {} if body is None else {"Content-Type": "application/json"}
        left = self._retries if (method != "POST" if again is None else again) else 0
        while True:
            response = self._answered(method, path, content, headers, parameters)
            wait = _wait(response) if left and response.status_code in _AGAIN else None
            if wait is None:
                return self._read(response, query)
            left -= 1
            time.sleep(wait)

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def _answered(
        self, method: str, path: str, content: bytes | None, headers: Any, params: Any
    ) -> httpx.Response:
        try:
            return self._http.request(method, path, content=content, headers=headers, params=params)
        except self._late as error:
            raise LimitError(
                f"The service at {self.url} did not answer within {self._timeout:g} seconds",
                "",
                "Give a longer timeout, or ask for less; a change may have been made",
            ) from error
        except self._broken as error:
            way = "Check the address, and that the service runs"
            raise OutputError(f"The service at {self.url} cannot be reached: {error}", "", way) from error
        except RuntimeError as error:  # closed
            raise OutputError(f"The client of {self.url} is closed", "", "Make another one") from error

    def _read(self, response: httpx.Response, query: str) -> Any:
        status = response.status_code
        if 300 <= status < 400:
            target = response.headers.get("location", "")[:_SHOWN]
            raise OutputError(
                f"The service at {self.url} redirects to {target!r}",
                "An address that answers itself: redirects are not followed",
                "Give that address if you trust it",
            )
        try:
            data = response.json()
        except ValueError:
            data = None
        if response.is_success and data is not None:
            return data
        refusal = data.get("error") if isinstance(data, dict) else None
        if not isinstance(refusal, dict):
            way = "Check that the address is that of neardup serve"
            raise OutputError(f"{self.url} answered with status {status}, and not like a service", "", way)
        raise error_of(status, refusal, query)


def error_of(status: int, refusal: Mapping[str, Any], query: str = "") -> NeardupError:
    """Return the error that the body of a refusal means, as the method of a collection would raise it."""
    code = refusal.get("code")
    parts = tuple(str(refusal.get(name) or "") for name in ("given", "allowed", "do"))
    if code == "query":
        position = refusal.get("position")
        if isinstance(position, int) and query:
            return QueryError(*parts, query=query, position=position)
        return QueryError(*parts)
    if code == "unknown_id":
        return UnknownIdError(*parts)
    if code == "timeout":
        return LimitError(*parts)
    if code == "damaged":
        return FormatError(*parts)
    if status >= 500 or status == 429:
        return OutputError(*parts)
    wrong = {str(field.get("where")).rpartition(".")[2] for field in refusal.get("fields") or ()}
    return SettingError(*parts) if code == "setting" or wrong & _SETTINGS else InputError(*parts)


def _wait(response: httpx.Response) -> float | None:
    """The seconds after which to send a request again, or None: not at all."""
    told = response.headers.get("retry-after", "")
    if not (told.isascii() and told.isdigit()) or int(told) > LONGEST_WAIT:
        return None
    try:
        code = response.json()["error"]["code"]
    except (ValueError, KeyError, TypeError):
        code = ""
    return None if code == "timeout" else float(told)  # it would take as long again


def _parameter(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


__all__ = ["Sender", "error_of"]
