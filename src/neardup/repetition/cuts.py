"""Documents without the passages that another place has: cut at token ends, and put back."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from neardup.errors import InputError, SettingError
from neardup.io.readers.base import Documents
from neardup.io.writers import OutputFolder
from neardup.io.writers.scratch import Scratch
from neardup.repetition.passages import RepeatedPassages
from neardup.repetition.stream import CorpusTokens
from neardup.repetition.windows import RepeatedBlocks
from neardup.run.pipeline import Meter
from neardup.tables import Int64s, one_array

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
"""The columns of kept.parquet and short.parquet: a text without its cuts, its tokens, and the tokens cut."""
MARKED = pa.schema(
    [*list(TEXTS_LEFT), ("repeated", pa.list_(pa.struct([("begin", pa.int64()), ("end", pa.int64())])))]
)
"""The columns of kept.parquet with ``annotate``: the whole text, and the bytes that would be cut."""
CUTS = pa.schema(
    [
        ("id", pa.large_string()),
        ("source", pa.large_string()),
        ("row", pa.int64()),
        ("begin", pa.int64()),
        ("end", pa.int64()),
        ("text", pa.large_string()),
    ]
)
"""The columns of cuts.parquet: each cut with its bytes in the whole text, and its text."""


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
        ranked = pc.rank(values, sort_keys="descending", null_placement="at_end", tiebreaker="first")
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
    """The documents that stay, those that are too short after cuts, the cut places, and the tokens cut."""

    kept: int
    short: int
    cuts: int
    tokens: int


def write_cut(
    result: RepeatedPassages, documents: Documents, rules: CutRules, folder: OutputFolder, meter: Meter
) -> CutCounts:
    """Write kept.parquet, short.parquet and cuts.parquet. Raises InputError if the input has changed."""
    stream = result.stream
    ranges = places_to_cut(result.blocks, stream, ranks_of(stream, documents, rules.keep))
    scratch = Scratch()
    counts = np.zeros(4, np.int64)
    with scratch.table() as kept, scratch.table() as short, scratch.table() as cuts:
        tables, rows = (kept, short, cuts), _rows_of(result, ranges, rules)
        with meter.stage("cut", len(stream.documents), "documents") as advance:
            for group in rows:
                for table, part in zip(tables, group.tables, strict=True):
                    table.add(part)
                counts += [*(part.num_rows for part in group.tables), group.tokens]
                advance(group.documents)
    for name, table in zip(("kept", "short", "cuts"), tables, strict=True):
        if name == "kept" or not rules.annotate:
            folder.write_table(f"{name}.parquet", table.table)
    return CutCounts(*counts.tolist())


class _Group(NamedTuple):
    """The rows of some documents: of kept.parquet, short.parquet and cuts.parquet, and the tokens cut."""

    tables: Sequence[pa.Table]
    documents: int
    tokens: int


def _rows_of(result: RepeatedPassages, ranges: TokenRanges, rules: CutRules) -> Iterator[_Group]:
    """Yield groups of documents, with at least one group."""
    schema = MARKED if rules.annotate else TEXTS_LEFT
    kept: list[_Row] = []
    short: list[_Row] = []
    cuts: list[_Row] = []
    count = tokens = 0
    rows = result.stream.documents
    begins, ends = result.stream.begins, result.stream.ends

    def group() -> _Group:
        tables = [_table(kept, schema), _table(short, schema), _table(cuts, CUTS)]
        return _Group(tables, count, tokens)

    for read in result.read(np.arange(len(rows))):
        one = np.array([read.document])
        name = rows.ids_of(one)[0].as_py(), rows.sources_of(one)[0].as_py(), int(rows.rows[read.document])
        inside = ranges.of(int(begins[read.document]), int(ends[read.document]))
        spans = [(int(read.tokens[first, 0]), int(read.tokens[last - 1, 1])) for first, last in inside]
        gone = int((inside[:, 1] - inside[:, 0]).sum())
        left = len(read.tokens) - gone
        if rules.annotate:
            marks = [{"begin": begin, "end": end} for begin, end in spans]
            kept.append((*name, _shown(read.text), len(read.tokens), gone, marks))
        else:
            texts = kept if not spans or left >= rules.least else short
            texts.append((*name, _shown(without(read.text, spans)), left, gone))
            cuts += [(*name, begin, end, _shown(read.text[begin:end])) for begin, end in spans]
        count, tokens = count + 1, tokens + gone
        if count == _ROWS:
            yield group()
            kept, short, cuts, count, tokens = [], [], [], 0, 0
    yield group()


_Row: TypeAlias = tuple[Any, ...]


def _shown(text: bytes) -> str:
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
