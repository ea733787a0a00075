"""URLs: in messages without their passwords, and not where a path of this machine is needed."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from neardup.display import printable
from neardup.errors import InputError, NeardupError, NetworkError, OutputError

_USER = re.compile(r"(?<=://)[^/?#]*@")
_ASKED = re.compile(r"[?#].*", re.DOTALL)
_URL = re.compile(r"([a-z][a-z0-9+.-]+):[/\\]+(.*)", re.IGNORECASE | re.DOTALL)
"""A scheme of at least two letters, as one letter is a drive. As a path it has lost one of its slashes."""


def without_password(text: str) -> str:
    """Return a text with the URLs in it as messages show them: without user, password and parameters of a query.

    >>> without_password("https://ann:secret@host/a.jsonl?key=1")
    'https://host/a.jsonl'
    """
    return _ASKED.sub("", without_user(text)) if "://" in text else text


def without_user(name: str) -> str:
    """Return a URL as results store it: without user and password. A path is returned as it is.

    >>> without_user("https://ann:secret@host/a.jsonl?key=1")
    'https://host/a.jsonl?key=1'
    """
    return _USER.sub("", name) if "://" in name else name


@contextmanager
def reaching(url: str) -> Iterator[None]:
    """Report the failures of another machine, and of the package that asks it, without the password of the URL.

    Raises InputError for a file that is missing there, and NetworkError for any other failure.
    """
    shown = printable(without_password(url))
    try:
        yield
    except (NeardupError, MemoryError):
        raise
    except FileNotFoundError as error:
        raise InputError(f"There is no {shown}", "An existing file, folder or pattern", "Check the URL") from error
    except Exception as error:  # each plugin of fsspec has errors of its own
        said = _USER.sub("", str(error).replace(url, shown))
        raise NetworkError(
            f"{shown} cannot be read: {type(error).__name__}: {printable(said)}",
            "A URL that may be read, on a machine that can be reached",
            "Check the URL and the network, and run again",
        ) from error


class RemoteFile:
    """A file of another machine, whose failures are those of ``reaching`` at any time."""

    def __init__(self, file: Any, url: str) -> None:
        self._file, self._url = file, url

    def read(self, size: int = -1) -> bytes:
        """Return the next bytes."""
        with reaching(self._url):
            return bytes(self._file.read(size))

    def seek(self, offset: int, whence: int = 0) -> int:
        """Go to a place."""
        with reaching(self._url):
            return int(self._file.seek(offset, whence))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)


def require_local(path: str | os.PathLike[str]) -> None:
    """Raise OutputError for a URL, which would become folders with strange names on this machine.

    >>> require_local("s3://bucket/out")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    neardup.errors.OutputError: s3://bucket/out is a URL. Allowed: A path on this machine. Try: ...
    """
    found = _URL.fullmatch(os.fspath(path))
    if found:
        shown = without_password(f"{found[1]}://{found[2]}")
        raise OutputError(
            f"{shown} is a URL",
            "A path on this machine",
            "Write it to a folder here, and copy the folder there; inputs may be URLs",
        )
