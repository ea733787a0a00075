"""The key file of fingerprints: one secret that all parts which are to be compared share."""

import hashlib
import hmac
import os
import secrets
from contextlib import suppress
from pathlib import Path

from neardup.errors import InputError, OutputError
from neardup.io.readers.sources import open_regular
from neardup.io.writers.filesystem import exposure_warning, unwritable_error

SHARED = ".neardup-key"
"""The key file that parts in one folder share."""

_BYTES = 32


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
            written = file.read(4 * _BYTES)
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
    if len(secret) != _BYTES:
        raise InputError(
            f"{path} is not a key file", f"{2 * _BYTES} hexadecimal digits", "Make one with --new-key"
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
