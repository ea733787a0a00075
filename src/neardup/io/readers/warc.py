"""WARC and WET files: the pages of a crawl are rows, other records are carried along.

A row is a response, resource or conversion whose content is a page, a text or another document; its number is that
of the record in the file. Its text is read as that of a file of its type. A chunk is a stretch of the file.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from neardup.errors import InputError
from neardup.io.attachments import ATTACHMENTS, ATTACHMENTS_TYPE
from neardup.io.containers.base import most_unpacked
from neardup.io.containers.codecs import unpacked_file
from neardup.io.containers.spools import Held
from neardup.io.containers.warc import (
    Message,
    WarcRecord,
    is_one_stream,
    member_records,
    message_of,
    stream_records,
)
from neardup.io.formats import format_of
from neardup.io.formats.charsets import charset_of, decode, utf8_text
from neardup.io.formats.content import SECONDS, SECONDS_AGAIN
from neardup.io.formats.extractor import Extractor
from neardup.io.formats.kinds import HEAD_BYTES, NOT_EXTRACTED, RESOURCE, NotTextError, refuse_kind
from neardup.io.readers import base
from neardup.io.readers.files import UNREADABLE
from neardup.io.readers.sources import Source, changed_error, suffix_of
from neardup.io.readers.tables import TableChunk, TableDocuments
from neardup.io.readers.text_files import ExtractedTexts, ReadContent
from neardup.io.writers.kept_warc import RecordsSink, Removals, capture_of
from neardup.settings import ReadingSettings
from neardup.tables import Bools

_SUFFIXES = {
    **dict.fromkeys(("text/html", "application/xhtml+xml"), ".html"),
    "text/plain": ".txt",
    "text/markdown": ".md",
    "application/pdf": ".pdf",
    "message/rfc822": ".eml",
    "application/vnd.ms-outlook": ".msg",
    "application/epub+zip": ".epub",
    "application/rtf": ".rtf",
    "text/rtf": ".rtf",
    "application/vnd.oasis.opendocument.text": ".odt",
    "application/vnd.oasis.opendocument.spreadsheet": ".ods",
    "application/vnd.oasis.opendocument.presentation": ".odp",
    "application/vnd.openxmlformats-officedocument.wordprocessingml.document": ".docx",
    "application/vnd.openxmlformats-officedocument.presentationml.presentation": ".pptx",
    "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet": ".xlsx",
}
"""The suffix of the files of each media type that is read."""

_UNNAMED = ("", "application/octet-stream", "binary/octet-stream", "unknown/unknown", "application/x-download")
_PAGE = (b"<!doctype html", b"<html", b"<head", b"<body")

OWN = ("url", "date", "title", "status", "content_type")
"""The columns that every file has, besides the text and the headers of its first records."""

_HEADERS = {"date": "warc-date"}
_SAMPLE = 100
_COLUMNS = 100
_EVENT = 1000  # more records of one event may be cut
_RECORD_COST = 1 << 10


@dataclass(frozen=True, eq=False)
class _Stretch:
    """The records of a chunk: their places in the file, the event of each, and which are documents and damaged."""

    first_row: int
    starts: base.RowNumbers
    ends: base.RowNumbers
    events: base.RowNumbers
    documents: Bools
    damaged: Bools

    @classmethod
    def of(cls, records: Sequence[WarcRecord], events: Sequence[int]) -> _Stretch:
        """Return the places of consecutive records."""
        return cls(
            records[0].number,
            np.array([record.start for record in records], np.int64),
            np.array([record.end for record in records], np.int64),
            np.array(events, np.int64),
            np.array([record.is_document for record in records], np.bool_),
            np.array([record.fault is not None for record in records], np.bool_),
        )


@dataclass
class _Known:
    """The results of the first read of each document, by file and record, with which later reads agree."""

    reasons: dict[tuple[int, int], base.Problem | None] = field(default_factory=dict)
    texts: ExtractedTexts = field(default_factory=ExtractedTexts)


class WarcDocuments(TableDocuments):
    """Files of WARC records.

    Plain files and those with a gzip member for each record are read where they are; others are unpacked into a
    working file first. ``reading``: how bytes become texts.
    """

    format: base.Format = "warc"
    failure = "not a WARC file"

    def __init__(self, sources: Sequence[Source], chunk_bytes: int, reading: ReadingSettings) -> None:
        super().__init__(sources)
        self._chunk_bytes = chunk_bytes
        self.reading = reading
        self.known = _Known()
        self.removals: Removals | None = None
        """With it, removed records are replaced by records that refer to those that stay."""
        self._unpacked: dict[int, tuple[Held, str | None]] = {}
        self._stretches: dict[int, list[_Stretch]] = {}
        heads = self.read_heads(self._names_in, "a WARC file", "A whole WARC file, plain or .gz")
        names = dict.fromkeys(name for head in heads for name in head or ())
        schema = _schema(list(names)[:_COLUMNS])
        self.settle([None if head is None else schema for head in heads])

    def _names_in(self, position: int) -> list[str]:
        """Return the names of the headers of the first records; unpack the file if it is one stream."""
        source = self.sources[position]
        if source.compression is not None:
            with source.open_raw() as file:
                if source.compression != "gzip" or is_one_stream(file.read):
                    self._unpack(position)
        failures: list[Exception] = []
        first = list(islice(self._readable(position, failures), _SAMPLE))
        if all(record.fault for record in first):
            raise OSError(failures[0] if failures else first[0].fault if first else "it is empty")
        spelled: dict[str, str] = {}
        for name in (name for record in first for name in record.names):
            spelled.setdefault(name.lower(), name)
        return sorted(spelled.values())

    def _unpack(self, position: int) -> None:
        source = self.sources[position]
        if not source.is_local:
            raise OSError("within an archive or at a URL, each record must be in a gzip member of its own")
        most = most_unpacked(source.size or 0)
        self._unpacked[position] = unpacked_file(source.path, str(source.compression), most)

    def is_packed(self, position: int) -> bool:
        """Return whether each record of a file is in a gzip member of its own."""
        return self.sources[position].compression is not None and position not in self._unpacked

    def open_records(self, position: int) -> Any:
        """Open the bytes in which records have their places."""
        if position in self._unpacked:
            return self._unpacked[position][0].stretch()
        return self.sources[position].open_raw()

    def records(
        self, position: int, start: int = 0, end: int | None = None, number: int = 0
    ) -> Iterator[WarcRecord]:
        """Yield the records of a file between two places; the first one has this ``number``. Raises OSError."""
        with self.open_records(position) as file:
            file.seek(start)
            size = None if end is None else end - start
            read = _limited_reader(file, size)
            if self.is_packed(position):
                yield from member_records(read, most_unpacked(self.sources[position].size or 0), start, number)
            else:
                yield from stream_records(read, start, number)
        cut_off = self._unpacked[position][1] if position in self._unpacked and end is None else None
        if cut_off is not None:
            raise OSError(cut_off)

    def between(self, position: int, start: int, end: int) -> bytes:
        """Return the bytes between two places of a file."""
        with self.open_records(position) as file:
            file.seek(start)
            return bytes(file.read(end - start))

    @property
    def kept_name(self) -> str:
        """``kept.warc.gz``, with the last suffixes of the first file."""
        suffix = suffix_of(self.sources[0].compression)
        return f"kept{Path(self.sources[0].path.lower().removesuffix(suffix)).suffix}{suffix}"

    def open_sink(self, path: Path, position: int | None, extra: Any, threads: int) -> base.Sink:
        """Open a file for records, compressed as those of the file (None: the first one)."""
        compression, members = self.sources[position or 0].compression, self.is_packed(position or 0)
        return RecordsSink(path, compression, members=members, removals=self.removals)

    def capture(self, source: str, number: int) -> base.Capture | None:
        """Return the parts of a record that a revisit names; None for a file with a lost rest."""
        position = self.names.index(source)
        if position not in self._stretches:
            for _ in self.pieces(position, 0, lambda _: False, None):  # only finds where the records are
                pass
        for stretch in self._stretches.get(position, ()):
            place = number - stretch.first_row
            if 0 <= place < len(stretch.starts):
                start, end = int(stretch.starts[place]), int(stretch.ends[place])
                return capture_of(next(self.records(position, start, end, number)))
        return None

    def no_native(self) -> base.NativeRows:
        """Return no records."""
        return base.NativeRecords(
            base.no_rows(), b"", base.no_rows(), base.no_rows(), base.no_rows(), base.no_rows()
        )

    def pieces(
        self, position: int, first: int, want: Callable[[int], bool], columns: Sequence[str] | None
    ) -> Iterator[base.Chunk | None]:
        """Yield the chunks of one file."""
        known = self._stretches.get(position)
        if known is not None:
            for index, stretch in enumerate(known, first):
                yield WarcChunk(index, self, position, stretch.first_row, None, stretch) if want(index) else None
            return
        stretches: list[_Stretch] = []
        other: Counter[str] = Counter()
        failures: list[Exception] = []
        for records, events in _pieces(self._readable(position, failures), self._chunk_bytes):
            index, stretch = first + len(stretches), _Stretch.of(records, events)
            stretches.append(stretch)
            other.update(one.type for one in records if one.fault is None and not one.is_document)
            chunk = WarcChunk(index, self, position, stretch.first_row, None, stretch, tuple(records))
            yield chunk if want(index) else None
        self.findings.other_records[self.names[position]] = other
        if failures:
            self.require_unchanged(position)
            row = stretches[-1].first_row + len(stretches[-1].starts) if stretches else 0
            yield self.rest_lost(position, first + len(stretches), failures[0], row)
        else:
            self._stretches[position] = stretches

    def _readable(self, position: int, failures: list[Exception]) -> Iterator[WarcRecord]:
        """Yield the records of a file; the error that ends them is added to ``failures``."""
        try:
            yield from self.records(position)
        except UNREADABLE as error:
            failures.append(error)


def _limited_reader(file: Any, size: int | None) -> Callable[[int], bytes]:
    """Return the function that reads the next ``size`` bytes of an open file (None: all)."""
    left = size

    def read(most: int) -> bytes:
        nonlocal left
        part = bytes(file.read(most if left is None else min(most, left)))
        left = None if left is None else left - len(part)
        return part

    return read


def _schema(names: Sequence[str]) -> pa.Schema:
    """Return the columns of files with these headers."""
    own = [(name, pa.int64() if name == "status" else pa.large_string()) for name in OWN]
    headers = [(name, pa.large_string()) for name in names if name not in (*OWN, ATTACHMENTS, "text")]
    return pa.schema([*own, *headers, (ATTACHMENTS, ATTACHMENTS_TYPE), ("text", pa.large_binary())])


def _pieces(records: Iterator[WarcRecord], size: int) -> Iterator[tuple[list[WarcRecord], list[int]]]:
    """Yield the records of chunks of about ``size`` bytes, with the number of the event of each.

    Records of one event refer to each other and follow each other; a chunk ends between two events.
    """
    piece: list[WarcRecord] = []
    events: list[int] = []
    ids: set[str] = set()
    length = count = 0
    for record in records:
        related = (record.beside and record.beside in ids) or (record.id and record.id in ids)
        if not related or len(ids) > _EVENT:
            if length >= size:
                yield piece, events
                piece, events, length, count = [], [], 0, 0
            ids, count = set(), count + 1
        ids.update(filter(None, (record.id, record.beside)))
        piece.append(record)
        events.append(count - 1)
        length += len(record.block) + _RECORD_COST
    if piece:
        yield piece, events


@dataclass(frozen=True, eq=False)
class WarcChunk(TableChunk):
    """The records of a stretch of a file; the first pass has read them."""

    owner: WarcDocuments
    stretch: _Stretch
    first_read: tuple[WarcRecord, ...] | None = None

    def decode(self, columns: list[str] | None) -> tuple[Any, base.RowNumbers, tuple[base.Problem, ...]]:
        """Return the documents whose text can be read, their numbers, and the problems of the others."""
        records = [record for record in self._records() if record.fault is not None or record.is_document]
        rows: list[tuple[WarcRecord, ReadContent]] = []
        with Extractor(self.owner.reading.pages) as extractor:
            for record in records:
                content = self._content(record, extractor)
                if content is not None:
                    rows.append((record, content))
        schema = self.owner.own_schema(self.position)
        schema = schema if columns is None else pa.schema(map(schema.field, columns))
        table = pa.table([_column(name, rows) for name in schema.names], schema=schema)
        problems = (self.owner.known.reasons[self.position, record.number] for record in records)
        return table, np.array([record.number for record, _ in rows], np.int64), tuple(filter(None, problems))

    def read_native(self, *, own: bool = False) -> base.NativeRows:
        """Return all records that are whole; those whose text was read are the rows."""
        stretch, reasons = self.stretch, self.owner.known.reasons
        numbers = self.first_row + np.arange(len(stretch.starts))
        documents = numbers[stretch.documents].tolist()
        if any((self.position, number) not in reasons for number in documents):
            self.decode([])
        good = np.array([number for number in documents if reasons[self.position, number] is None], np.int64)
        whole = np.flatnonzero(~stretch.damaged)
        begin, end = (int(stretch.starts[0]), int(stretch.ends[-1])) if len(stretch.starts) else (0, 0)
        return base.NativeRecords(
            good,
            self.owner.between(self.position, begin, end),
            stretch.starts[whole] - begin,
            stretch.ends[whole] - begin,
            stretch.events[whole],
            np.searchsorted(numbers[whole], good),
            self.owner.is_packed(self.position),
            position=self.position,
        )

    def _records(self) -> Sequence[WarcRecord]:
        if self.first_read is not None:
            return self.first_read
        stretch = self.stretch
        begin, end = int(stretch.starts[0]), int(stretch.ends[-1])
        return list(self.owner.records(self.position, begin, end, stretch.first_row))

    def _content(self, record: WarcRecord, extractor: Extractor) -> ReadContent | None:
        """Return the content of a document, or None if it cannot be read; the same at every read."""
        known, key = self.owner.known, (self.position, record.number)
        if known.reasons.get(key) is not None:
            return None
        content = known.texts.get(key)
        if content is not None:
            return content
        again = key in known.reasons
        try:
            if record.fault is not None:
                raise OSError(record.fault)
            content = self._read(record, extractor, SECONDS_AGAIN if again else SECONDS)
        except (*UNREADABLE, InputError) as error:
            if again:
                raise changed_error(self.owner.sources[self.position].path, base.failure_text(error)) from error
            known.reasons[key] = self._problem(record, error)
            return None
        known.reasons[key] = None
        return content

    def _problem(self, record: WarcRecord, error: BaseException) -> base.Problem:
        """Return the problem of a record; one without a text is a document that is not judged."""
        name = record.url or f"{self.source}#{record.number}"
        if record.fault is not None or not isinstance(error, InputError):
            return base.Problem(self.source, record.number, f"cannot read the record: {base.failure_text(error)}")
        kind = error.kind if isinstance(error, NotTextError) else NOT_EXTRACTED
        reason = f"cannot read {name}: {base.failure_text(error)}"
        return base.Problem(self.source, record.number, reason, None, name, kind)

    def _read(self, record: WarcRecord, extractor: Extractor, seconds: float) -> ReadContent:
        """Read the text of a record."""
        message = message_of(record)
        suffix = _suffix(message)
        if suffix == ".txt":
            refuse_kind(message.body[:HEAD_BYTES], "page.txt")
            return ReadContent(self._plain(record, message), _server_metadata(message))
        if suffix == ".html":
            refuse_kind(message.body[:HEAD_BYTES], "page.html")
        body = _in_utf8(message) if suffix == ".html" else message.body
        extracted = extractor.read(body, f"page{suffix}", seconds)
        content = ReadContent(
            extracted.text.encode("utf-8", "replace"),
            {**extracted.metadata, **_server_metadata(message)},
            extracted.attachments,
        )
        self.owner.known.texts.keep((self.position, record.number), content)
        return content

    def _plain(self, record: WarcRecord, message: Message) -> bytes:
        """Return plain text in UTF-8; the declared charset counts, unless the encoding is given."""
        if self.owner.reading.encoding == "auto" and message.charset not in (None, "utf-8"):
            return decode(message.body, message.charset).encode("utf-8", "replace")
        charset = charset_of(message.body, self.owner.reading.encoding)
        self.owner.findings.tell(f"{self.source}#{record.number}", charset)
        return utf8_text(message.body, charset)


def _suffix(message: Message) -> str:
    """Return the suffix of a file with the content of a document. Raises NotTextError for no text."""
    known = _SUFFIXES.get(message.media_type)
    if known is not None:
        return known
    if message.media_type not in _UNNAMED:
        kind = message.media_type.partition("/")[0]
        raise NotTextError(kind if kind in ("image", "audio", "video", "font") else RESOURCE)
    if message.body[:HEAD_BYTES].lstrip().lower().startswith(_PAGE):
        return ".html"
    return ".pdf" if format_of("", message.body) == "pdf" else ".txt"


def _in_utf8(message: Message) -> bytes:
    """Return a page in UTF-8 with its mark if the server declares another charset, which overrides the page."""
    if message.charset in (None, "utf-8") or message.body.startswith(b"\xef\xbb\xbf"):
        return message.body
    return b"\xef\xbb\xbf" + decode(message.body, message.charset).encode("utf-8", "replace")


def _server_metadata(message: Message) -> dict[str, str]:
    """Return the media type and the status that the server states."""
    described = {"content_type": message.media_type, "status": message.status}
    return {name: value for name, value in described.items() if value}


def _column(name: str, rows: Sequence[tuple[WarcRecord, ReadContent]]) -> list[Any]:
    if name == "text":
        return [content.text for _, content in rows]
    if name == ATTACHMENTS:
        return [[one._asdict() for one in content.attachments] or None for _, content in rows]
    if name == "status":
        return [int(str(content.metadata[name])) if name in content.metadata else None for _, content in rows]
    if name in ("title", "content_type"):
        return [content.metadata.get(name) for _, content in rows]
    if name == "url":
        return [record.url for record, _ in rows]
    return [record.fields.get(_HEADERS.get(name, name).lower()) for record, _ in rows]
