"""Documents → one stream of token hashes in a working file, and the bytes of tokens in a document."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from neardup.errors import InputError
from neardup.io.readers.base import Chunk, Documents, Problem
from neardup.io.readers.columns import Chosen
from neardup.io.writers.scratch import Scratch
from neardup.kernels.passages.streams import ascii_token_bytes, token_stream
from neardup.kernels.sketch.documents import WORD
from neardup.kernels.text.keyed import Key
from neardup.kernels.text.spans import normalise_with_origin, token_places
from neardup.kernels.text.tokens import tokenise
from neardup.kernels.text.unicode import REPLACEMENT
from neardup.run.pipeline import Meter
from neardup.runtime import ordered_map
from neardup.sketch.cleaning import text_batch
from neardup.tables import Int64s, UInt32s, UInt64s, one_array
from neardup.text.unicode import codepoints_of, unicode_tables

_TASK = 1 << 20
"""Tokens of the documents that a thread works on at a time."""


@dataclass(frozen=True, eq=False)
class DocumentRows:
    """The documents of a stream: ``chunks`` and ``rows`` (int64[n]: row numbers in the file) of each.

    ``sources`` names the file of each chunk; without ``ids``, a document is called source#row.
    """

    chunks: Int64s
    rows: Int64s
    sources: Mapping[int, str]
    ids: pa.Array | None

    def __len__(self) -> int:
        return len(self.rows)

    def sources_of(self, documents: Int64s) -> pa.Array:
        """The names of the files of some documents."""
        numbers, place = np.unique(self.chunks[documents], return_inverse=True)
        names = pa.array([self.sources[number] for number in numbers.tolist()], pa.large_string())
        return names.take(pa.array(place))

    def ids_of(self, documents: Int64s) -> pa.Array:
        """The ids of some documents."""
        if self.ids is not None:
            return self.ids.take(pa.array(documents))
        rows = pa.array(self.rows[documents]).cast(pa.large_string())
        return pc.binary_join_element_wise(self.sources_of(documents), rows, pa.scalar("#", pa.large_string()))


@dataclass(frozen=True, eq=False)
class CorpusTokens:
    """The token hashes (uint64) of all documents, one after the other; document d ends before ``ends[d]``."""

    tokens: UInt64s
    ends: Int64s
    documents: DocumentRows
    problems: Sequence[Problem]

    @property
    def begins(self) -> Int64s:
        """The place of the first token of each document."""
        return np.concatenate((np.zeros(1, np.int64), self.ends[:-1]))

    def begins_at(self, document: int) -> int:
        """The place of the first token of a document."""
        return int(self.ends[document - 1]) if document else 0

    def documents_at(self, places: Int64s) -> Int64s:
        """The documents that have the tokens at these places."""
        return np.searchsorted(self.ends, places, side="right")

    def parts(self) -> Iterator[tuple[int, UInt64s, Int64s]]:
        """Whole documents, about a million tokens at a time: the place of the first token, tokens, and ends."""
        document = begin = 0
        while document < len(self.ends):
            last = max(document + 1, int(np.searchsorted(self.ends, begin + _TASK, side="right")))
            end = int(self.ends[last - 1])
            yield begin, self.tokens[begin:end], self.ends[document:last] - begin
            document, begin = last, end


class _Read(NamedTuple):
    """A chunk as tokens."""

    chunk: Chunk
    rows: Int64s
    ids: pa.Array | None
    tokens: UInt64s
    ends: Int64s
    problems: Sequence[Problem]


def read_stream(documents: Documents, columns: Chosen, key: Key, threads: int, meter: Meter) -> CorpusTokens:
    """Read all documents once; their token hashes by ``key`` go to a working file.

    Raises OutputError without room for it.
    """
    file, ends, chunks, rows, ids = Scratch().numbers(), [np.zeros(0, np.int64)], [], [], []
    sources: dict[int, str] = {}
    problems: list[Problem] = []
    wanted = [columns.text, *([columns.id] if columns.id else [])]
    with meter.stage("read", None, "documents") as advance:
        work = partial(_read, columns=columns, key=key)
        for read in ordered_map(work, documents.chunks(None, wanted), threads):
            ends.append(read.ends + len(file))
            file.append(read.tokens)
            chunks.append(np.full(len(read.rows), read.chunk.index, np.int64))
            rows.append(read.rows)
            sources[read.chunk.index] = read.chunk.source
            problems += read.problems
            ids += [read.ids] if read.ids is not None else []
            advance(len(read.rows))
    nothing = np.zeros(0, np.int64)
    names = one_array(pa.chunked_array(ids, pa.large_string())) if columns.id else None
    of_rows = DocumentRows(np.concatenate((nothing, *chunks)), np.concatenate((nothing, *rows)), sources, names)
    return CorpusTokens(file.mapped(), np.concatenate(ends), of_rows, problems)


def _read(chunk: Chunk, columns: Chosen, key: Key) -> _Read:
    rows = chunk.read([columns.text, columns.id] if columns.id else [columns.text])
    texts = one_array(rows.table.column(columns.text))
    tokens, ends = token_stream(text_batch(texts), unicode_tables(), WORD, key)
    ids = one_array(rows.table.column(columns.id)).cast(pa.large_string()) if columns.id else None
    return _Read(chunk, rows.row_numbers, ids, tokens, ends, rows.problems)


class DocumentText(NamedTuple):
    """A document that is read again: its number in the stream, its text, and its tokens' bytes, int64[n, 2]."""

    document: int
    text: bytes
    tokens: Int64s


