"""Files that are one document each, in common document formats; the id of a document is its path."""

import os
import threading
from collections.abc import Collection, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any, BinaryIO

import msgspec
import numpy as np
import pyarrow as pa

from neardup.display import printable
from neardup.errors import InputError
from neardup.io.attachments import ATTACHMENTS, carried_by, column_of
from neardup.io.containers.addresses import MARK
from neardup.io.containers.codecs import COMPRESSIONS, unpacked_bytes
from neardup.io.formats import format_of, refuse_size
from neardup.io.formats.charsets import Charset, charset_of, utf8_text
from neardup.io.formats.content import (
    FILE_BYTES,
    LISTS,
    METADATA,
    ORIGIN,
    SECONDS,
    SECONDS_AGAIN,
    UNKNOWN,
    Attachment,
    Content,
    Metadata,
)
from neardup.io.formats.extractor import Extractor
from neardup.io.formats.kinds import DATA, HEAD_BYTES, NOT_EXTRACTED, NotTextError, refuse_kind
from neardup.io.place import without_query
from neardup.io.readers import base
from neardup.io.readers.arrow import cut_by_bytes
from neardup.io.readers.discovery import find_file
from neardup.io.readers.fields import VirtualColumns
from neardup.io.readers.files import UNREADABLE
from neardup.io.readers.folders import (
    holds_rows,
    is_message,
    samples,
    samples_note,
    whole_samples,
    whole_samples_note,
)
from neardup.io.readers.sources import Source, Stamp, changed_error, digest_of_bytes, require_same
from neardup.io.writers.kept_files import document_sink

# Opening a file costs about as much as reading this many bytes of it; also bounds the files in a chunk.
_OPEN_COST = 16 << 10

# Extracting a text again costs a hundred times as much as storing it. Texts are stored up to this many bytes; the
# others are extracted again in each pass.
_KEPT_BYTES = 256 << 20

# For a larger file, the beginning is checked before the rest is read.
_LARGE = 1 << 20

PLACE = ("folder", "name", "suffix", "size", "mtime")
"""Columns from the place of a file: size in bytes, time of the last change as far as it is known."""

_TYPES = {name: pa.list_(pa.large_string()) if name in LISTS else pa.large_string() for name in METADATA}

MOST_BYTES = 1 << 20


@dataclass(frozen=True)
class ReadContent:
    """The content of a document: its text in UTF-8 or as raw bytes, metadata, attachments and origin."""

    text: bytes
    metadata: Metadata
    attachments: tuple[Attachment, ...] = ()
    origin: str = UNKNOWN


class ExtractedTexts:
    """The extracted contents of documents, while there is ``room`` in bytes."""

    def __init__(self, room: int = _KEPT_BYTES) -> None:
        self._contents: dict[Hashable, ReadContent] = {}
        self._room = room
        self._lock = threading.Lock()

    def get(self, document: Hashable) -> ReadContent | None:
        """Return the content of a document, or None."""
        return self._contents.get(document)

    def keep(self, document: Hashable, content: ReadContent) -> None:
        """Store the content of a document, if there is room."""
        with self._lock:
            if document not in self._contents and len(content.text) <= self._room:
                self._contents[document] = content
                self._room -= len(content.text)


