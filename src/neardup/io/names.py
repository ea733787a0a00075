r"""Names of files and URLs: as people and tables see them, and back.

A file system keeps bytes. Python gives those that are not Unicode as lone surrogates, which neither tables nor
JSON can hold. They are shown as ``\xff`` instead; the file itself is opened and copied under its bytes. URLs are
shown without their passwords, and refused where a path of this machine is needed.
"""

import codecs
import os
import re
from typing import Any
from urllib.parse import unquote

from neardup.errors import OutputError

_ESCAPED = re.compile(rb"\\x([89a-f][0-9a-f])")

ESCAPED = "neardup.names"
"""The name of the error handler for the terminal."""


def shown_name(name: str) -> str:
    r"""Return a name of a file as Unicode, with escapes for bytes that are not UTF-8.

    >>> print(shown_name("b\udcff.txt"))
    b\xff.txt
    """
    if name.isascii():
        return name
    try:
        return name.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
    except UnicodeEncodeError:  # half of a pair, which names on Windows may have
        return name.encode("utf-8", "backslashreplace").decode()


def path_of(shown: str) -> str:
    """Return the path that ``shown_name`` made this text of, as Python opens it in this locale.

    If a file has the escape itself in its name, that file is meant.
    """
    plain = shown if shown.isascii() else os.fsdecode(shown.encode("utf-8", "surrogateescape"))
    if "\\x" not in shown or os.path.lexists(plain):
        return plain
    raw = shown.encode("utf-8", "surrogateescape")
    return os.fsdecode(_ESCAPED.sub(lambda found: bytes.fromhex(found[1].decode()), raw))


def name_below(shown: str, path: str) -> str:
    """Return the shown end of a ``path`` as Python opens it; for a name that is no such end, the name itself."""
    end = os.sep.join(path.split(os.sep)[-len(shown.replace(os.sep, "/").split("/")) :])
    return end if shown_name(end) == shown else os.fsdecode(shown.encode("utf-8", "surrogateescape"))


def shown_values(value: Any) -> Any:
    """Return lists and mappings of values with all strings as ``shown_name`` returns them."""
    if isinstance(value, str):
        return shown_name(value)
    if isinstance(value, dict):
        return {shown_values(key): shown_values(each) for key, each in value.items()}
    return [shown_values(each) for each in value] if isinstance(value, list | tuple) else value


def escape(error: UnicodeError) -> tuple[str, int]:
    r"""Return escapes for characters that an encoding lacks: \xff for a byte of a name, \u20ac for others.

    It is the error handler ``ESCAPED``; the latter are also those of JSON.
    """
    if not isinstance(error, UnicodeEncodeError):
        raise error
    some = error.object[error.start : error.end]
    found = (f"\\x{ord(char) - 0xDC00:02x}" if "\udc80" <= char <= "\udcff" else _escaped(char) for char in some)
    return "".join(found), error.end


def _escaped(char: str) -> str:
    units = char.encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\u{units[at : at + 4]}" for at in range(0, len(units), 4))


codecs.register_error(ESCAPED, escape)


_USER = re.compile(r"(?<=://)[^/?#]*@")
_SECRET = re.compile(
    r"x-(amz|goog)-.*|(.*[^a-z])?sig|.*(signature|token|key|credential|password|secret).*",
    re.IGNORECASE | re.DOTALL,
)
_ASKED = re.compile(r"[?#].*", re.DOTALL)
_URL = re.compile(r"([a-z][a-z0-9+.-]+):[/\\]+(.*)", re.IGNORECASE | re.DOTALL)
"""A scheme of at least two letters, as one letter is a drive. As a path it has lost one of its slashes."""


def without_password(text: str) -> str:
    """Return a text with the URLs in it as messages show them: without user, password and parameters of a query.

    >>> without_password("https://ann:secret@host/a.jsonl?key=1")
    'https://host/a.jsonl'
    """
    return _ASKED.sub("", without_secrets(text)) if "://" in text else text


def without_query(path: str) -> str:
    """Return the address of a file on the web without what follows its name; any other path as it is.

    >>> without_query("https://host/a.jsonl?X-Amz-Signature=5f0c"), without_query("a?.jsonl")
    ('https://host/a.jsonl', 'a?.jsonl')
    """
    return _ASKED.sub("", path) if path.lower().startswith(("http://", "https://")) else path


def without_secrets(name: str) -> str:
    """Return a URL as results store it: without user, password, and parameters whose names are those of secrets.

    These are ``sig``, all that begin with ``X-Amz-`` or ``X-Goog-``, and all that contain *signature*, *token*,
    *key*, *credential*, *password* or *secret*. Other parameters are part of the address.
    A path is returned as it is.

    >>> without_secrets("https://ann:word@host/a.jsonl?part=1&X-Amz-Signature=5f0c")
    'https://host/a.jsonl?part=1'
    """
    if "://" not in name:
        return name
    address, fragment_mark, fragment = _USER.sub("", name).partition("#")
    path, _, query = address.partition("?")
    open_parts = [part for part in query.split("&") if "=" not in part or not _SECRET.fullmatch(_name_in(part))]
    return "?".join(filter(None, (path, "&".join(open_parts)))) + fragment_mark + fragment


def without_credentials(text: str) -> str:
    """Return a text without the users and passwords of the URLs in it."""
    return _USER.sub("", text)


def is_signed(url: str) -> bool:
    """Return whether a URL has a parameter that is a secret, such as a signature.

    >>> is_signed("https://host/a.jsonl?X-Amz-Signature=5f0c"), is_signed("https://host/a.jsonl?part=1")
    (True, False)
    """
    query = url.partition("#")[0].partition("?")[2]
    return any("=" in part and _SECRET.fullmatch(_name_in(part)) for part in query.split("&"))


def _name_in(parameter: str) -> str:
    return unquote(parameter.partition("=")[0])


def url_in(path: str | os.PathLike[str]) -> str | None:
    """Return the URL that a path is, also if it has lost a slash as a path does; None for a path of this machine.

    >>> from pathlib import Path
    >>> url_in(Path("s3://box/out")), url_in("C:/out")
    ('s3://box/out', None)
    """
    match = _URL.fullmatch(os.fspath(path))
    return None if match is None else f"{match[1]}://{match[2]}"


def require_local(path: str | os.PathLike[str]) -> None:
    """Raise OutputError for a URL, which would become folders with strange names on this machine.

    >>> require_local("s3://bucket/out")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    neardup.errors.OutputError: s3://bucket/out is a URL. Allowed: A path on this machine; ...
    """
    url = url_in(path)
    if url is not None:
        raise OutputError(
            f"{without_password(url)} is a URL",
            "A path on this machine; results also s3://, gs:// and az://",
            "Write it to a folder here, and copy the folder there; inputs may be URLs",
        )
