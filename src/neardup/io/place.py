r"""Names of files and URLs as people and tables see them, and back; and the place of a collection.

A file system keeps bytes. Python gives those that are not Unicode as lone surrogates, which neither tables nor
JSON can hold. They are shown as ``\xff`` instead; the file itself is opened and copied under its bytes. URLs are
shown without their passwords, and refused where a path of this machine is needed. A collection is a file here,
or a schema in a PostgreSQL database, named by a URL.
"""

import codecs
import os
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias
from urllib.parse import parse_qsl, quote, unquote, urlencode, urlsplit

from neardup.errors import InputError, OutputError

_ESCAPED = re.compile(rb"\\x([89a-f][0-9a-f])")

ESCAPED = "neardup.names"
"""The name of the error handler for the terminal."""

_USER = re.compile(r"(?<=://)[^/?#]*@")
_SECRET = re.compile(
    r"x-(amz|goog)-.*|(.*[^a-z])?sig|.*(signature|token|key|credential|password|secret).*",
    re.IGNORECASE | re.DOTALL,
)
_ASKED = re.compile(r"[?#].*", re.DOTALL)

_URL = re.compile(r"([a-z][a-z0-9+.-]+):[/\\]+(.*)", re.IGNORECASE | re.DOTALL)
"""A scheme of at least two letters, as one letter is a drive. As a path it has lost one of its slashes."""

_DATABASE = re.compile(r"postgres(?:ql)?:/{1,2}(?P<rest>.*)", re.DOTALL)
_SCHEMA = re.compile(r"[a-z_][a-z0-9_]{0,62}")

SCHEMA = "neardup"
"""The schema of a URL that names none."""

CONNECTIONS = 16
"""The most connections of a process for its readers, unless the URL says otherwise."""

_SHOWN = ("user", "host", "port", "dbname", "sslmode")
"""The options that a message may show."""


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
    found = (
        f"\\x{ord(char) - 0xDC00:02x}" if "\udc80" <= char <= "\udcff" else _escape_character(char)
        for char in some
    )
    return "".join(found), error.end


def _escape_character(char: str) -> str:
    units = char.encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\u{units[at : at + 4]}" for at in range(0, len(units), 4))


codecs.register_error(ESCAPED, escape)


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


@dataclass(frozen=True)
class DatabaseURL:
    """A schema in a PostgreSQL database; as text it has neither a password nor other options that may be secret.

    ``options`` are those of libpq: host, port, dbname, user, password, sslmode and so on.

    >>> place = DatabaseURL.of("postgresql://ann:secret@db.example/letters?schema=mails")
    >>> str(place), place.schema, place.options["dbname"]
    ('postgresql://ann@db.example/letters?schema=mails', 'mails', 'letters')
    """

    schema: str
    connections: int
    options: dict[str, str] = field(repr=False, hash=False)

    @classmethod
    def of(cls, url: str) -> "DatabaseURL":
        """Read a URL. Raises InputError, without the password, for an impossible one."""
        matched = _DATABASE.fullmatch(url)
        if matched is None:
            raise InputError("This is not the URL of a PostgreSQL database", "postgresql://USER@HOST/DATABASE")
        try:
            parts = urlsplit("postgresql://" + matched["rest"])
            given = dict(parse_qsl(parts.query, strict_parsing=bool(parts.query), keep_blank_values=True))
            address = parts.hostname, parts.port
        except ValueError:
            raise _unreadable_error() from None
        schema, connections = given.pop("schema", SCHEMA), given.pop("connections", str(CONNECTIONS))
        if not _SCHEMA.fullmatch(schema) or schema.startswith("pg_") or schema in ("information_schema", "public"):
            raise InputError(
                f"The schema of the URL is {schema[:80]!r}",
                "a to z, 0 to 9 and _, at most 63 characters; neither public nor a schema of the server",
            )
        if not connections.isdecimal() or not 1 <= int(connections) <= 1000:
            raise InputError(f"connections of the URL is {connections[:20]!r}", "A whole number from 1 to 1,000")
        named = zip(("host", "port"), address, strict=True)
        options = {name: unquote(str(value)) for name, value in named if value is not None}
        login = {"user": parts.username, "password": parts.password, "dbname": parts.path.strip("/")}
        options |= {name: unquote(value) for name, value in login.items() if value}
        return cls(schema, int(connections), options | given)

    def __str__(self) -> str:
        shown = {name: self.options[name] for name in _SHOWN if name in self.options}
        user = f"{quote(shown.pop('user'), safe='')}@" if "user" in shown else ""
        host, port, database = shown.pop("host", ""), shown.pop("port", ""), shown.pop("dbname", "")
        if host.startswith("/"):  # a socket, which is no part of an address
            shown["host"], host = host, ""
        host = f"[{host}]" if ":" in host else host
        more = urlencode(({} if self.schema == SCHEMA else {"schema": self.schema}) | shown, safe="/")
        ending = f"/{quote(database)}" + (f"?{more}" if more else "")
        return f"postgresql://{user}{host}{f':{port}' if port else ''}{ending}"

    def __repr__(self) -> str:
        return f"DatabaseURL({str(self)!r})"

    @property
    def name(self) -> str:
        """The last part, as that of a path."""
        return self.schema

    def absolute(self) -> "DatabaseURL":
        """The same from any folder."""
        return self


Place: TypeAlias = Path | DatabaseURL
"""Where a collection is; ``place_of`` reads it, and ``file_at`` tells the two apart."""


def file_at(place: Place) -> Path | None:
    """Return the file of a place; None for a database.

    >>> file_at(Path("mail.neardup")).name, file_at(DatabaseURL.of("postgresql://ann@db.example/letters"))
    ('mail.neardup', None)
    """
    return None if isinstance(place, DatabaseURL) else place


def result_at(place: Place) -> Path | None:
    """Return the folder of a result; None for the place of a collection, which is a file or a database."""
    path = file_at(place)
    return None if path is None or path.is_file() else path


def is_url(place: object) -> bool:
    """Whether a name of a collection is the URL of a database, also as a path of it would write it."""
    return isinstance(place, str | os.PathLike) and _DATABASE.fullmatch(os.fspath(place)) is not None


def place_of(given: str | os.PathLike[str] | DatabaseURL) -> Place:
    """The place of a name.

    Raises InputError for an unreadable URL and for a database of SQLite in memory, OutputError for another URL.
    """
    if isinstance(given, DatabaseURL):
        return given
    text = str(getattr(given, "typed", os.fspath(given)))
    if is_url(text):
        return DatabaseURL.of(text)
    if text == ":memory:" or text.startswith("file:"):  # SQLite's names, which would become files
        raise InputError(
            f"{text!r} is a name for SQLite, and a collection is a file",
            "The name of a file, or the URL of a PostgreSQL database",
            "For a collection to throw away, name a file in a temporary folder (tempfile.TemporaryDirectory)",
        )
    require_local(given)
    return Path(given)


def _unreadable_error() -> InputError:
    return InputError(
        "The URL of the database cannot be read",
        "postgresql://USER:PASSWORD@HOST:PORT/DATABASE?schema=NAME, with % escapes for special characters",
    )