class TextDocuments:
    """Files that are one document each; the row number of a document is its place in the sorted list.

    The metadata of the files are columns, too; null where a file lacks a value.
    """

    format: base.Format = "text"
    columns = (
        base.Column("id", "text"),
        base.Column("text", "text"),
        *(base.Column(name, "other") for name in (*METADATA, ORIGIN, *PLACE, ATTACHMENTS)),
    )

    def __init__(
        self,
        name: str,
        sources: Sequence[Source],
        chunk_bytes: int = base.CHUNK_BYTES,
        encoding: str = "auto",
        pages: str = "all",
        text_suffix: str = "auto",
    ) -> None:
        self.names = (name,)
        self.findings = base.Findings()
        self.sources = tuple(sources)
        sizes = [source.size for source in self.sources]
        self.size_bytes: int | None = sum(size or 0 for size in sizes)
        costs = np.array([(size or 0) + _OPEN_COST for size in sizes], np.int64)
        self._bounds = [0, *cut_by_bytes(costs, chunk_bytes)]
        whole = whole_samples(self.sources, text_suffix)
        parts = frozenset(place for places in whole.values() for place in places)
        beside = samples(self.sources)
        for place in (*whole, *parts):
            beside.pop(place, None)
        self.findings.notes += whole_samples_note(self.sources, whole) + samples_note(self.sources, beside)
        others = {row: tuple(self.sources[place] for place in places) for row, places in whole.items()}
        self._known = _Known(encoding, pages, self.findings, beside, others, parts, len(self.sources) == 1)
        self.virtual = VirtualColumns()

    def require(self, text: str, id: str | None) -> None:
        """Accept any file that can be read."""
        self.virtual = VirtualColumns.of([column.name for column in self.columns], text, id)

    def chunks(
        self, wanted: Collection[int] | None = None, columns: Sequence[str] | None = None
    ) -> Iterator[base.Chunk]:
        """Yield the files in groups."""
        chosen = None if wanted is None else frozenset(wanted)
        for index, (start, end) in enumerate(pairwise(self._bounds)):
            if chosen is None or index in chosen:
                yield _FilesChunk(index, self.names[0], start, self.sources[start:end], self._known, self.virtual)

    def digest(self, position: int) -> bytes | None:
        """Return the digest of a file, made when it was first read; None if it was not read."""
        return self._known.digests.get(position)

    def sink(self, folder: Path, extra: Any, threads: int = 1) -> base.Sink:
        """Make the folder ``kept``, for copies of the files; an archive or mailbox for members of one."""
        return document_sink(folder, self.sources)


class _Remembered(msgspec.Struct, array_like=True):
    """The results of the first read of a file, except its content."""

    problem: base.Problem | None
    digest: bytes | None
    charset: Charset | None


@dataclass
class _Known:
    """The results of the first read of each file; later reads must agree with them.

    ``reasons`` has for each row its problem, or None; ``texts`` the extracted contents; ``charsets`` the encoding
    of plain text, ``stamps`` the state of the file; ``beside`` the files beside it; ``others`` are those of the
    sample of a text, which have the places ``parts`` and are no rows. A file that is ``alone`` is a document,
    whatever its suffix.
    """

    encoding: str
    pages: str
    findings: base.Findings
    beside: Mapping[int, tuple[Attachment, ...]]
    others: Mapping[int, tuple[Source, ...]]
    parts: frozenset[int]
    alone: bool
    charsets: dict[int, Charset] = field(default_factory=dict)
    stamps: dict[int, Stamp | None] = field(default_factory=dict)
    reasons: dict[int, base.Problem | None] = field(default_factory=dict)
    texts: ExtractedTexts = field(default_factory=ExtractedTexts)
    digests: dict[int, bytes] = field(default_factory=dict)

    def decode(self, row: int, file: Source, data: bytes) -> bytes:
        """Return plain text as UTF-8, decoded with the encoding of the first read."""
        charset = self.charsets.get(row)
        if charset is None:
            charset = self.charsets[row] = charset_of(data, self.encoding)
            self.findings.tell(file.name, charset)
        return utf8_text(data, charset)

    def require_unchanged(self, row: int, file: Source) -> None:
        """Raise InputError if the file has changed since it was first read."""
        require_same(file, self.stamps.setdefault(row, file.stamp()))


