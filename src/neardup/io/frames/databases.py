"""The rows that a query of a database returns: PostgreSQL and SQLite by ADBC, DuckDB by its own package."""

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pyarrow as pa

from neardup.display import printable
from neardup.errors import InputError, NeardupError, unusable
from neardup.io.frames.streams import SpooledDocuments, as_reader, spooled_tables
from neardup.io.place import without_password
from neardup.io.readers.base import CHUNK_BYTES
from neardup.io.readers.discovery import database_of

_BATCH_ROWS = 8192
_ALLOWED = "One query that returns rows with a text, such as SELECT id, body FROM letters ORDER BY id"


def from_query(
    places: Sequence[str | os.PathLike[str]], query: str, chunk_bytes: int = CHUNK_BYTES
) -> SpooledDocuments:
    """Return the rows of a query of one database, read once and kept on the disk if they are many.

    The connection may only read. Raises InputError for a driver that is missing, and for a query or a database
    that fails; no message has a password.
    """
    name = os.fspath(places[0])
    kind = database_of(name)
    shown = printable(without_password(name))
    if len(places) > 1:
        raise InputError(f"A query was given, and {len(places)} inputs", "One database", "Run them one by one")
    if kind is None:
        raise InputError(
            f"A query was given, and {shown} is no database",
            "postgresql://USER@HOST/DATABASE, or a file of SQLite or DuckDB",
            "Leave out --query, or name the database",
        )
    if not query:
        raise InputError(
            f"{shown} is a database of {kind}, and no query was given",
            _ALLOWED,
            "Give --query 'SELECT …'; a collection is read by neardup collection search and export",
        )
    with _in_words(name, shown), _OPENED[kind](name) as run:
        reader = run(query)
        schema = pa.schema([_plain(field) for field in reader.schema])
        batches = (pa.Table.from_batches([batch]) for batch in reader)
        tables = (pa.table([_storage(column) for column in table.columns], schema=schema) for table in batches)
        documents = spooled_tables(tables, schema, as_reader, chunk_bytes)
    documents.names = (shown,)
    return documents


@contextmanager
def _adbc(driver: str, uri: str, **options: str) -> Iterator[Callable[[str], Any]]:
    dbapi = import_module(f"{driver}.dbapi")
    with closing(dbapi.connect(uri, **options)) as connection, closing(connection.cursor()) as cursor:

        def run(query: str) -> Any:
            cursor.execute(query)
            return cursor.fetch_record_batch()

        yield run


def _postgresql(name: str) -> Any:
    joined = "&" if "?" in name else "?"
    return _adbc("adbc_driver_postgresql", f"{name}{joined}options={quote('-c default_transaction_read_only=on')}")


def _sqlite(name: str) -> Any:
    return _adbc("adbc_driver_sqlite", f"file:{quote(os.path.abspath(os.path.expanduser(name)))}?mode=ro")


@contextmanager
def _duckdb(name: str) -> Iterator[Callable[[str], Any]]:
    import duckdb

    def run(query: str) -> Any:
        relation = connection.sql(query)
        if relation is None:
            raise ValueError("the query returns no rows")
        reader = getattr(relation, "to_arrow_reader", None) or relation.fetch_arrow_reader  # its name before 1.5
        return reader(_BATCH_ROWS)

    with closing(duckdb.connect(Path(name).expanduser(), read_only=True)) as connection:
        yield run


_OPENED: dict[str, Callable[[str], Any]] = {"PostgreSQL": _postgresql, "SQLite": _sqlite, "DuckDB": _duckdb}
"""The connections to each kind of database."""


@contextmanager
def _in_words(name: str, shown: str) -> Iterator[None]:
    try:
        yield
    except (NeardupError, MemoryError):
        raise
    except ImportError as error:
        package = (error.name or "the driver").partition(".")[0]
        why, do = unusable(package, "sql", error)
        raise InputError(f"{shown} is a database, and {package}, which reads it, {why}", "", do) from None
    except Exception as error:  # each driver has errors of its own
        message = " ".join(str(error).replace(name, shown).split())
        raise InputError(
            f"{shown} cannot be read: {printable(without_password(message))}",
            _ALLOWED,
            "Check the database and the query",
        ) from None


def _plain(field: pa.Field) -> pa.Field:
    return pa.field(field.name, getattr(field.type, "storage_type", field.type), field.nullable)


def _storage(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return the values of an extension type, such as JSON of PostgreSQL, as the plain ones that it is made of."""
    if not isinstance(column.type, pa.BaseExtensionType):
        return column
    return pa.chunked_array([chunk.storage for chunk in column.chunks], column.type.storage_type)
