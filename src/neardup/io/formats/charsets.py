"""The encoding of a text: by its byte order mark, its bytes, a detector, or as a page or mail declares it."""

import codecs
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import pyarrow as pa

How: TypeAlias = Literal["given", "byte order mark", "detected", "not found"]

SAMPLE_BYTES = 32 << 10
"""Size of the detector's sample, which bounds its time: about ten pages, from the first non-ASCII byte on."""

# utf-32 before utf-16, since the mark of utf-32-le begins with that of utf-16-le
_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)

# Encodings of documents, the more frequent first: where two fit equally well, the first is used.
_CANDIDATES = (
    *("cp1252", "cp1250", "cp1251", "cp1253", "cp1254", "cp1255", "cp1256", "cp1257", "cp1258", "cp874"),
    *("koi8_r", "koi8_u", "cp850", "cp852", "cp866", "iso8859_2"),
    *("cp932", "euc_jp", "gb18030", "big5", "cp949"),
)
_ALIKE_NOISE, _ALIKE_LANGUAGE = 0.01, 0.015

# In UTF-16 without a mark, at least one 2-byte unit in 40 has a NUL, always at the same parity, and at most one
# character in 100 is a control.
_FEWEST_NULS, _MOST_CONTROLS = 40, 100

# Python's internal encodings, never used by documents: some take quadratic time, one always fails.
_NOT_FOR_DOCUMENTS = {"idna", "punycode", "unicode_escape", "raw_unicode_escape", "mbcs", "oem", "undefined"}

# pages and mails are never in UTF-32, as in browsers
_PAGE_MARKS = tuple(mark for mark in _MARKS if "32" not in mark[1])

_ASCII = bytes(range(128))


@dataclass(frozen=True)
class Charset:
    """An encoding, how it was found, and the certainty, from 0 to 1."""

    encoding: str
    how: How
    certainty: float


UTF_8 = Charset("utf-8", "given", 1.0)
NOT_FOUND = Charset("utf-8", "not found", 0.0)


def charset_of(data: bytes, asked: str = "auto") -> Charset:
    r"""Return the encoding of a text, or of the beginning of one; ``asked`` overrides detection.

    A mark at the start decides; then UTF-8, if it is valid or damaged in few places; then UTF-16, by its NULs;
    then charset-normalizer. ``certainty`` is 1 − the share of noise that the detector finds, halved where another
    encoding that decodes the bytes differently fits as well.

    >>> charset_of(b"caf\xc3\xa9").encoding, charset_of("\ufeffabc".encode("utf-16-be")).encoding
    ('utf-8', 'utf-16-be')
    """
    if asked != "auto":
        return Charset(codecs.lookup(asked).name, "given", 1.0)
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            return UTF_8 if encoding == "utf-8" else Charset(encoding, "byte order mark", 1.0)
    if b"\0" in data[: 2 * SAMPLE_BYTES]:
        return (None if len(data) % 2 else _wide(data[: 2 * SAMPLE_BYTES])) or NOT_FOUND
    if is_utf8(data) or _damaged_utf8(data):
        return UTF_8
    return _detect(_detector_sample(data))


def utf8_text(data: bytes, charset: Charset) -> bytes:
    """Return a text as UTF-8 without its mark; bytes that are invalid in the encoding become U+FFFD.

    UTF-8 is returned unchanged.
    """
    for mark, encoding in _MARKS:
        if data.startswith(mark) and codecs.lookup(encoding).name in (charset.encoding, charset.encoding + "-le"):
            data = data[len(mark) :]
            break
    if charset.encoding == "utf-8":
        return data
    return data.decode(charset.encoding, "replace").encode("utf-8", "replace")


def is_utf8(data: bytes) -> bool:
    """Return whether the bytes are valid UTF-8."""
    if data.isascii():
        return True
    offsets = pa.array([0, len(data)], pa.int64()).buffers()[1]
    try:
        pa.LargeStringArray.from_buffers(1, offsets, pa.py_buffer(data)).validate(full=True)
    except pa.ArrowInvalid:
        return False
    return True


