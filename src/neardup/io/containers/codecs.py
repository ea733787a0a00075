"""Compression of whole files: zstd and frames of lz4 by Arrow, gzip, xz and bzip2 by the standard library."""

import bz2
import gzip
import io
import lzma
import os
import shlex
import zlib
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pyarrow as pa

from neardup.display import printable
from neardup.errors import InputError
from neardup.io.containers.spools import Held, spool_stream
from neardup.io.place import without_query

COMPRESSIONS = {".gz": "gzip", ".zst": "zstd", ".xz": "xz", ".bz2": "bz2", ".lz4": "lz4"}
"""The codec of each suffix."""

SUFFIX_OF = {codec: suffix for suffix, codec in COMPRESSIONS.items()}
"""The suffix of each codec."""

XZ_BYTES = 1 << 30
"""Memory that an xz file may ask for. ``xz -9`` asks for 65 MB; a header can claim 4 GB."""

# The default of gzip itself; Python's 9 takes several times as long for a percent of size.
GZIP_LEVEL = 6

_BLOCK = 256 << 10
STEP = 64 << 10  # when a read fails, at most this many bytes are unpacked again one by one
_CUT_OFF = "Truncated compressed stream"
_TOO_FAR = "Frame requires too much memory"
_WINDOW = (
    "it was packed by zstd for a long window, and refers back more than the 128 MB that are held; pack it again: "
    "zstd -d -M2048MB -c {name} | zstd -o OTHER"
)


def codec_of(name: str) -> str | None:
    """Return the codec of a file name's suffix, or None.

    >>> codec_of("a.jsonl.XZ"), codec_of("a.txt")
    ('xz', None)
    """
    return COMPRESSIONS.get(os.path.splitext(without_query(name))[1].lower())


def unpacked_stream(raw: Any, codec: str, name: str = "FILE") -> Any:
    """Return a stream of the unpacked bytes of an open file; closing it closes the file. Errors name ``name``.

    ``read(size)`` returns at most ``size`` bytes. Raises OSError where the packed bytes are damaged or cut off,
    after all bytes before that place that the codec can unpack.
    """
    if codec in _STARTED:
        return _Unpacking(raw, _STARTED[codec])
    return _Stream(raw, codec, name)


def unpacked_bytes(data: bytes, codec: str, most: int) -> bytes:
    """Return the unpacked bytes. Raises InputError for more than ``most`` bytes, and for damaged or cut off data.

    >>> unpacked_bytes(bz2.compress(b"a text"), "bz2", 100)
    b'a text'
    """
    parts, length = [], 0
    try:
        with unpacked_stream(pa.BufferReader(data), codec) as stream:
            while part := bytes(stream.read(_BLOCK)):
                length += len(part)
                if length > most:
                    raise InputError(
                        f"It unpacks to more than {most >> 20} MB",
                        "Documents that people write",
                        "Unpack it, or leave it out if it is a bomb",
                    )
                parts.append(part)
    except (OSError, EOFError, pa.ArrowException) as error:
        raise InputError(
            f"It cannot be unpacked ({codec}): {error}", "A whole compressed file", "Compress it again"
        ) from error
    return b"".join(parts)


def unpacked_file(path: str, codec: str, most: int) -> tuple[Held, str | None]:
    """Unpack a file into a working file of at most ``most`` bytes; return it, and why it ends early, or None.

    Raises InputError if there is no room for it.
    """

    def open_stream() -> Any:
        return unpacked_stream(pa.OSFile(os.fsencode(path)), codec)

    with open_stream() as stream:
        held, reason = spool_stream(
            lambda size: bytes(stream.read(min(size, STEP))),
            path,
            most,
            lambda done: rest_after(open_stream, done),
        )
    return held, reason


def rest_after(opened: Callable[[], Any], done: int) -> bytes:
    """Return the bytes after the first ``done`` that can be unpacked one by one, where a longer read failed.

    ``opened`` opens the unpacked stream again.
    """
    saved: list[bytes] = []
    with suppress(OSError, EOFError, pa.ArrowException), opened() as stream:
        while done:
            done -= len(stream.read(min(STEP, done)))
        while len(saved) < STEP and (byte := bytes(stream.read(1))):
            saved.append(byte)
    return b"".join(saved)


