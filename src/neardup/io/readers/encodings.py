"""Find the encoding of a file of lines, from its beginning and some places further on."""

from __future__ import annotations

from neardup.io.formats.charsets import UTF_8, Charset, charset_of
from neardup.io.readers.sources import Source

HEAD_BYTES = 1 << 20
"""Number of bytes examined at the beginning."""

PLACES, PLACE_BYTES = 16, 64 << 10
"""Number of places examined further on, in files that are neither compressed nor remote."""

_MARKS = (b"\xff\xfe", b"\xfe\xff", b"\0\0\xfe\xff")

_HIGH = bytes(range(128, 256))


def charset_of_source(source: Source, asked: str = "auto") -> Charset:
    """Return the encoding of a file; ``asked`` overrides detection. Raises the errors of reading.

    Invalid UTF-8 outside the examined places is counted when the file is read.
    """
    if asked != "auto":
        return charset_of(b"", asked)
    with source.open() as file:
        head = bytes(file.read(HEAD_BYTES))
    if b"\0" in head and b"\0" not in head[:2] and not head.startswith(_MARKS):
        return UTF_8  # UTF-16 would show in the first character: a brace, a quote, a column name
    if len(head) < HEAD_BYTES:
        return charset_of(head)
    found = charset_of(_whole(head))
    if found != UTF_8 or source.compression or not source.is_local or source.size is None:
        return found
    parts = []
    with open(source.path, "rb") as plain:
        for place in range(1, PLACES + 1):
            plain.seek(max(HEAD_BYTES, (source.size - PLACE_BYTES) * place // PLACES))
            parts.append(_whole(plain.read(PLACE_BYTES)))
    return charset_of(_whole(head) + b"".join(parts))


def _whole(part: bytes) -> bytes:
    """Leave out a possible partial character at either end."""
    if part.startswith(_MARKS) or b"\0" in part:
        return part
    return part.rstrip(_HIGH) if part.startswith(b"\xef\xbb\xbf") else part.strip(_HIGH)