def read_again(
    documents: Documents, columns: Chosen, stream: CorpusTokens, threads: int, wanted: Int64s
) -> Iterator[DocumentText]:
    """Yield some documents (int64, ascending), in order. Raises InputError if one has changed."""
    of_chunk = stream.documents.chunks
    first = {
        int(number): int(place) for number, place in zip(*np.unique(of_chunk, return_index=True), strict=True)
    }
    chunks = set(np.unique(of_chunk[wanted]).tolist())

    def texts_of(chunk: Chunk) -> list[DocumentText]:
        texts = one_array(chunk.read([columns.text]).table.column(columns.text))
        begin = first[chunk.index]
        low, high = np.searchsorted(wanted, (begin, begin + len(texts)))
        batch = text_batch(texts)
        return [_again(texts, batch, begin, document, stream) for document in wanted[low:high].tolist()]

    if chunks:
        for read in ordered_map(texts_of, documents.chunks(chunks, [columns.text]), threads):
            yield from read


def _again(texts: pa.Array, batch: Any, begin: int, document: int, stream: CorpusTokens) -> DocumentText:
    value = texts[document - begin].as_py() or b""
    text = value.encode("utf-8", "replace") if isinstance(value, str) else value
    edges = ascii_token_bytes(batch, document - begin)
    tokens = token_bytes(text) if len(edges) == 1 else edges.reshape(-1, 2)
    if len(tokens) != stream.ends[document] - stream.begins_at(document):
        raise InputError(
            "The input has changed while it was read",
            "Inputs that do not change during a run",
            "Start again when nothing writes to it",
        )
    return DocumentText(document, text, tokens)


def token_bytes(text: bytes) -> Int64s:
    """Return the bytes [begin, end) of each token of a text in UTF-8: int64[n, 2].

    >>> token_bytes("Ça, là".encode()).tolist()
    [[0, 3], [5, 8]]
    """
    shown = codepoints_of(text.decode("utf-8", "replace"))
    codepoints, begins, ends = normalise_with_origin(shown, unicode_tables())
    n = len(codepoints)
    written, stops = np.empty(4 * n + 64, np.uint8), np.empty(n, np.int64)
    stops = stops[: tokenise(codepoints, n, unicode_tables(), written, stops)]
    places = token_places(codepoints, stops, unicode_tables())
    edges = _character_edges(text, shown)
    spans = np.column_stack((edges[begins[places[:, 0]]], edges[ends[places[:, 1] - 1]]))
    return spans.astype(np.int64)


def _character_edges(text: bytes, codepoints: UInt32s) -> Int64s:
    """The byte at which each character of a text begins, and its end; an invalid sequence is one U+FFFD."""
    sizes = 1 + (codepoints >= 0x80).astype(np.int64) + (codepoints >= 0x800) + (codepoints >= 0x10000)
    edges = np.concatenate((np.zeros(1, np.int64), np.cumsum(sizes)))
    if edges[-1] == len(text):
        return edges
    shorter = 0
    for place in np.flatnonzero(codepoints == REPLACEMENT).tolist():
        begin = int(edges[place]) - shorter
        size = 3 if text[begin : begin + 3] == _REPLACED else _invalid_bytes(text[begin : begin + 3])
        sizes[place] = size
        shorter += 3 - size
    return np.concatenate((np.zeros(1, np.int64), np.cumsum(sizes)))


_REPLACED = "\ufffd".encode()


def _invalid_bytes(data: bytes) -> int:
    """The length of the invalid sequence at the beginning of the data, which is read as one character."""
    try:
        data.decode()
    except UnicodeDecodeError as error:
        return error.end
    return 1
