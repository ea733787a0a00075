"""The files beside fingerprints: the key, a secret that the parts share, and the names of groups.

A group that has a name keeps it when documents join it later.
"""

import hashlib
import hmac
import os
import secrets
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import numpy as np
import pyarrow as pa

from neardup.errors import InputError, OutputError
from neardup.io.readers.manifest import read_regular
from neardup.io.readers.sources import open_regular
from neardup.io.writers.filesystem import exposure_warning, restrict, unwritable_error
from neardup.io.writers.output import stamped_schema
from neardup.tables import Int64s

SHARED = ".neardup-key"
"""The key file that parts in one folder share."""

_KEY_BYTES = 32
FOLDER = ".neardup-groups"
"""The folder beside the parts; it has a file for each part."""

NAMES = pa.schema([("row", pa.int64()), ("group", pa.string()), ("joined", pa.list_(pa.string()))])
"""A row of the part that is in a group, ascending; the name of the group; other groups it is a near copy in."""


def key_file(folder: Path, given: Path | None) -> Path:
    """Return the key file of a folder of fingerprints: the ``given`` one, else that beside the folder."""
    return folder.parent / SHARED if given is None else given


def new_key_file(path: Path, secret: bytes) -> None:
    """Write a key file, readable for its owner only. Raises OutputError if it exists or cannot be written."""
    try:
        _create(path, secret)
    except FileExistsError:
        raise OutputError(
            f"{path} exists already", "A file that does not exist yet", "Use it with --key, or choose another name"
        ) from None
    except OSError as error:
        raise unwritable_error(path, error) from error


def shared_secret(path: Path, new: bytes) -> bytes:
    """Return the secret of a key file; the first of several processes makes the file of the secret ``new``."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with suppress(FileExistsError):
        try:
            _create(path, new)
        except FileExistsError:
            raise
        except OSError as error:
            given = unwritable_error(path, error).given
            allowed = "A folder that may be written, for the key that all parts share"
            raise OutputError(given, allowed, "Name a key file with --key; --new-key makes one") from error
    return read_secret(path)


def read_secret(path: Path) -> bytes:
    """Return the secret of a key file. Raises InputError if there is none."""
    try:
        with open_regular(str(path)) as file:
            written = file.read(4 * _KEY_BYTES)
    except OSError as error:
        raise InputError(
            f"The key of the fingerprints cannot be read: {path}: {error.strerror or error}",
            "The key file under which the parts were fingerprinted",
            "Name it with --key",
        ) from error
    try:
        secret = bytes.fromhex(written.decode("ascii").strip())
    except (ValueError, UnicodeDecodeError):
        secret = b""
    if len(secret) != _KEY_BYTES:
        raise InputError(
            f"{path} is not a key file", f"{2 * _KEY_BYTES} hexadecimal digits", "Make one with --new-key"
        )
    return secret


def notes_on(path: Path) -> tuple[str, ...]:
    """Return a note if other users may read a key file."""
    warning, _, way = exposure_warning(path).partition("\n")
    return (f"{warning} ({way})",) if warning else ()


def name_of(secret: bytes) -> str:
    """Return the public name of a secret, by which parts recognise that they share it."""
    return hashlib.sha256(b"neardup key name 1" + secret).hexdigest()[:16]


def seal_of(data: bytes, secret: bytes) -> str:
    """Return a digest of data that only holders of the secret can make."""
    return hmac.new(hashlib.sha256(b"neardup manifest 1" + secret).digest(), data, hashlib.sha256).hexdigest()


def _create(path: Path, secret: bytes) -> None:
    """Write a key file whole or not at all. Raises FileExistsError, OSError."""
    partial = path.with_name(f"{path.name}.{secrets.token_hex(8)}")
    try:
        handle = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with open(handle, "wb") as file:
            file.write(secret.hex().encode() + b"\n")
            file.flush()
            os.fsync(file.fileno())
        try:
            os.link(partial, path)
        except FileExistsError:
            raise
        except OSError:  # a file system without hard links
            if os.path.lexists(path):
                raise FileExistsError(path) from None
            os.rename(partial, path)
    finally:
        with suppress(FileNotFoundError):
            partial.unlink()


def read_names(part: Path) -> pa.Table:
    """Return the NAMES of the rows of a part; empty if none are stored. Raises InputError for another table."""
    path = _path(part)
    try:
        with pa.ipc.open_file(pa.BufferReader(read_regular(path, path.lstat().st_size))) as reader:
            table = reader.read_all()
        table.validate(full=True)
    except FileNotFoundError:
        return NAMES.empty_table()
    except (OSError, pa.ArrowException, ValueError) as error:
        raise _unusable_error(path, str(error)) from error
    if not table.schema.equals(NAMES) or any(column.null_count for column in table.columns):
        raise _unusable_error(path, "its columns are others")
    if (np.diff(table["row"].to_numpy()) <= 0).any():
        raise _unusable_error(path, "its rows are not in order")
    return table


def write_names(part: Path, table: pa.Table, access: int) -> None:
    """Write the NAMES of a part, in place of earlier ones, whole or not at all. Raises OutputError."""
    path = _path(part)
    partial = path.with_name(f"{path.name}.{secrets.token_hex(8)}")
    try:
        path.parent.mkdir(exist_ok=True)
        restrict(path.parent, access)
        try:
            with (
                pa.OSFile(os.fsencode(partial), "wb") as file,
                pa.ipc.new_file(file, stamped_schema(NAMES)) as writer,
            ):
                writer.write_table(table.cast(NAMES))
            restrict(partial, access)
            os.replace(partial, path)
        finally:
            with suppress(FileNotFoundError):
                partial.unlink()
    except OSError as error:
        raise unwritable_error(path, error) from error


def names_at(table: pa.Table, rows: Sequence[int]) -> list[str | None]:
    """Return the names of the groups of some rows, None for those without one."""
    known: Int64s = table["row"].to_numpy()
    at = np.searchsorted(known, rows)
    there = at < len(known)
    there[there] = known[at[there]] == np.asarray(rows)[there]
    found: list[str | None] = table["group"].take(pa.array(at, mask=~there)).to_pylist()
    return found


def _path(part: Path) -> Path:
    return part.parent / FOLDER / f"{part.name}.arrow"


def _unusable_error(path: Path, why: str) -> InputError:
    return InputError(
        f"The names of groups in {path} cannot be used: {why}",
        "A file as neardup has written it",
        "Restore it, or remove it to name the groups anew",
    )
