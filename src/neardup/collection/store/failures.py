"""Translate SQLite errors into messages that people can act on."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager

from neardup.collection.contract import StoreUnavailableError, too_long_error
from neardup.errors import FormatError, InputError, NeardupError, OutputError
from neardup.io.place import Place

_PRIMARY = 0xFF  # the low byte of an extended error code
_UNHARMED = "Nothing of this batch was stored; earlier documents are unharmed"


@contextmanager
def translated_errors(path: Place, wait: float) -> Iterator[None]:
    """Translate SQLite errors within the block into neardup errors about the collection ``path``."""
    try:
        yield
    except (sqlite3.Error, UnicodeDecodeError) as error:
        raise explained_error(error, path, wait) from error


def explained_error(error: sqlite3.Error | UnicodeDecodeError, path: Place, wait: float) -> NeardupError:
    """Return the neardup error about the collection ``path`` for an SQLite error."""
    if isinstance(error, UnicodeDecodeError):  # SQLite quotes the bytes that it cannot read
        return damaged_error(path, "it contains bytes that are not UTF-8")
    return _translated_error(error, path, wait)


def is_busy(error: sqlite3.Error) -> bool:
    """Whether another connection holds a lock that is needed."""
    code = getattr(error, "sqlite_errorcode", None) or 0
    return code & _PRIMARY in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)


def _translated_error(error: sqlite3.Error, path: Place, wait: float) -> NeardupError:
    code = getattr(error, "sqlite_errorcode", None)
    if code is None:
        if "decode" in str(error):  # the bytes read are not UTF-8, and only UTF-8 was ever written
            return damaged_error(path, str(error))
        # raised by the module, not by the database: a closed connection, a value of the wrong kind
        return StoreUnavailableError(
            f"The collection {path} cannot be used: {error}", "An open collection", "Open it again"
        )
    match code & _PRIMARY:
        case sqlite3.SQLITE_BUSY | sqlite3.SQLITE_LOCKED:
            return busy_error(path, wait)
        case sqlite3.SQLITE_INTERRUPT:
            return too_long_error()
        case sqlite3.SQLITE_FULL:
            return OutputError(
                f"There is no space left to write to {path}",
                "",
                "Make room, or give smaller batches. " + _UNHARMED,
            )
        case sqlite3.SQLITE_READONLY | sqlite3.SQLITE_PERM:
            return OutputError(
                f"{path} cannot be written to",
                "A file and a folder that may be written to (readers put locks there, too)",
                "Change their permissions, or work on a copy",
            )
        case sqlite3.SQLITE_CANTOPEN:
            return StoreUnavailableError(
                f"{path} cannot be opened",
                "A file that may be read, in a folder that may be written to (readers put locks there)",
                "Change the permissions, open it for reading only, or work on a copy",
            )
        case sqlite3.SQLITE_NOTADB:
            return not_a_collection_error(path, "it is not an SQLite database, or its first bytes are damaged")
        case sqlite3.SQLITE_IOERR:
            return OutputError(
                f"{path} could not be read or written: {error}",
                "",
                "Check the disk, its quotas and the collection. " + _UNHARMED,
            )
        case sqlite3.SQLITE_CORRUPT:
            return damaged_error(path, str(error))
        case sqlite3.SQLITE_TOOBIG:
            return InputError("A document is too large to be stored", "At most 64 MB of text", "Split it")
    return OutputError(f"{path}: {error}. Nothing of this batch was stored")


@contextmanager
def well_formed(path: Place) -> Iterator[None]:
    """Raise FormatError if stored values do not have the type that was written.

    SQLite keeps the type with the value: a flipped bit can turn a number into text, or into NULL.
    """
    try:
        yield
    except NeardupError:
        raise
    except (TypeError, ValueError, AttributeError, OverflowError) as error:
        raise damaged_error(path, f"a stored value differs from the written one ({error})") from error


def busy_error(path: Place, wait: float) -> OutputError:
    """Return the error for a file that another process or thread is writing to."""
    return OutputError(
        f"{path} has been locked by another writer for more than {wait:g} seconds",
        "One writer at a time",
        "Try again, or wait longer",
    )


def not_a_collection_error(path: Place, why: str) -> FormatError:
    """Return the error for a file that is not a collection."""
    return FormatError(
        f"{path} is not a neardup collection: {why}",
        "A file of neardup collection add or neardup.Collection",
        "Choose another name; this file was not touched",
    )


def damaged_error(path: Place, what: str) -> FormatError:
    """Return the error for a damaged collection."""
    return FormatError(f"The collection {path} is damaged: {what}", "", "Restore it from a copy")
