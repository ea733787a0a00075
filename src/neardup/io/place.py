"""The place of a collection: a file here, or a schema in a PostgreSQL database, named by a URL."""

import os
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias
from urllib.parse import parse_qsl, quote, unquote, urlencode, urlsplit

from neardup.errors import InputError
from neardup.io.names import require_local

_URL = re.compile(r"postgres(?:ql)?:/{1,2}(?P<rest>.*)", re.DOTALL)
_SCHEMA = re.compile(r"[a-z_][a-z0-9_]{0,62}")
SCHEMA = "neardup"
"""The schema of a URL that names none."""
CONNECTIONS = 16
"""The most connections of a process for its readers, unless the URL says otherwise."""
_SHOWN = ("user", "host", "port", "dbname", "sslmode")
"""The options that a message may show."""


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
        matched = _URL.fullmatch(url)
        if matched is None:
            raise InputError("This is not the URL of a PostgreSQL database", "postgresql://USER@HOST/DATABASE")
        try:
            parts = urlsplit("postgresql://" + matched["rest"])
            given = dict(parse_qsl(parts.query, strict_parsing=bool(parts.query), keep_blank_values=True))
            address = parts.hostname, parts.port
        except ValueError:
            raise _unreadable() from None
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


def is_url(place: object) -> bool:
    """Whether a name of a collection is the URL of a database, also as a path of it would write it."""
    return isinstance(place, str | os.PathLike) and _URL.fullmatch(os.fspath(place)) is not None


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


def _unreadable() -> InputError:
    return InputError(
        "The URL of the database cannot be read",
        "postgresql://USER:PASSWORD@HOST:PORT/DATABASE?schema=NAME, with % escapes for special characters",
    )