def packing_file(raw: Any, codec: str | None) -> Any:
    """Return the file that packs into the open file ``raw``; the same bytes at every time.

    Without a codec, that is ``raw`` itself. Closing it does not close ``raw``.
    """
    if codec is None:
        return raw
    if codec == "gzip":  # without a name and a time, which would differ from run to run
        return gzip.GzipFile("", "wb", GZIP_LEVEL, raw, mtime=0)
    if codec == "xz":
        return lzma.open(raw, "wb")
    if codec == "bz2":
        return bz2.open(raw, "wb")
    return pa.CompressedOutputStream(pa.PythonFile(raw, mode="w"), codec)


class _Stream(io.RawIOBase):
    """The unpacked bytes of a codec of Arrow."""

    def __init__(self, raw: Any, codec: str, name: str) -> None:
        super().__init__()
        self._stream, self._name = pa.CompressedInputStream(raw, codec), name

    def read(self, size: int = -1) -> bytes:
        """Read 1 to ``size`` bytes; none at the end."""
        try:
            return bytes(self._stream.read(size))
        except OSError as error:
            window = _WINDOW.format(name=shlex.quote(printable(self._name)))
            raise OSError(window if _TOO_FAR in str(error) else str(error)) from error

    def close(self) -> None:
        self._stream.close()
        super().close()


class _Unpacking(io.RawIOBase):
    """The unpacked bytes of gzip, xz or bzip2: of all the streams in the file, one after the other."""

    def __init__(self, raw: Any, start: Callable[[], Any]) -> None:
        super().__init__()
        self._raw, self._start = raw, start
        self._unpacker: Any = start()
        self._waiting = b""
        self._begun = False

    def read(self, size: int = -1) -> bytes:
        """Read 1 to ``size`` bytes; none at the end."""
        while True:
            if self._unpacker.eof and not self._next_stream():
                return b""
            packed = self._waiting or (bytes(self._raw.read(_BLOCK)) if self._unpacker.needs_input else b"")
            self._waiting = b""
            if not packed and self._unpacker.needs_input:
                if self._begun:
                    raise OSError(_CUT_OFF)
                return b""  # an empty file
            self._begun = True
            try:
                found: bytes = self._unpacker.decompress(packed, size)
            except (lzma.LZMAError, zlib.error, EOFError) as error:
                raise OSError(f"damaged compressed stream: {error}") from error
            if found:
                return found

    def _next_stream(self) -> bool:
        """Start to read the stream after a finished one; return whether there is any."""
        rest = self._unpacker.unused_data.lstrip(b"\0")  # gzip and xz files may be padded with zeros
        while not rest and (block := bytes(self._raw.read(_BLOCK))):
            rest = block.lstrip(b"\0")
        if not rest:
            return False
        self._unpacker, self._waiting = self._start(), rest
        return True

    def close(self) -> None:
        self._raw.close()
        super().close()


class _Gunzip:
    """A gzip member, with the methods of the unpackers of the standard library for xz and bzip2."""

    needs_input = True

    def __init__(self) -> None:
        self._member = zlib.decompressobj(16 + zlib.MAX_WBITS)

    @property
    def eof(self) -> bool:
        return self._member.eof

    @property
    def unused_data(self) -> bytes:
        return self._member.unused_data

    def decompress(self, packed: bytes, size: int) -> bytes:
        unpacked = self._member.decompress(self._member.unconsumed_tail + packed, size)
        self.needs_input = not self._member.unconsumed_tail and len(unpacked) < size
        return unpacked


_STARTED: dict[str, Callable[[], Any]] = {
    "gzip": _Gunzip,
    "xz": lambda: lzma.LZMADecompressor(memlimit=XZ_BYTES),
    "bz2": bz2.BZ2Decompressor,
}