def _damaged_utf8(data: bytes) -> bool:
    """Return whether this is UTF-8 with some bytes lost: more multi-byte characters are whole than broken."""
    sample = _detector_sample(data)
    text = sample.decode("utf-8", "replace")
    broken = text.count("\ufffd") - sample.count("\ufffd".encode())
    whole = sum(char > "\x7f" for char in text) - text.count("\ufffd")
    return whole > broken


def _detector_sample(data: bytes) -> bytes:
    """Return the sample for the detector: the text around the first non-ASCII byte, with some ASCII before it."""
    ascii_before = len(data) - len(data.lstrip(_ASCII)) if len(data) <= SAMPLE_BYTES else _first_other(data)
    start = max(0, data.rfind(b"\n", 0, ascii_before) + 1, ascii_before - SAMPLE_BYTES // 8)
    sample = data[start : start + SAMPLE_BYTES]
    if start + SAMPLE_BYTES < len(data):  # do not cut within a character
        sample = sample[: sample.rfind(b"\n") + 1] or sample
    return sample


def _first_other(data: bytes) -> int:
    """Return the position of the first byte that is not ASCII."""
    step = 1 << 20
    for start in range(0, len(data), step):
        block = data[start : start + step]
        if not block.isascii():
            return start + len(block) - len(block.lstrip(_ASCII))
    return 0


def _detect(sample: bytes) -> Charset:
    from charset_normalizer import from_bytes  # imported only for files that need detection

    matches: list[Any] = list(from_bytes(sample, cp_isolation=list(_CANDIDATES)))
    if not matches:
        return NOT_FOUND
    best = matches[0]
    alike = [
        match
        for match in matches
        if match.chaos <= best.chaos + _ALIKE_NOISE and match.coherence >= best.coherence - _ALIKE_LANGUAGE
    ]
    chosen = min(alike, key=lambda match: _rank(match.encoding))
    texts = {sample.decode(match.encoding, "replace") for match in alike}
    certainty = (1 - chosen.chaos) / (1 if len(texts) == 1 else 2)
    return Charset(_usual_name(chosen.encoding, sample), "detected", round(certainty, 3))


def _usual_name(encoding: str, sample: bytes) -> str:
    """Return the most frequent of the encodings that decode these bytes to this text."""
    text = sample.decode(encoding, "replace")
    same = (name for name in _CANDIDATES if sample.decode(name, "replace") == text)
    return codecs.lookup(next(same, encoding)).name


def _rank(encoding: str) -> int:
    return _CANDIDATES.index(encoding) if encoding in _CANDIDATES else len(_CANDIDATES)


def _wide(sample: bytes) -> Charset | None:
    """Return UTF-16 if its pattern of NULs is present, else None."""
    nuls = (sample[1::2].count(0), sample[::2].count(0))
    for encoding, (here, there) in (("utf-16-le", nuls), ("utf-16-be", nuls[::-1])):
        if there or here * _FEWEST_NULS < len(sample) // 2:
            continue
        text = codecs.getincrementaldecoder(encoding)("replace").decode(sample)
        controls = sum(char < " " and char not in "\t\n\r\f" for char in text) + text.count("\ufffd")
        if controls * _MOST_CONTROLS <= len(text) and "\0" not in text:
            return Charset(encoding, "detected", round(1 - controls / max(1, len(text)), 3))
    return None


def decode(data: bytes, charset: str | None) -> str:
    r"""Return the text, decoded by its byte order mark, its declared charset, as UTF-8, or else as Windows-1252.

    Never fails: bytes that are invalid in the charset become U+FFFD.

    >>> decode(b"caf\xc3\xa9", None), decode(b"caf\xe9", None), decode(b"caf\xe9", "no-such-charset")
    ('café', 'café', 'café')
    """
    for mark, encoding in _PAGE_MARKS:
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
