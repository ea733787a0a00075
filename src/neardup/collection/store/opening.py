"""Open a collection file: created atomically, refused if it is anything else, never overwritten."""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from urllib.parse import quote
from uuid import uuid4

from neardup.collection.contract import StoreUnavailableError
from neardup.collection.settings import CollectionSettings
from neardup.collection.store import log, schema
from neardup.collection.store.failures import damaged, explained, not_a_collection
from neardup.collection.store.holding import OpenFile
from neardup.collection.store.migrations import migrate, require_current
from neardup.errors import FormatError, InputError, OutputError, SettingError
from neardup.io.decisions.log import seal
from neardup.runtime import installed_version
from neardup.tables import FORMAT_VERSION as FINGERPRINT_VERSION
from neardup.text.keys import BYTES
from neardup.text.unicode_data import UNICODE_VERSION

_PAGE = 8192
"""Bytes of a page.

In a page of half the size, a text of 2 kB would be alone, and a fifth of the file empty (measured).
"""
_MAGIC = b"SQLite format 3\0"

# Measured on a million documents. FULL: changes that add() acknowledged survive a power cut too, for .3 ms a
# commit.
_PRAGMAS = (
    "synchronous = FULL",
    "wal_autocheckpoint = 10000",
    "journal_size_limit = 134217728",
    "mmap_size = 8589934592",
    "temp_store = MEMORY",
    "secure_delete = ON",
    "cell_size_check = ON",
    "trusted_schema = OFF",
)
WRITER_CACHE, READER_CACHE = 256 << 10, 32 << 10
"""The most KiB of pages that a connection keeps."""


def create(path: Path, settings: CollectionSettings) -> None:
    """Create an empty collection under another name next to ``path``, and give it its name at the end.

    If two processes or threads do this at once, one wins and both use its file.
    """
    made = path.with_name(f".{path.name[:80]}.{uuid4().hex}.new")
    try:
        with explained(path, 0):
            connection = sqlite3.connect(_uri(made, "rwc"), uri=True, isolation_level=None)
            try:
                connection.execute(f"PRAGMA page_size = {_PAGE}")
                connection.execute("PRAGMA journal_mode = WAL")
                connection.execute("BEGIN IMMEDIATE")
                schema.create(connection)
                header = _header(settings)
                header["seal"] = _header_seal(header)
                header[log.KEY] = log.first_record(log.schema_cookie(connection))
                connection.executemany("INSERT INTO header VALUES (?, ?)", header.items())
                connection.execute("COMMIT")
            finally:
                connection.close()
        with suppress(FileExistsError):
            os.link(made, path)
    except StoreUnavailableError as error:
        raise OutputError(
            f"No collection can be made at {path}", "A folder that exists and may be written to", "Choose another"
        ) from error
    except OSError as error:
        raise OutputError(f"No collection can be made at {path}: {error.strerror}") from error
    finally:
        made.unlink(missing_ok=True)


def connect(path: Path, *, readonly: bool, wait: float, cache: int) -> sqlite3.Connection:
    """A connection with ``_PRAGMAS`` and ``cache`` KiB of pages; usable from any thread, one at a time."""
    connection = sqlite3.connect(
        _uri(path, "ro" if readonly else "rw"),
        uri=True,
        isolation_level=None,
        timeout=wait,
        check_same_thread=False,
    )
    for pragma in _PRAGMAS:
        connection.execute(f"PRAGMA {pragma}")
    connection.execute(f"PRAGMA cache_size = -{cache}")
    return connection


def require_collection(file: OpenFile, path: Path) -> None:
    """Raise FormatError unless the file begins like a collection and has its own log.

    Call it before SQLite opens the file.
    """
    try:
        begin, size = file.read(100, 0), file.size()
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}", "A collection file") from error
    if not begin.startswith(_MAGIC):
        raise not_a_collection(path, "it is empty" if not begin else "it is not an SQLite database")
    if int.from_bytes(begin[68:72], "big") != schema.APPLICATION_ID:
        raise not_a_collection(path, "it is the SQLite database of another program")
    page = int.from_bytes(begin[16:18], "big")
    if page == 0 or (size % page and not _has_log(path)):
        # SQLite would read zeros for a missing end; while there is a log, the end may just be being written
        raise damaged(path, "its end was cut off")
    log.require_own_log(file, path)


def check(connection: sqlite3.Connection, path: Path, *, upgrade: bool) -> CollectionSettings:
    """Return the settings of an opened collection. Raises FormatError for one that this version would misread."""
    if upgrade:
        migrate(connection, str(path))
    foreign = _foreign_objects(connection, path)
    if foreign:
        raise damaged(path, f"its tables are not those of a collection ({', '.join(map(repr, foreign[:3]))})")
    header = dict(connection.execute("SELECT key, value FROM header"))
    header.pop(log.KEY, None)  # it changes all the time, and has a checksum of its own
    if header.pop("seal", "") != _header_seal(header):
        raise damaged(path, "its header was changed")
    made = (header.get("fingerprint"), header.get("unicode"))
    if made != (str(FINGERPRINT_VERSION), UNICODE_VERSION):
        raise FormatError(
            f"{path} was made with fingerprints of version {made[0]} and Unicode {made[1]}",
            f"This program makes version {FINGERPRINT_VERSION} with Unicode {UNICODE_VERSION}",
            "Use the program that wrote it, or add the documents to a new collection",
        )
    try:
        settings = CollectionSettings.of(**json.loads(header["settings"]))
        return replace(settings, secret=_secret(header["secret"]))
    except (KeyError, TypeError, ValueError, SettingError) as error:
        raise damaged(path, f"its settings cannot be read ({error})") from error


def _foreign_objects(connection: sqlite3.Connection, path: Path) -> list[str]:
    connection.execute("BEGIN")  # one state: another process may be adding the first base text
    try:
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        if version != schema.WITH_BASE_TEXTS:
            require_current(version, str(path))
        return schema.foreign_objects(connection)
    finally:
        if connection.in_transaction:
            connection.execute("COMMIT")


def _has_log(path: Path) -> bool:
    log = path.with_name(path.name + "-wal")
    return log.exists() and log.stat().st_size > 0


def _header_seal(header: Mapping[str, str]) -> str:
    return str(seal(sorted(header.items())))


def _header(settings: CollectionSettings) -> dict[str, str]:
    return {
        "neardup_version": installed_version("neardup") or "unknown",
        "fingerprint": str(FINGERPRINT_VERSION),
        "unicode": UNICODE_VERSION,
        "settings": json.dumps(settings.as_dict()),
        "secret": settings.secret.hex(),
    }


def _secret(stored: str) -> bytes:
    secret = bytes.fromhex(stored)
    if len(secret) != BYTES:
        raise ValueError(f"a secret of {len(secret)} bytes")
    return secret


def _uri(path: Path, mode: str) -> str:
    return f"file:{quote(os.fsencode(path.absolute()))}?mode={mode}"