@dataclass(frozen=True, eq=False)
class _FilesChunk:
    index: int
    source: str
    first_row: int
    files: tuple[Source, ...]
    known: _Known
    virtual: VirtualColumns

    def read(self, columns: Sequence[str]) -> base.ReadRows:
        """Read the requested columns of the files that have a text."""
        contents, good = self._load()
        roots = self.virtual.roots(columns)
        values: dict[str, Any] = {
            "id": pa.array([self.files[i].name for i in good], pa.large_string()),
            "text": pa.array([content.text for content in contents], pa.large_binary()),
        }
        if ATTACHMENTS in roots:
            beside = (self.known.beside.get(self.first_row + i, ()) for i in good)
            both = [(*content.attachments, *files) for content, files in zip(contents, beside, strict=True)]
            values[ATTACHMENTS] = column_of(both)
        for name in set(roots) & set(METADATA):
            values[name] = pa.array([content.metadata.get(name) for content in contents], _TYPES[name])
        if ORIGIN in roots:
            origins = (None if content.origin == UNKNOWN else content.origin for content in contents)
            values[ORIGIN] = pa.array(list(origins), pa.large_string())
        for name in set(roots) & set(PLACE):
            values[name] = place_column(name, [self.files[i] for i in good])
        table = pa.Table.from_arrays([values[name] for name in roots], names=roots)
        return base.ReadRows(self.virtual.table(table, columns), self._numbers(good), self._problems())

    def read_native(self) -> base.NativeRows:
        rows = [
            row for row in range(self.first_row, self.first_row + len(self.files)) if row not in self.known.parts
        ]
        if any(row not in self.known.reasons for row in rows):
            self._load()
        good = [row - self.first_row for row in rows if self.known.reasons[row] is None]
        files = tuple(self.files[i] for i in good)
        for i, file in zip(good, files, strict=True):  # the written files must be the ones that were compared
            self.known.require_unchanged(self.first_row + i, file)
        problems = self._problems()
        others = self.known.others
        aside: list[Source] = []
        for row in rows:
            problem = self.known.reasons[row]
            if problem is not None:
                aside += [self.files[row - self.first_row]] * (problem.kind is not None)
                aside += others.get(row, ())
        beside = tuple(others.get(self.first_row + i, ()) for i in good)
        return base.NativeFiles(
            self._numbers(good), tuple(file.name for file in files), files, problems, tuple(aside), beside
        )

    def memory(self) -> str:
        """The problem, digest and encoding of each file."""
        known, rows = self.known, range(self.first_row, self.first_row + len(self.files))
        found = [_Remembered(known.reasons.get(k), known.digests.get(k), known.charsets.get(k)) for k in rows]
        return msgspec.json.encode(found).decode()

    def remember(self, memory: str) -> None:
        found = msgspec.json.decode(memory, type=list[_Remembered])
        for row, (file, one) in enumerate(zip(self.files, found, strict=True), self.first_row):
            self.known.reasons[row] = one.problem
            if one.digest is not None:
                self.known.digests[row] = one.digest
            if one.charset is not None:
                self.known.charsets[row] = one.charset
                self.known.findings.tell(file.name, one.charset)

    def _numbers(self, good: list[int]) -> Any:
        return self.first_row + np.array(good, np.int64)

    def _problems(self) -> tuple[base.Problem, ...]:
        found = (self.known.reasons.get(row) for row in range(self.first_row, self.first_row + len(self.files)))
        return tuple(problem for problem in found if problem is not None)

    def _load(self) -> tuple[list[ReadContent], list[int]]:
        """Return the contents of the good files and their places in the chunk."""
        contents, good = [], []
        with Extractor(self.known.pages) as extractor:
            for i, file in enumerate(self.files):
                if self.first_row + i in self.known.parts:
                    continue
                content = self._content(self.first_row + i, file, extractor)
                if content is not None:
                    contents.append(content)
                    good.append(i)
        return contents, good

    def _content(self, row: int, file: Source, extractor: Extractor) -> ReadContent | None:
        """Return the content of a file, or None if it is rejected; the same at every read."""
        reasons = self.known.reasons
        if reasons.get(row) is not None:
            return None
        self.known.require_unchanged(row, file)
        known = self.known.texts.get(row)
        if known is not None:
            return known
        try:
            content = self._extract(row, file, extractor, SECONDS_AGAIN if row in reasons else SECONDS)
        except (*UNREADABLE, InputError) as error:
            reason = f"cannot read {file.name}: {base.failure_text(error)}"
            if row in reasons:
                raise changed_error(file.path, base.failure_text(error)) from error
            kind = error.kind if isinstance(error, NotTextError) else NOT_EXTRACTED
            readable = isinstance(error, InputError)
            reasons[row] = base.Problem(self.source, row, reason, None, file.name, kind if readable else None)
            return None
        reasons[row] = None
        return content

    def _extract(self, row: int, file: Source, extractor: Extractor, seconds: float) -> ReadContent:
        name, codec = document_name(file), file.compression
        if codec is None and (file.size or 0) > _LARGE:
            with file.open_raw() as stream:
                _refuse_other_kinds(name, stream.read(HEAD_BYTES))
        refuse_size(file.size)
        data = file.read_bytes()
        self.known.digests[row] = digest_of_bytes(data)
        if codec is not None:
            data = unpacked_bytes(data, codec, FILE_BYTES)
        _refuse_other_kinds(name, data[:HEAD_BYTES])
        if not self.known.alone and holds_rows(file, data):
            raise NotTextError(DATA)
        if format_of(name, data) == "text":
            return ReadContent(self.known.decode(row, file, data), {})
        found = extractor.read(data, name, seconds)
        text = found.text.encode("utf-8", "replace")
        content = ReadContent(text, found.metadata, found.attachments, found.origin)
        self.known.texts.keep(row, content)
        return content


