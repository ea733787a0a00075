"""Documents without the passages that another place has: cut at token ends, and put back."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from neardup.corpus.repetition.passages import RepeatedPassages
from neardup.corpus.repetition.stream import ChunkAgain, CorpusTokens, DocumentText, changed_error
from neardup.corpus.repetition.windows import RepeatedBlocks
from neardup.deduplication.runs import Meter
from neardup.errors import InputError, SettingError
from neardup.io.inputs import Chosen, Chunk, Documents, NativeRows
from neardup.io.outputs import ChunkRows, OutputFolder, Scratch, have_one_column, with_texts, write_kept
from neardup.tables import CUTS, Int64s, one_array
from neardup.text.sketch import text_batch

KEEPS = "first, last, longest-document, or max:COLUMN"
_ROWS = 1 << 12
"""Documents that are written at a time."""

TEXTS_LEFT = pa.schema(
    [
        ("id", pa.large_string()),
        ("source", pa.large_string()),
        ("row", pa.int64()),
        ("text", pa.large_string()),
        ("tokens", pa.int64()),
        ("cut_tokens", pa.int64()),
    ]
)
"""The columns of short.parquet: a text without its cuts, its tokens, and the tokens cut."""
MARKS = pa.schema([("repeated", pa.list_(pa.struct([("begin", pa.int64()), ("end", pa.int64())])))])
"""The column that ``annotate`` adds: the bytes that would be cut."""
MARKED = pa.schema([*list(TEXTS_LEFT), *list(MARKS)])
"""TEXTS_LEFT and MARKS, for texts that are no column of the input: the whole text."""
_Row: TypeAlias = tuple[Any, ...]


@dataclass(frozen=True)
class CutRules:
    """Which place of a passage stays, the least tokens of a document after cuts, and whether to mark only."""

    keep: str = "first"
    least: int = 1
    annotate: bool = False

    def __post_init__(self) -> None:
        policy, _, column = self.keep.partition(":")
        if (policy, bool(column)) not in {
            ("first", False),
            ("last", False),
            ("longest-document", False),
            ("max", True),
        }:
            raise SettingError(f"keep is {self.keep}", KEEPS)
        if self.least < 0:
            raise SettingError(f"min-tokens is {self.least}", "a number of tokens, from 0")


class TokenRanges(NamedTuple):
    """Ranges of tokens of a stream, ascending and disjoint: ``begins`` and ``ends``, int64[n] each."""

    begins: Int64s
    ends: Int64s

    def of(self, begin: int, end: int) -> Int64s:
        """The ranges within a document, counted from its first token: int64[n, 2]."""
        low, high = np.searchsorted(self.begins, (begin, end))
        return np.column_stack((self.begins[low:high], self.ends[low:high])) - begin


def places_to_cut(blocks: RepeatedBlocks, stream: CorpusTokens, order: Int64s) -> TokenRanges:
    """The tokens that are in a window with an equal one before it.

    Before: in a document of a lower rank by ``order`` (int64[n]), or earlier in the same document. For each token
    that is cut, an equal one with an equal window around it is in the window before; that window may be cut as
    well, but only for one that is further before, so the token stays somewhere.
    """
    rank = order[stream.documents_at(blocks.places)]
    by_block = np.lexsort((blocks.places, rank, blocks.numbers))
    numbers = blocks.numbers[by_block]
    again = np.concatenate((np.zeros(min(1, len(numbers)), np.bool_), numbers[1:] == numbers[:-1]))
    cut = np.sort(by_block[again])
    begins, ends = blocks.places[cut], blocks.places[cut] + blocks.tokens[cut]
    apart = np.concatenate((np.ones(min(1, len(cut)), np.bool_), begins[1:] > ends[:-1]))
    # a document ends where the next begins, so that ranges of two documents may touch
    apart[1:] |= np.diff(stream.documents_at(begins)) > 0
    first = np.flatnonzero(apart)
    last = np.append(first[1:], len(cut)) - 1 if len(cut) else first
    return TokenRanges(begins[first], ends[last])


def ranks_of(stream: CorpusTokens, documents: Documents, keep: str) -> Int64s:
    """The rank of each document by a policy: int64[n], 0 is that whose passages stay. Raises InputError."""
    n = len(stream.documents)
    policy, _, column = keep.partition(":")
    if policy == "last":
        return np.arange(n)[::-1].copy()
    if policy == "longest-document":
        order = np.lexsort((np.arange(n), -np.diff(stream.ends, prepend=0)))
    elif policy == "max":
        values = _values(documents, column)
        ranked = pc.rank(values, sort_keys="descending", tiebreaker="first")
        by_value: Int64s = ranked.to_numpy().astype(np.int64) - 1
        return by_value
    else:
        order = np.arange(n)
    ranks = np.empty(n, np.int64)
    ranks[order] = np.arange(n)
    return ranks


def _values(documents: Documents, name: str) -> pa.Array:
    kinds = {column.name: column.kind for column in documents.columns}
    if kinds.get(name) not in ("integer", "number"):
        numbers = [column for column, kind in kinds.items() if kind in ("integer", "number")]
        raise InputError(
            f"There is no column {name} of numbers",
            f"One of {', '.join(numbers) or 'none'}",
            "Choose another --keep",
        )
    parts = [one_array(chunk.read([name]).table.column(name)) for chunk in documents.chunks(None, [name])]
    return one_array(pa.chunked_array(parts))


class CutCounts(NamedTuple):
    """The documents that stay, those that are too short after cuts, the cut places, and the tokens cut.

    ``kept_files``: the files of the rows that stay, for ``run.json``.
    """

    kept: int
    short: int
    cuts: int
    tokens: int
    kept_files: Mapping[str, Any]


def write_cut(
    result: RepeatedPassages,
    documents: Documents,
    columns: Chosen,
    rules: CutRules,
    folder: OutputFolder,
    meter: Meter,
) -> CutCounts:
    """Write the rows that stay, short.parquet and cuts.parquet. Raises InputError if the input has changed.

    Rows have the form of the input and all its columns, with other texts; or, with ``annotate``, one more column.
    Files of text, and texts of several columns, become rows of kept.parquet.
    """
    stream = result.stream
    ranges = places_to_cut(result.blocks, stream, ranks_of(stream, documents, rules.keep))
    cutter = _Cutter(stream, columns.text, ranges, rules)
    every, in_rows = np.arange(len(stream.documents)), have_one_column(documents, columns.text)
    with meter.stage("cut", len(every), "documents") as advance, cutter.kept, cutter.short, cutter.cuts:
        cutter.add([], [], [])
        if in_rows:
            extra = MARKS if rules.annotate else None
            written = write_kept(folder, documents, cutter.rows, result.threads, advance, extra=extra)
            files = written.files
            if written.read != len(every):
                raise changed_error()
        else:
            files = {"form": "one file", "files": 1, "listed": []}
            texts = result.read(every)
            while some := list(islice(texts, _ROWS)):
                cutter.texts(some)
                advance(len(some))
    if not in_rows:
        folder.write_table("kept.parquet", cutter.kept.table)
    if not rules.annotate:
        folder.write_table("short.parquet", cutter.short.table)
        folder.write_table("cuts.parquet", cutter.cuts.table)
    short, cuts = int(cutter.is_short.sum()), 0 if rules.annotate else len(ranges.begins)
    return CutCounts(len(every) - short, short, cuts, int(cutter.gone.sum()), files)


class _Cutter:
    """Cuts ranges of tokens out of the documents of a stream, or marks them."""

    def __init__(self, stream: CorpusTokens, column: str, ranges: TokenRanges, rules: CutRules) -> None:
        self._stream, self._column, self._ranges, self._rules = stream, column, ranges, rules
        self._of = stream.documents_at(ranges.begins)
        sizes = np.diff(stream.ends, prepend=0)
        self.gone = np.bincount(self._of, ranges.ends - ranges.begins, len(sizes)).astype(np.int64)
        self._left = sizes - self.gone
        self.is_short = (self.gone > 0) & (self._left < rules.least) & (not rules.annotate)
        scratch = Scratch()
        self.kept, self.short, self.cuts = scratch.table(), scratch.table(), scratch.table()

    def rows(self, chunk: Chunk, native: NativeRows) -> ChunkRows:
        """The rows of a chunk without the ranges, or with their marks."""
        rows = self._stream.documents
        low, high = np.searchsorted(rows.chunks, (chunk.index, chunk.index + 1)).tolist()
        numbers = rows.rows[low:high]
        if numbers.tolist() != native.row_numbers.tolist():
            raise changed_error()
        spans = self._spans(chunk, low, high)
        if self._rules.annotate:
            marks = [[{"begin": begin, "end": end} for begin, end in spans.get(k, ())] for k in range(low, high)]
            return ChunkRows(np.ones(high - low, np.bool_), pa.table([marks], schema=MARKS))
        document_of = dict(zip(numbers.tolist(), range(low, high), strict=True))
        short: list[_Row] = []
        cuts: list[_Row] = []

        def cut(text: bytes, number: int) -> bytes:
            document = document_of[number]
            return self._cut(document, text, spans[document], short, cuts)

        with_cuts = {int(rows.rows[document]) for document in spans}
        texts = with_texts(native, self._column, with_cuts, cut)
        self.add([], short, cuts)
        return ChunkRows(~self.is_short[low:high], native=texts)

    def texts(self, some: Sequence[DocumentText]) -> None:
        """Add documents that are files, or texts of several columns, to the rows of kept.parquet."""
        kept: list[_Row] = []
        short: list[_Row] = []
        cuts: list[_Row] = []
        for read in some:
            document = read.document
            inside = self._ranges.of(self._stream.begins_at(document), int(self._stream.ends[document]))
            spans = [(int(read.tokens[first, 0]), int(read.tokens[last - 1, 1])) for first, last in inside]
            if self._rules.annotate:
                row = self._row(document, read.text)
                size = int(row[-2] + row[-1])
                marks = [{"begin": begin, "end": end} for begin, end in spans]
                kept.append((*row[:-2], size, row[-1], marks))
                continue
            left = self._cut(document, read.text, spans, short, cuts)
            if not self.is_short[document]:
                kept.append(self._row(document, left))
        self.add(kept, short, cuts)

    def add(self, kept: Sequence[_Row], short: Sequence[_Row], cuts: Sequence[_Row]) -> None:
        """Add rows to the tables."""
        self.kept.add(_table(kept, MARKED if self._rules.annotate else TEXTS_LEFT))
        self.short.add(_table(short, TEXTS_LEFT))
        self.cuts.add(_table(cuts, CUTS))

    def _spans(self, chunk: Chunk, low: int, high: int) -> dict[int, list[tuple[int, int]]]:
        """The bytes of the ranges in the documents ``low`` … ``high`` - 1 of a chunk, by document."""
        first, last = np.searchsorted(self._of, (low, high)).tolist()
        if first == last:
            return {}
        of, stream = self._of[first:last], self._stream
        begins = stream.begins_of(of)
        ranges = (
            np.column_stack((self._ranges.begins[first:last], self._ranges.ends[first:last])) - begins[:, None]
        )
        texts = ChunkAgain(text_batch(one_array(chunk.read([self._column]).table.column(self._column))), low)
        spans: dict[int, list[tuple[int, int]]] = {}
        for document, (begin, end) in zip(
            of.tolist(), texts.bytes_of(of, stream.ends[of] - begins, ranges).tolist(), strict=True
        ):
            spans.setdefault(document, []).append((begin, end))
        return spans

    def _cut(
        self, document: int, text: bytes, spans: Sequence[tuple[int, int]], short: list[_Row], cuts: list[_Row]
    ) -> bytes:
        """The text without the bytes of some spans; adds the rows of short.parquet and of cuts.parquet."""
        name = self._name(document)
        cuts += [(*name, begin, end, _valid_text(text[begin:end])) for begin, end in spans]
        left = without(text, spans)
        if self.is_short[document]:
            short.append(self._row(document, left))
        return left

    def _row(self, document: int, text: bytes) -> _Row:
        return (*self._name(document), _valid_text(text), int(self._left[document]), int(self.gone[document]))

    def _name(self, document: int) -> _Row:
        rows, one = self._stream.documents, np.array([document])
        return rows.ids_of(one)[0].as_py(), rows.sources_of(one)[0].as_py(), int(rows.rows[document])


def _valid_text(text: bytes) -> str:
    return text.decode("utf-8", "replace")


def _table(rows: Sequence[_Row], schema: pa.Schema) -> pa.Table:
    columns = list(zip(*rows, strict=True)) if rows else [() for _ in schema]
    arrays = [pa.array(column, kind.type) for column, kind in zip(columns, schema, strict=True)]
    return pa.table(arrays, schema=schema)


def without(text: bytes, spans: Sequence[tuple[int, int]]) -> bytes:
    """Return a text without the bytes [begin, end) of some spans, ascending and disjoint.

    >>> without(b"one two three", [(4, 8)])
    b'one three'
    """
    edges = [0, *(edge for span in spans for edge in span), len(text)]
    return b"".join(text[begin:end] for begin, end in zip(edges[::2], edges[1::2], strict=True))


def put_back(text: bytes, cuts: Sequence[tuple[int, bytes]]) -> bytes:
    """Return the whole text, given the text that is left and the cuts: (byte in the whole text, bytes), ascending.

    >>> put_back(b"one three", [(4, b"two ")])
    b'one two three'
    """
    pieces, taken, size = [], 0, 0
    for begin, cut in cuts:
        pieces += [text[taken : taken + begin - size], cut]
        taken, size = taken + begin - size, begin + len(cut)
    return b"".join([*pieces, text[taken:]])
