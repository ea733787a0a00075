"""The rows that a query of a database returns: PostgreSQL and SQLite by ADBC, DuckDB by its own package."""

import os
import re
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
_AS_ARROW = {
    "UUID": "text",
    "JSON": "text",
    "BIT": "bytes",
    "HUGEINT": "decimal numbers",
    "UHUGEINT": "decimal numbers",
    "TIME WITH TIME ZONE": "times without their zone",
}
"""Types of DuckDB that Arrow does not have, and those that its values get."""
_MIXED = re.compile(r"column (?P<column>\d+): expected (?P<first>\w+) but got (?P<then>\w+)")
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
        reader, notes = run(query)
        schema = pa.schema([_plain(field) for field in reader.schema])
        batches = (pa.Table.from_batches([batch]) for batch in _of_one_type(reader, shown))
        tables = (pa.table([_storage(column) for column in table.columns], schema=schema) for table in batches)
        documents = spooled_tables(tables, schema, as_reader, chunk_bytes)
    documents.names = (shown,)
    documents.findings.notes += notes
    return documents


def _of_one_type(reader: pa.RecordBatchReader, shown: str) -> Iterator[pa.RecordBatch]:
    """Yield the batches. Raises InputError that names the column in which SQLite has values of several types.

    The driver takes the type of a column without one from its first rows.
    """
    try:
        yield from reader
    except Exception as error:  # of the driver, which has the number of the column alone
        match = _MIXED.search(str(error))
        if match is None:
            raise
        name = printable(reader.schema.names[int(match["column"])])
        raise InputError(
            f'{shown}: the column "{name}" has values of several types: first {_type_words(match["first"])}, '
            f"and further down {_type_words(match['then'])}",
            "Columns of one type",
            f'Cast it in the query: SELECT CAST("{name}" AS TEXT) AS "{name}", … FROM …',
        ) from None


def _type_words(type_: str) -> str:
    """The type of a driver in plain words."""
    kinds = {"INT": "whole numbers", "DOUBLE": "numbers", "FLOAT": "numbers", "STRING": "text", "BINARY": "bytes"}
    return next((words for kind, words in kinds.items() if type_.startswith(kind)), type_)


@contextmanager
def _adbc(driver: str, uri: str, **options: str) -> Iterator[Callable[[str], Any]]:
    dbapi = import_module(f"{driver}.dbapi")
    with closing(dbapi.connect(uri, **options)) as connection, closing(connection.cursor()) as cursor:

        def run(query: str) -> Any:
            cursor.execute(query)
            return cursor.fetch_record_batch(), ()

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
        types = zip(relation.columns, map(str, relation.types), strict=True)
        notes = [
            f'the column "{printable(name)}" has the type {kind}: read and written as {_AS_ARROW[kind]}'
            for name, kind in types
            if kind in _AS_ARROW
        ]
        return reader(_BATCH_ROWS), notes

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
