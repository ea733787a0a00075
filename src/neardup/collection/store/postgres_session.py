"""Connections to PostgreSQL: strings as SQLite keeps them, shared statements translated, errors in our words.

PostgreSQL has no U+0000 in a text. It is stored as U+0001 U+0001, and U+0001 as U+0001 U+0002, which keeps the
order of all strings.
"""

from __future__ import annotations  # Buffer is a string in psycopg before 3.2.3

import logging
import re
import struct
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache
from itertools import islice
from typing import Any

import psycopg
from psycopg import sql
from psycopg.abc import Buffer
from psycopg.types.string import StrBinaryDumper, StrDumperUnknown, TextBinaryLoader, TextLoader
from psycopg_pool import ConnectionPool, PoolClosed, PoolTimeout

from neardup import display
from neardup.collection.contract import StoreUnavailableError, too_long_error
from neardup.collection.store.failures import busy_error, damaged_error
from neardup.collection.store.statements import LISTED
from neardup.errors import InputError, NeardupError, OutputError
from neardup.io.place import DatabaseURL

Session = psycopg.Connection[Any]

_UNHARMED = "Nothing of this batch was stored; earlier documents are unharmed"
_IDIOMS = (
    (LISTED, "= ANY(translate(?, '[]', '{}')::bigint[])"),
    ("GROUP_CONCAT(shingles)", "string_agg(shingles::text, ',')"),
    ("?", "%s"),
)
_IN_ORDER = re.compile(r"json_each\(\?\) CROSS JOIN (\w+) ON (\w+) = value")


@lru_cache(maxsize=1000)
def translated_statement(statement: str) -> bytes:
    """A shared statement as PostgreSQL runs it: see ``statements.py``."""
    statement = _IN_ORDER.sub(rf"\1 WHERE \2 {LISTED} ORDER BY \2", statement)
    for idiom, own in _IDIOMS:
        statement = statement.replace(idiom, own)
    return statement.encode()


def _escape(text: str) -> str:
    if "\0" in text or "\1" in text:
        return text.replace("\1", "\1\2").replace("\0", "\1\1")
    return text


def _unescape(text: Any) -> Any:
    return text.replace("\1\1", "\0").replace("\1\2", "\1") if "\1" in text else text


class _Text(StrDumperUnknown):
    def dump(self, obj: str) -> Buffer | None:
        return super().dump(_escape(obj))


class _BinaryText(StrBinaryDumper):
    def dump(self, obj: str) -> Buffer | None:
        return super().dump(_escape(obj))


class _TextLoader(TextLoader):
    def load(self, data: Buffer) -> bytes | str:
        return _unescape(super().load(data))  # type: ignore[no-any-return]


class _BinaryTextLoader(TextBinaryLoader):
    def load(self, data: Buffer) -> bytes | str:
        return _unescape(super().load(data))  # type: ignore[no-any-return]


_OLDEST = 13
"""The first version of PostgreSQL with all that the statements need, such as ``gen_random_uuid``."""
_CONNECT_SECONDS = 10
logging.getLogger("psycopg.pool").addHandler(logging.NullHandler())  # its warnings are our errors
_SETTINGS = (
    # plans are short: compiling them costs more; a table without statistics must not be read as a whole
    "SET jit = off; SET enable_seqscan = off; SET client_encoding = 'UTF8'; SET extra_float_digits = 1; "
    "SET search_path = {schema}, pg_temp; SET TimeZone = 'UTC'"
)


def _connection_setup(place: DatabaseURL) -> Any:
    def configure(connection: Session) -> None:
        for dumper in (_BinaryText, _Text):  # the last one is the default
            connection.adapters.register_dumper(str, dumper)
        for loader in (_TextLoader, _BinaryTextLoader):
            connection.adapters.register_loader("text", loader)
        connection.prepare_threshold = 2
        statement = sql.SQL(_SETTINGS).format(schema=sql.Identifier(place.schema))
        with connection.cursor() as cursor:
            cursor.execute(statement)

    return configure


def _options(place: DatabaseURL) -> dict[str, Any]:
    return {"connect_timeout": str(_CONNECT_SECONDS), "application_name": "neardup"} | place.options


def connect(place: DatabaseURL) -> Session:
    """A connection of its own, which commits each statement outside of a transaction."""
    connection: Session = psycopg.connect(**_options(place), autocommit=True)
    if connection.info.server_version < _OLDEST * 10_000:
        version = connection.info.parameter_status("server_version")
        connection.close()
        raise StoreUnavailableError(
            f"The server of {place} is PostgreSQL {display.printable(version or 'of an unknown version')}",
            f"PostgreSQL {_OLDEST} or later",
            "Upgrade the server with pg_upgrade, or name another one",
        )
    _connection_setup(place)(connection)
    return connection


def pool(place: DatabaseURL, wait: float) -> ConnectionPool[Session]:
    """The connections of readers, made when they are needed, and closed when they were not for ten minutes."""
    return ConnectionPool(
        "",
        kwargs={**_options(place), "autocommit": True},
        configure=_connection_setup(place),
        min_size=0,
        max_size=place.connections,
        num_workers=1,
        timeout=max(1.0, wait),
        reconnect_timeout=_CONNECT_SECONDS,
        open=True,
    )


