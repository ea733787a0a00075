"""Decode the bytes of a web page or a mail by the charset they declare."""

from __future__ import annotations

import codecs

# Python's internal encodings, never used by documents: some take quadratic time, one always fails.
_NOT_FOR_DOCUMENTS = {"idna", "punycode", "unicode_escape", "raw_unicode_escape", "mbcs", "oem", "undefined"}

_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)


def decode(data: bytes, charset: str | None) -> str:
    r"""Return the text, decoded by its byte order mark, its declared charset, as UTF-8, or else as Windows-1252.

    Never fails: bytes that are invalid in the charset become U+FFFD.

    >>> decode(b"caf\xc3\xa9", None), decode(b"caf\xe9", None), decode(b"caf\xe9", "no-such-charset")
    ('café', 'café', 'café')
    """
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            return data[len(mark) :].decode(encoding, "replace")
    known = _codec(charset) if charset else None
    if known:
        return data.decode(known, "replace")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return data.decode("cp1252", "replace")


def _codec(charset: str) -> str | None:
    """Return the name of the codec, or None if documents do not use it.

    Like browsers, reads Latin-1 and ASCII as Windows-1252, the usual meaning in mails and pages; but a text that
    declares ASCII may as well be UTF-8.
    """
    try:
        found = codecs.lookup(charset.strip())
    except (LookupError, ValueError):
        return None
    if not getattr(found, "_is_text_encoding", True) or found.name in _NOT_FOR_DOCUMENTS:
        return None
    if found.name == "ascii":
        return None
    return "cp1252" if found.name == "iso8859-1" else found.name
