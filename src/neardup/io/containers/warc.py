"""The records of WARC files (ISO 28500): where each begins and ends, its headers, and its content.

``warcio`` reads headers and HTTP messages. The records are found here, because its iterator reads lines without a
limit, takes a damaged gzip member for the end of the file, and writes parts of the file to standard error.

A ``.warc.gz`` has each record in a gzip member of its own, so that records are copied without unpacking them. A
file that is compressed in another way is one stream.
"""

import io
import re
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from warcio.bufferedreaders import BufferedReader, ChunkedDataReader
from warcio.statusandheaders import StatusAndHeadersParser, StatusAndHeadersParserException

from neardup.io.containers.base import HEADER_BYTES, UNPACKED_BYTES

BODY_BYTES = 64 << 20
"""Size of a record that is read as a document, stored and decoded; as for a row of a data file."""

_STEP = 16 << 10  # the rest of a step behind a gzip member is copied
_FEW = 64
_BLOCK = 1 << 20
_SLICE = 1 << 20
_NEXT = re.compile(rb"\n(?=WARC/\d)")
_BLANK, _END, _VERSION = b"\r\n", b"\r\n\r\n", b"WARC/"

_DOCUMENTS = frozenset(("response", "resource", "conversion"))
# Addresses of records that describe others, such as the texts and thumbnails that crawlers add to pages.
_SERVICE = ("urn:", "dns:", "whois:", "ntp:", "metadata:", "warcinfo:")

Fields = Mapping[str, str]

_READ = StatusAndHeadersParser(["WARC/1.1", "WARC/1.0", "WARC/0.17", "WARC/0.18"]).parse
_READ_HTTP = StatusAndHeadersParser([], verify=False).parse
_REFUSED = (StatusAndHeadersParserException, EOFError, ValueError, IndexError)