def place_column(name: str, files: Sequence[Source]) -> pa.Array:
    """Return a column of ``PLACE``.

    >>> [place_column(name, [Source("a/b.tar.GZ", "/a/b.tar.GZ", 5)])[0].as_py() for name in PLACE[:4]]
    ['a', 'b.tar.GZ', '.tar', 5]
    """
    if name == "size":
        return pa.array([file.size for file in files], pa.int64())
    if name == "mtime":
        return pa.array([file.changed_at() for file in files], pa.timestamp("us", "UTC"))
    paths = [os.path.split(file.name) for file in files]
    if name == "folder":
        parts = [folder.removesuffix(MARK[0]) or "." for folder, _ in paths]
    elif name == "name":
        parts = [base for _, base in paths]
    else:
        bases = (os.path.splitext(base.lower()) for _, base in paths)
        parts = [os.path.splitext(stem)[1] if suffix in COMPRESSIONS else suffix for stem, suffix in bases]
    return pa.array(parts, pa.large_string())


def document_name(file: Source) -> str:
    """Return the name whose suffix decides the format: without that of a compression; .eml for a Maildir's mail.

    >>> document_name(Source("a.html.gz", "/letters/a.html.gz"))
    '/letters/a.html'
    """
    if is_message(file.path):
        return file.path + ".eml"
    path = without_query(file.path)
    return path if file.compression is None else os.path.splitext(path)[0]


def _refuse_other_kinds(name: str, head: bytes) -> None:
    """Raise NotTextError for a file that would be read as text or a page but is neither."""
    if format_of(name, head) in ("text", "html"):
        refuse_kind(head, name)


def read_document(path: str | Path, pages: str = "all") -> str:
    """Return the text of the file that ``document_content`` reads."""
    return document_content(path, pages).text


def document_content(path: str | Path, pages: str = "all") -> Content:
    """Return the text of a file and the parts beside it, as a run over its folder reads it.

    ``pages``: all visible text of a web page, or its ``main`` content. ``archive.zip!/name`` is a file in an
    archive, ``inbox.mbox!/1.eml`` the first message of a mailbox. Any other file is plain text, in UTF-8 unless
    its bytes indicate otherwise. A URL is read through fsspec.
    Raises InputError for a file that is missing or cannot be read, with the reason.
    """
    documents = TextDocuments(str(path), [find_file(path)], pages=pages)
    (chunk,) = documents.chunks()
    rows = chunk.read(["text", ATTACHMENTS])
    for problem in rows.problems:
        raise InputError(problem.reason[0].upper() + problem.reason[1:])
    text: bytes = rows.table.column("text")[0].as_py()
    parts = carried_by(rows.table.column(ATTACHMENTS)).get(0, ())
    return Content(text.decode("utf-8", "replace"), {}, parts)


def read_stream(stream: BinaryIO) -> Content:
    """Return the content of a document without a name: a PDF if its first bytes match, else plain text.

    Raises InputError for a PDF that cannot be read, for binary data, and for more bytes than a file may have.
    """
    data = stream.read(FILE_BYTES + 1)
    refuse_size(len(data))
    if format_of("", data) == "text":
        refuse_kind(data[:HEAD_BYTES], "")
        return Content(utf8_text(data, charset_of(data)).decode("utf-8", "replace"))
    with Extractor() as extractor:
        return extractor.read(data, "")


def words_in(path: Path) -> list[str]:
    """Return the words in a UTF-8 file. Raises InputError for a file that is missing, large or without words."""
    name = printable(str(path))
    try:
        with path.open("rb") as file:
            data = file.read(MOST_BYTES + 1)
        if len(data) > MOST_BYTES:
            raise InputError(
                f"{name} is too large for a list of words", f"At most {MOST_BYTES:,} bytes", "Shorten the list"
            )
        text = data.decode("utf-8-sig")
    except FileNotFoundError as error:
        raise InputError(
            f"There is no file {name}, and it is not a language",
            "A file with words, or a language such as en or de",
            "Check the name",
        ) from error
    except (OSError, UnicodeDecodeError) as error:
        why = "it is not UTF-8" if isinstance(error, UnicodeDecodeError) else error.strerror or str(error)
        raise InputError(f"{name} cannot be read: {why}", "A UTF-8 file with words", "Check the file") from error
    words = [word for line in text.splitlines() for word in line.partition("#")[0].split()]
    if not words:
        raise InputError(f"{name} has no words", "A file with words, one a line", "Check the file")
    return words