def run(connection: Session, statement: str, parameters: Sequence[Any]) -> list[Any]:
    """Run a shared statement, and return all rows."""
    return fetch_rows(connection, translated_statement(statement), parameters)


def fetch_rows(
    connection: Session, statement: bytes | str, parameters: Sequence[Any] | Mapping[str, Any] = ()
) -> list[Any]:
    """Run a statement of PostgreSQL, and return all rows."""
    with connection.cursor(binary=True) as cursor:
        cursor.execute(statement, parameters)
        return cursor.fetchall() if cursor.description else []


def execute(connection: Session, statements: str) -> list[list[Any]]:
    """Run statements without parameters together, and return the rows of each that has rows."""
    with connection.cursor() as cursor:
        cursor.execute(statements)
        answers = []
        while True:
            if cursor.description:
                answers.append(cursor.fetchall())
            if not cursor.nextset():
                return answers


def copy(connection: Session, table: str, types: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Insert rows, with all columns, into a table."""
    with (
        connection.cursor() as cursor,
        cursor.copy(f"COPY {table} FROM STDIN (FORMAT BINARY)") as copying,
    ):
        if tuple(types) == ("int8", "bytea"):  # most rows; a tenth of the time
            copying.write(_COPY_HEAD)
            for part in _together(rows):
                copying.write(part)
            copying.write(_COPY_END)
            return
        copying.set_types(types)
        for row in rows:
            copying.write_row(row)


_COPY_HEAD, _COPY_END = b"PGCOPY\n\xff\r\n\0" + bytes(8), b"\xff\xff"
_ROW = struct.Struct(">hiqi")
_COPIED = 1000


def _together(rows: Iterable[Sequence[Any]]) -> Iterator[bytes]:
    """Rows of a whole number and bytes as COPY reads them, some together."""
    left = iter(rows)
    while part := list(islice(left, _COPIED)):
        yield b"".join(piece for number, data in part for piece in (_ROW.pack(2, 8, number, len(data)), data))


def is_lost(error: psycopg.Error, connection: Session | None) -> bool:
    """Whether an error has ended the connection, or the server ends all of them."""
    gone = connection is None or connection.closed
    return gone or (error.sqlstate or "").startswith(("08", "57P"))


@contextmanager
def translated_errors(place: DatabaseURL, wait: float) -> Iterator[None]:
    """Translate errors of PostgreSQL within the block into neardup errors about the collection ``place``."""
    try:
        yield
    except (PoolTimeout, PoolClosed) as error:
        raise StoreUnavailableError(
            f"The server of {place} gives no connection",
            "A server that runs, and has a connection left (connections=N in the URL is the most of a process)",
            "Try again",
        ) from error
    except psycopg.Error as error:
        raise _translated_error(error, place, wait) from _without_password(error)
    except UnicodeDecodeError as error:
        raise damaged_error(place, "it contains bytes that are not UTF-8") from error


def _without_password(error: psycopg.Error) -> psycopg.Error | None:
    """The error as a cause; the messages of a failed connection may quote what was given."""
    return error if error.sqlstate else None


def _translated_error(error: psycopg.Error, place: DatabaseURL, wait: float) -> NeardupError:
    state = error.sqlstate or ""
    message = (error.diag.message_primary or "").strip()
    match state:
        case "55P03":
            return busy_error(place, wait)
        case "57014":
            return too_long_error()
        case "53100":
            return OutputError(
                f"The server of {place} has no space left", "", "Make room, or give smaller batches. " + _UNHARMED
            )
        case "25006":
            return OutputError(
                f"{place} cannot be written to: the server is a replica",
                "The URL of the primary server",
                "Open it with readonly (--read-only) to search it",
            )
        case "42501":
            return StoreUnavailableError(
                f"The user of {place} may not do this: {message}",
                "A user who owns the schema, or may create it; SELECT on all tables to read",
                "Grant it, or name another user",
            )
        case "42P01" | "42703" | "3F000" | "42883":
            return damaged_error(place, message)
        case "54000" | "54001":
            return InputError("A document is too large to be stored", "At most 64 MB of text", "Split it")
        case "40001" | "40P01":
            return OutputError(f"{place} was changed while it was read: {message}", "", "Try again")
    if state.startswith(("XX", "22")):
        return damaged_error(place, message)
    if not state or state.startswith(("08", "57P", "53", "28", "3D")):
        why = message or _first_line(error)
        return StoreUnavailableError(
            f"The server of {place} cannot be used{f': {why}' if why else ''}",
            "A server that runs and admits this user",
            "Look at the server and its log, and try again",
        )
    return OutputError(f"{place}: {message} ({state}). Nothing of this batch was stored")


def _first_line(error: psycopg.Error) -> str:
    """What libpq says about a failed connection; it quotes no passwords, because it is given no URL."""
    return str(error).strip().partition("\n")[0][:300]