_CHARSET = re.compile(r"charset\s*=\s*[\"']?\s*([A-Za-z0-9_:.-]{1,40})", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class WarcRecord:
    """A record: its place ``start`` to ``end`` in the file (or in the unpacked stream), and its parts.

    ``fields`` are the WARC headers by their names in lower case. ``block`` has the content of a document, whatever
    its encoding, without that of other records. ``fault`` is the reason for which the bytes are no whole record.
    """

    number: int
    start: int
    end: int
    fields: Fields = field(default_factory=dict)
    names: tuple[str, ...] = ()
    block: bytes = b""
    length: int = 0
    fault: str | None = None

    @property
    def type(self) -> str:
        """The type of the record in lower case, empty for a damaged one."""
        return self.fields.get("warc-type", "").lower()

    @property
    def url(self) -> str | None:
        """The target URI, without the angle brackets of early versions of wget."""
        address = self.fields.get("warc-target-uri", "").strip("<> ")
        return address or None

    @property
    def id(self) -> str:
        """The identifier of the record, empty if it has none."""
        return self.fields.get("warc-record-id", "").strip("<> ")

    @property
    def beside(self) -> str:
        """The identifier of the record made by the same event, such as the response to a request, or nothing."""
        return self.fields.get("warc-concurrent-to", "").strip("<> ")

    @property
    def is_document(self) -> bool:
        """Whether the record holds a page or another document, and does not describe other records."""
        return is_document(self.fields)


def is_document(fields: Fields) -> bool:
    """Return whether a record with these headers holds a document."""
    address = fields.get("warc-target-uri", "").lstrip("< ").lower()
    return fields.get("warc-type", "").lower() in _DOCUMENTS and not address.startswith(_SERVICE)


class _DamageError(Exception):
    """Bytes that are no record; the message is the reason."""


def _head(data: bytes, place: int) -> tuple[Fields, tuple[str, ...], int]:
    """Return the headers of the record at a place, their names, and the place after them."""
    end = head_end(data, place)
    if end is None:
        long = len(data) - place >= HEADER_BYTES
        raise _DamageError("its header is longer than 1 MB" if long else "it is cut off within its header")
    try:
        headers = _READ(io.BytesIO(data[place:end])).headers
    except _REFUSED as error:
        raise _DamageError("it does not begin with the version of WARC") from error
    return _by_name(headers), tuple(name for name, _ in headers), end


def _by_name(headers: Iterable[tuple[str, str]]) -> dict[str, str]:
    fields: dict[str, str] = {}
    for name, value in headers:
        fields.setdefault(name.lower(), value)
    return fields


def head_end(data: bytes, place: int = 0) -> int | None:
    r"""Return the place after the blank line that ends the headers at a place; None for longer or unfinished ones.

    >>> head_end(b"a: b\r\n\r\nc"), head_end(b"a: b\n\nc\r\n\r\n"), head_end(b"a: b\r\n")
    (8, 6, None)
    """
    most = place + HEADER_BYTES
    end = data.find(b"\r\n\r\n", place, most)
    short = data.find(b"\n\n", place, most if end < 0 else end)
    if short >= 0:
        return short + 2
    return None if end < 0 else end + 4


def length_in(fields: Fields) -> int:
    """Return the length of the content by the header."""
    value = fields.get("content-length", "").strip()
    if not (value.isascii() and value.isdigit() and len(value) < 19):
        raise _DamageError("it has no Content-Length that is a number")
    return int(value)


class _Window:
    """The bytes of a stream from a place on, as far as they are asked for."""

    def __init__(self, read: Callable[[int], bytes], offset: int) -> None:
        self._read, self._data, self._at, self._ended = read, b"", 0, False
        self.offset = offset

    def ahead(self, size: int) -> tuple[bytes, int]:
        """Return bytes and the place in them from which on there are ``size`` of them, fewer only at the end."""
        if len(self._data) - self._at < size and not self._ended:
            parts, length = [self._data[self._at :]], len(self._data) - self._at
            while length < size and not self._ended:
                part = bytes(self._read(max(_BLOCK, size - length)))
                self._ended = not part
                parts.append(part)
                length += len(part)
            self._data, self._at = b"".join(parts), 0
        return self._data, self._at

    def skip(self, size: int) -> int:
        """Pass over bytes; return how many were there."""
        left = size
        while left:
            data, place = self.ahead(1)
            step = min(left, len(data) - place)
            if not step:
                break
            self._go(step)
            left -= step
        return size - left

    def skip_blank(self) -> None:
        """Pass over line ends."""
        while True:
            data, place = self.ahead(_FEW)
            part = data[place : place + _FEW]
            blank = len(part) - len(part.lstrip(_BLANK))
            self._go(blank)
            if blank < len(part) or not part:
                return

    def skip_damage(self) -> None:
        """Go to the next line that begins as a record does, or to the end."""
        self._go(1)
        while True:
            data, place = self.ahead(_BLOCK)
            match = _NEXT.search(data, place)
            if match:
                self._go(match.end() - place)
                return
            if len(data) - place <= len(b"\nWARC/1"):
                self._go(len(data) - place)
                return
            self._go(len(data) - place - len(b"\nWARC/1") + 1)

    def _go(self, size: int) -> None:
        size = min(size, len(self._data) - self._at)
        self._at += size
        self.offset += size


def stream_records(read: Callable[[int], bytes], start: int = 0, number: int = 0) -> Iterator[WarcRecord]:
    """Yield the records of an unpacked stream, which begins at the place ``start`` with record ``number``.

    A record ends before the next one. Bytes that are no record are one with a ``fault``; reading goes on at the
    next line that begins with the version of WARC.
    """
    window = _Window(read, start)
    window.skip_blank()
    while True:
        data, place = window.ahead(HEADER_BYTES)
        if place >= len(data):
            return
        start = window.offset
        record = _next_record(window, number)
        if record.fault is not None:
            window.skip_damage()
        yield record if record.fault is None else WarcRecord(number, start, window.offset, fault=record.fault)
        number += 1


def _next_record(window: _Window, number: int) -> WarcRecord:
    """Return the next record and pass over it; a damaged one stays ahead unless it is too long for that."""
    start = window.offset
    data, place = window.ahead(HEADER_BYTES)
    try:
        fields, names, end = _head(data, place)
        length = length_in(fields)
    except _DamageError as error:
        return WarcRecord(number, start, start, fault=str(error))
    size = end - place + length
    if length <= BODY_BYTES:
        data, place = window.ahead(size + len(_END) + len(_VERSION))
        rest = data[place + size : place + size + len(_END) + len(_VERSION)]
    else:
        size -= window.skip(size)
        data, place = window.ahead(len(_END) + len(_VERSION))
        rest = data[place : place + len(_END) + len(_VERSION)]
    if len(data) - place < size:
        return WarcRecord(number, start, start, fault="it is cut off")
    follows = rest.strip(_BLANK)
    ends = not follows or rest.startswith(_END) or (rest != follows and _VERSION.startswith(follows))
    if not ends:
        return WarcRecord(number, start, start, fault=_wrong_length(length))
    block = data[place + size - length : place + size] if is_document(fields) and length <= BODY_BYTES else b""
    window.skip(size)
    window.skip_blank()
    return WarcRecord(number, start, window.offset, fields, names, block, length)


def _wrong_length(length: int) -> str:
    return f"its Content-Length is wrong: no record follows its {length:,} bytes"


def member_records(
    read: Callable[[int], bytes], most: int, start: int = 0, number: int = 0
) -> Iterator[WarcRecord]:
    """Yield the records of a gzip file with one record in each member; their places are those of the members.

    The first one has this ``number`` and ``start``. Raises OSError where a member is damaged or cut off, and if
    they unpack to more than ``most`` bytes.
    """
    for begin, end, data, length in _members(read, most):
        yield _of_member(number, (start + begin, start + end), data, length)
        number += 1


def is_one_stream(read: Callable[[int], bytes]) -> bool:
    """Return whether the first gzip member of a file holds more than one record. Raises OSError."""
    for *_, data, _ in _members(read, UNPACKED_BYTES):
        first = next(stream_records(io.BytesIO(data).read), None)
        return first is not None and first.fault is None and data.startswith(_VERSION, first.end)
    return False


def _of_member(number: int, place: tuple[int, int], data: bytes, unpacked: int) -> WarcRecord:
    """Return the record in a member, which has ``unpacked`` bytes and begins with ``data``."""
    try:
        fields, names, end = _head(data, len(data) - len(data.lstrip(_BLANK)))
        length = length_in(fields)
    except _DamageError as error:
        return WarcRecord(number, *place, fault=str(error))
    if end + length > unpacked:
        return WarcRecord(number, *place, fault="it is cut off")
    if data[end + length :].strip(_BLANK) or unpacked - end - length > _FEW:
        return WarcRecord(number, *place, fault=_wrong_length(length))
    keep = is_document(fields) and length <= BODY_BYTES
    return WarcRecord(number, *place, fields, names, data[end : end + length] if keep else b"", length)


def _members(read: Callable[[int], bytes], most: int) -> Iterator[tuple[int, int, bytes, int]]:
    """Yield start, end, the first bytes and the unpacked length of each gzip member.

    No more bytes of a member are held than a record may have.
    """
    steps, waiting, place, total = _steps(read), b"", 0, 0
    while waiting or (waiting := next(steps, b"")):
        start, member = place, zlib.decompressobj(16 + zlib.MAX_WBITS)
        parts, size, length = [], 0, 0
        while not member.eof:
            waiting = waiting or next(steps, b"")
            if not waiting:
                raise OSError("it is cut off within a record")
            try:
                part = member.decompress(waiting, _SLICE)
            except zlib.error as error:
                raise OSError(f"damaged compressed stream: {error}") from error
            rest = member.unused_data if member.eof else member.unconsumed_tail
            place += len(waiting) - len(rest)
            waiting, length, total = rest, length + len(part), total + len(part)
            if total > most:
                raise OSError(f"it unpacks to more than {most >> 20} MB")
            if size < BODY_BYTES + HEADER_BYTES:
                parts.append(part)
                size += len(part)
        yield start, place, b"".join(parts), length
        waiting = waiting.lstrip(b"\0") if not waiting.strip(b"\0") else waiting


def _steps(read: Callable[[int], bytes]) -> Iterator[bytes]:
    while block := bytes(read(_BLOCK)):
        for place in range(0, len(block), _STEP):
            yield block[place : place + _STEP]


class Message(NamedTuple):
    """The content of a document: media type and charset by the headers, HTTP status ("" without), bytes."""

    media_type: str
    charset: str | None
    status: str
    body: bytes


def message_of(record: WarcRecord) -> Message:
    """Return the content of a document, without the encodings of its transfer.

    Raises OSError for one that is too long, damaged, or encoded in another way than gzip and deflate.
    """
    if record.length > BODY_BYTES:
        raise OSError(f"it has more than {BODY_BYTES >> 20} MB")
    media, charset = _media_type(record.fields.get("content-type", ""))
    if record.type != "response" or media != "application/http":
        return Message(media, charset, "", record.block)
    end = head_end(record.block) or len(record.block)
    try:
        head = _READ_HTTP(io.BytesIO(record.block[:end]))
    except _REFUSED as error:
        raise OSError("its HTTP header cannot be read") from error
    fields = _by_name(head.headers)
    media, charset = _media_type(fields.get("content-type", ""))
    media = media or record.fields.get("warc-identified-payload-type", "").strip().lower()
    status = head.statusline[:3]
    status = status if status.isascii() and status.isdigit() else ""
    return Message(media, charset, status, _decoded_body(record.block[end:], fields))


def _decoded_body(body: bytes, fields: Fields) -> bytes:
    """Return a body without its encodings, which headers may claim in vain."""
    if fields.get("transfer-encoding", "").strip().lower() == "chunked":
        body = ChunkedDataReader(io.BytesIO(body)).read(BODY_BYTES + 1)
    encoding = fields.get("content-encoding", "").strip().lower()
    if encoding in ("gzip", "x-gzip", "deflate"):
        body = _Unpacking(io.BytesIO(body), decomp_type=encoding.removeprefix("x-")).read(BODY_BYTES + 1)
    elif encoding not in ("", "identity", "none", "utf-8"):
        raise OSError(f"its content is encoded by {encoding[:20]!r}")
    if len(body) > BODY_BYTES:
        raise OSError(f"it unpacks to more than {BODY_BYTES >> 20} MB")
    return body


class _Unpacking(BufferedReader):  # type: ignore[misc]
    """Unpacks a body; one that is not packed stays as it is."""

    def _decompress(self, data: bytes) -> bytes:
        if not (self.decompressor and data and self.num_block_read):
            return bytes(super()._decompress(data))
        try:
            return bytes(self.decompressor.decompress(data))
        except zlib.error as error:
            raise OSError(f"its content is damaged: {error}") from error


def _media_type(header: str) -> tuple[str, str | None]:
    """Return the media type and the charset in a header.

    >>> _media_type("Text/HTML; charset=utf-8"), _media_type("")
    (('text/html', 'utf-8'), ('', None))
    """
    charset = _CHARSET.search(header)
    return header.partition(";")[0].strip().lower(), charset[1].lower() if charset else None
