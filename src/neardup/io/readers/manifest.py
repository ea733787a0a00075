"""``manifest.json`` of a result: the files that neardup wrote into the folder, their sizes and their digests.

It proves that a folder is an unchanged result before anything in it is replaced or decoded. It guards against
damage and mistakes, not against deliberate changes to a table and the manifest together.
"""

import hashlib
import os
import stat
from collections.abc import Collection
from pathlib import Path
from typing import Annotated

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from neardup.display import printable
from neardup.errors import InputError
from neardup.io.readers.sources import open_regular
from neardup.tables import DECISIONS_FILE

RUN_FILE = "run.json"
MANIFEST = "manifest.json"

MOST_BYTES = 1 << 20
"""A manifest is a few hundred bytes: it has one entry for each file, and one for the folder ``kept``."""

Digest = Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{64}$")]
Size = Annotated[int, msgspec.Meta(ge=0, le=1 << 60)]


class Written(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    """A file: its size, and the SHA-256 of its content. Or a folder: the total size, and the SHA-256 of the names.

    A folder has the number of its ``files``. The kept documents, which may be many gigabytes and belong to the
    user, have no digest.
    """

    bytes: Size
    files: Size | None = None
    sha256: Digest | None = None


class Manifest(msgspec.Struct, forbid_unknown_fields=True):
    """All files that were written into a result folder, by name, except the manifest itself."""

    neardup_version: str
    format: int
    files: dict[str, Written]


class ChangedError(Exception):
    """A result folder has changed since it was written; the message describes how."""


def manifest_of(folder: Path, digested: Collection[str], version: tuple[str, int]) -> bytes:
    """Return the manifest of a folder as JSON, with digests for ``digested``. ``version``: program, format."""
    files = {entry.name: _written_file(entry, entry.name in digested) for entry in sorted(folder.iterdir())}
    encoded = msgspec.json.encode(Manifest(*version, files), order="sorted")
    return msgspec.json.format(encoded, indent=2) + b"\n"


def read_manifest(folder: Path) -> Manifest:
    """Return the manifest of a folder. Raises ChangedError if it is missing, or another program's."""
    try:
        return msgspec.json.decode(read_regular(folder / MANIFEST, MOST_BYTES), type=Manifest)
    except FileNotFoundError:
        raise ChangedError(f"it has no {MANIFEST}") from None
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise ChangedError(f"its {MANIFEST} cannot be used ({_first_line(error)})") from error


def require_own(folder: Path) -> None:
    """Raise ChangedError unless neardup wrote everything in the folder, and ``run.json`` is unchanged.

    Missing files are allowed: a replacement cannot lose them.
    """
    manifest = read_manifest(folder)
    read_whole(folder, RUN_FILE, manifest)
    for entry in sorted(folder.iterdir()):
        written = manifest.files.get(entry.name)
        found = entry.lstat().st_mode
        if entry.name == MANIFEST or (written and written.files is None and stat.S_ISREG(found)):
            continue
        if written is None and entry.name == DECISIONS_FILE:
            raise ChangedError(f"it holds the decisions of a review ({DECISIONS_FILE})")
        if written is None or written.files is None or not stat.S_ISDIR(found):
            raise ChangedError(f"{printable(entry.name)} in it was not written by neardup")
        if _written_file(entry, digested=False).sha256 != written.sha256:
            raise ChangedError(f"the files in {printable(entry.name)} are not those that neardup has written")


def read_whole(folder: Path, name: str, manifest: Manifest) -> bytes:
    """Return the bytes of a file of the result. Raises ChangedError unless they are those written."""
    written = manifest.files.get(name)
    if written is None or written.sha256 is None:
        raise ChangedError(f"{MANIFEST} does not name {name}")
    try:
        data = read_regular(folder / name, written.bytes)
    except FileNotFoundError:
        raise ChangedError(f"{name} is not there") from None
    except OSError as error:
        raise ChangedError(f"{name} cannot be read ({_first_line(error)})") from error
    if len(data) != written.bytes:
        raise ChangedError(f"{name} has {len(data):,} bytes, and {written.bytes:,} were written")
    if hashlib.sha256(data).hexdigest() != written.sha256:
        raise ChangedError(f"{name} has been changed: its SHA-256 is not the one in {MANIFEST}")
    return data


def read_regular(path: Path, most: int) -> bytes:
    """Return the bytes of a regular file, at most ``most``, without following links. Raises OSError otherwise."""
    with open_regular(path, follow=False) as file:
        size = os.fstat(file.fileno()).st_size
        if size > most:
            raise OSError(f"it has {size:,} bytes, and at most {most:,} are expected")
        return bytes(file.read(most))


def _written_file(path: Path, digested: bool) -> Written:
    if not path.is_dir():
        digest = _sha256_of(path) if digested else None
        return Written(path.stat().st_size, sha256=digest)
    names, size = [], 0
    for parent, folders, files in os.walk(path):
        names += [os.path.relpath(os.path.join(parent, name), path) for name in (*files, *folders)]
        size += sum(os.lstat(os.path.join(parent, name)).st_size for name in files)
    listed = b"\0".join(sorted(os.fsencode(name) for name in names))
    return Written(size, len(names), hashlib.sha256(listed).hexdigest())


def _sha256_of(path: Path) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _first_line(error: BaseException) -> str:
    reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return reason.strip().partition("\n")[0] or type(error).__name__


def damaged_error(folder: Path, reason: str) -> InputError:
    """Return the error for a result folder with an unusable part."""
    return InputError(
        f"{folder} cannot be used: {reason}",
        "A folder as this version of neardup writes it, with all its files",
        "Make the result again",
    )


def reader_of(data: bytes) -> pa.BufferReader:
    """Return a reader of a copy of the bytes that Arrow owns.

    A thread of Arrow may be the last that needs the bytes. It then needs the interpreter to free those of Python,
    and the process is aborted if the interpreter has ended by then.
    """
    copy = pa.allocate_buffer(len(data))
    with pa.FixedSizeBufferWriter(copy) as writer:
        writer.write(data)
    return pa.BufferReader(copy)


def table_in(folder: Path, name: str) -> pa.Table:
    """Return a table of a folder that need not be whole. Raises OSError, and ChangedError for other bytes."""
    path = folder / f"{name}.parquet"
    return decoded_table(name, read_regular(path, path.lstat().st_size))


def decoded_table(name: str, data: bytes) -> pa.Table:
    """Return a table of a result from the bytes of its file. Raises ChangedError for any other bytes."""
    try:
        table = pq.ParquetFile(reader_of(data)).read()
        table.validate(full=True)
    except MemoryError:
        raise
    except (OSError, pa.ArrowException, ValueError, TypeError, KeyError, OverflowError) as error:
        reason = str(error).strip().partition("\n")[0] or type(error).__name__
        raise ChangedError(f"{name}.parquet cannot be used: {reason}") from error
    return table
