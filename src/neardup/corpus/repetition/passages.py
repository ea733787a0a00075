"""``passages``: the passages that occur more than once in documents, with all their places."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any, NamedTuple, Unpack

import numpy as np
import pyarrow as pa

from neardup.corpus.repetition.repeats import MaximalRepeats, maximal_repeats
from neardup.corpus.repetition.stream import (
    ChunkAgain,
    CorpusTokens,
    DocumentRows,
    DocumentText,
    chunks_again,
    read_again,
    read_stream,
)
from neardup.corpus.repetition.units import LEAST_OF_UNIT, Unit, repeated_units, unit_of, unit_repeats
from neardup.corpus.repetition.views import PassagesAccount, as_fragment, as_page, doubling_intervals, lines_of
from neardup.corpus.repetition.windows import RepeatedBlocks, repeated_blocks
from neardup.deduplication.runs import Meter
from neardup.display.view import PlainData
from neardup.errors import SettingError
from neardup.io.inputs import Chosen, Documents, choose_columns, open_documents
from neardup.io.outputs import OutputFolder, Scratch, journal_here
from neardup.runtime import Progress, Silent, ordered_map, release_memory, return_large_arrays
from neardup.settings import SettingKeywords, Settings
from neardup.tables import Int64s
from neardup.text.keys import key_of, new_key

LENGTH = 50
"""The least number of tokens of a passage, unless another one is given."""
GRAPHEMES_OF_WORD = 1.6
"""Graphemes of a Chinese word on average: the factor of LENGTH where most tokens are graphemes."""
MOST_TOKENS = 1_000_000
SAMPLE = 500
"""The most characters of the text of a passage in the tables."""
BOILERPLATE_DOCUMENTS, BOILERPLATE = 10, 1000
"""The fewest documents with a passage that is listed as boilerplate, and the most such passages."""

PASSAGES = pa.schema(
    [
        ("passage", pa.int64()),
        ("tokens", pa.int64()),
        ("times", pa.int64()),
        ("documents", pa.int64()),
        ("sample", pa.large_string()),
        ("id", pa.large_string()),
        ("source", pa.large_string()),
        ("row", pa.int64()),
        ("begin", pa.int64()),
        ("end", pa.int64()),
    ]
)
"""The columns of passages.parquet; from ``id`` on, its first place: document, and bytes of its text."""

PLACES = pa.schema(
    [
        ("passage", pa.int64()),
        ("id", pa.large_string()),
        ("source", pa.large_string()),
        ("row", pa.int64()),
        ("first_token", pa.int64()),
        ("tokens", pa.int64()),
        ("begin", pa.int64()),
        ("end", pa.int64()),
        ("alone", pa.bool_()),
    ]
)
"""The columns of places.parquet; ``begin`` and ``end`` are bytes of the text in UTF-8."""


@dataclass(frozen=True, eq=False)
class RepeatedPassages(PlainData):
    """The passages of at least ``length`` tokens that occur more than once, and their places.

    ``passages`` has a row for each, in the order of first places, and ``places`` one for each of their places.
    Columns: see PASSAGES and PLACES. ``boilerplate`` has the whole text of the passages in most documents.
    """

    length: int
    unit: Unit
    passages: pa.Table
    boilerplate: pa.Table
    stream: CorpusTokens = field(repr=False)
    repeats: MaximalRepeats = field(repr=False)
    block_bytes: Int64s = field(repr=False)
    """The bytes [begin, end) of each occurrence of a block, int64[n, 2]."""
    notes: Sequence[str]
    read: Callable[[Int64s], Iterator[DocumentText]] = field(repr=False)
    """Reads some documents again, given their numbers in the stream, ascending."""
    threads: int = 0

    @property
    def blocks(self) -> RepeatedBlocks:
        """The blocks of repeated windows, or units."""
        return self.repeats.blocks

    @property
    def nested(self) -> bool:
        """Whether places within places of longer passages are listed."""
        return self.repeats.nested

    @cached_property
    def places(self) -> pa.Table:
        """All places in memory, with the columns PLACES."""
        return pa.concat_tables([PLACES.empty_table(), *self.place_tables()])

    @cached_property
    def place_documents(self) -> Int64s:
        """The document of each place, as a number in the stream."""
        return self.stream.documents_at(self.blocks.places[self.repeats.places().occurrences])

    def place_tables(self) -> Iterator[pa.Table]:
        """The rows of ``places``, some passages at a time."""
        return ordered_map(lambda some: self._places_table(*some), self.repeats.slices(), self.threads)

    def _places_table(self, low: int, high: int) -> pa.Table:
        placed, blocks, stream = self.repeats.places(low, high), self.blocks, self.stream
        first = placed.occurrences
        documents = stream.documents_at(blocks.places[first])
        return _table(
            PLACES,
            (
                placed.passages,
                *_rows(stream.documents, documents),
                blocks.places[first] - stream.begins_of(documents),
                self.repeats.tokens[placed.passages],
                self.block_bytes[first, 0],
                self.block_bytes[first + self.repeats.symbols[placed.passages] - 1, 1],
                placed.alone,
            ),
        )

    @cached_property
    def repeated(self) -> Int64s:
        """The number of tokens of each document that are in repeated passages, int64[n]."""
        ends = self.blocks.places + self.blocks.tokens
        before = np.concatenate((np.zeros(1, np.int64), ends[:-1])) if len(ends) else ends
        fresh = ends - np.maximum(self.blocks.places, before)  # occurrences overlap, and their ends ascend
        documents = self.stream.documents_at(self.blocks.places)
        return np.bincount(documents, fresh, len(self.stream.ends)).astype(np.int64)

    def by_source(self) -> list[dict[str, Any]]:
        """For each file: its documents and tokens, and the tokens that are in repeated passages."""
        documents = self.stream.documents
        names = documents.sources_of(np.arange(len(documents)))
        table = pa.table(
            {"source": names, "tokens": np.diff(self.stream.ends, prepend=0), "repeated": self.repeated}
        )
        sums = table.group_by("source").aggregate([("tokens", "count"), ("tokens", "sum"), ("repeated", "sum")])
        return [
            {
                "source": row["source"],
                "documents": row["tokens_count"],
                "tokens": row["tokens_sum"],
                "repeated": row["repeated_sum"],
            }
            for row in sums.sort_by("source").to_pylist()
        ]

    def _intervals(self, column: str, least: int) -> list[dict[str, int]]:
        intervals = doubling_intervals(self.passages[column].to_numpy(), least)
        return [{"from": low, "to": high, "passages": count} for low, high, count in intervals]

    @property
    def shown(self) -> PassagesAccount:
        """The account and the passages, for views."""
        return PassagesAccount(self.as_dict(), self.passages)

    def __str__(self) -> str:
        return "\n".join(lines_of(self.shown))

    def _repr_html_(self) -> str:
        return as_fragment(self.shown)

    def as_dict(self) -> dict[str, Any]:
        """The account, as in ``run.json``."""
        return {
            "command": "passages",
            "counts": {
                "documents": len(self.stream.documents),
                "tokens": int(self.stream.ends[-1]) if len(self.stream.ends) else 0,
                "repeated_tokens": int(self.repeated.sum()),
                "passages": len(self.repeats),
                "places": self.repeats.listed,
                "boilerplate": self.boilerplate.num_rows,
                "rejected": len(self.stream.problems),
            },
            "rules": {
                "unit": self.unit,
                "length": self.length,
                "nested": self.nested,
                "graphemes": self.stream.graphemes,
                "graphemes_of_word": GRAPHEMES_OF_WORD,
            },
            "sources": self.by_source(),
            "lengths": self._intervals("tokens", self.length),
            "times": self._intervals("times", 2),
            "notes": list(self.notes),
        }


def passages(
    documents: object,
    *,
    text: str | Sequence[str] | None = None,
    id: str | None = None,
    progress: Progress | None = None,
    **settings: Unpack[SettingKeywords],
) -> RepeatedPassages:
    """Find every passage of at least ``length`` (50; 80 graphemes) tokens that is repeated, with all its places.

    ``documents``: what :func:`neardup.find` accepts. Passages are maximal repeats: see
    ``repeats.maximal_repeats``. Tokens are compared by hashes of 64 bits under a random
    key: two different tokens are equal with probability 2⁻⁶⁴. With ``unit`` line, paragraph or sentence, the whole
    units of at least ``length`` (5) tokens that occur more than once. The process keeps
    to ``memory`` as far as the texts allow.

    Raises SettingError for settings out of range, and InputError for input that cannot be used.
    """
    unit = unit_of(settings.pop("unit", "passage"))
    length = length_of(settings.pop("length", None), unit)
    chosen = Settings.of(**settings)
    if chosen.shingles.unit != "word" or chosen.cleaning.is_on:
        raise SettingError("passages compares words as they are", "unit word, and no mask", "Leave it out")
    opened = open_documents(documents, reading=chosen.reading)
    columns = choose_columns(opened, text, id)
    return passages_of(opened, columns, (unit, length), chosen, Meter(progress or Silent()))


def length_of(length: int | None, unit: Unit) -> int | None:
    """Check the least length of a passage or a unit; None for that of its kind. Raises SettingError."""
    least = 2 if unit == "passage" else 1
    if length is None:
        return None
    if not least <= length <= MOST_TOKENS:
        raise SettingError(f"length is {length}", f"a number from {least} to {MOST_TOKENS:,} tokens")
    return length


def passages_of(
    documents: Documents, columns: Chosen, shape: tuple[Unit, int | None], settings: Settings, meter: Meter
) -> RepeatedPassages:
    """Find the passages of documents; ``shape`` = the unit and its least number of tokens, or None.

    Finished parts are kept in the journal of this context, and are not made again.
    """
    threads, room, journal = settings.work.threads, settings.search.room, journal_here()
    if room is not None:
        return_large_arrays()
        pa.set_memory_pool(pa.system_memory_pool())  # the pool of Arrow keeps freed memory
    key = new_key() if journal is None else key_of(journal.secret)
    stream = read_stream(documents, columns, key, threads, meter, journal)
    dropped = columns.dropped_ids_note(stream.documents.ids, limited=room is not None)
    if dropped:
        stream = replace(stream, documents=replace(stream.documents, ids=None))
    release_memory()
    again = partial(read_again, documents, columns, stream, threads)
    unit, length = shape[0], shape[1] or _length_for(stream, shape[0])
    if unit == "passage":
        blocks = repeated_blocks(stream, length, threads, room, Scratch(), meter, journal)
        release_memory()
        with meter.stage("repeats", None, "passages"):
            repeats = maximal_repeats(blocks)
    else:
        blocks = repeated_units(stream, again(np.arange(len(stream.ends))), unit, length, meter)
        repeats = unit_repeats(blocks)
    release_memory()
    with meter.stage("places", len(blocks.places), "places") as advance:
        located, table = _Located(stream, repeats), Scratch().table()
        chunks = chunks_again(documents, columns, stream, threads, located.documents, located.in_chunk)
        with table:
            table.add(PASSAGES.empty_table())
            for some in chunks:
                advance(located.add(some))
                table.add(some.passages)
    release_memory()
    return RepeatedPassages(
        length,
        unit,
        table.table,
        located.boilerplate(),
        stream,
        repeats,
        located.bytes,
        (*columns.notes, *dropped),
        again,
        threads,
    )


def _length_for(stream: CorpusTokens, unit: Unit) -> int:
    """The least length, unless one is given: by the scripts of most tokens."""
    if unit != "passage":
        return LEAST_OF_UNIT
    return round(LENGTH * GRAPHEMES_OF_WORD) if 2 * stream.graphemes > len(stream.tokens) else LENGTH


class _InChunk(NamedTuple):
    """The parts of a chunk: bytes of the occurrences from ``low`` on, passages, texts of boilerplate."""

    low: int
    bytes: Int64s
    passages: pa.Table
    texts: dict[int, str]


class _Located:
    """The places of blocks, found in the texts of their documents; and the passages that begin there."""

    def __init__(self, stream: CorpusTokens, repeats: MaximalRepeats) -> None:
        self._stream, self._repeats, self._blocks = stream, repeats, repeats.blocks
        self._of = stream.documents_at(self._blocks.places)
        self.documents = np.unique(self._of)
        self.bytes = np.empty((len(self._of), 2), np.int64)
        self._texts: dict[int, str] = {}
        self._first = self._of[repeats.first]
        self.counts = self._documents_of_passages()
        many = np.flatnonzero(self.counts >= BOILERPLATE_DOCUMENTS)
        most = many[np.lexsort((many, -repeats.tokens[many], -self.counts[many]))][:BOILERPLATE]
        self._boilerplate = most
        self._whole = set(most.tolist())

    def _documents_of_passages(self) -> Int64s:
        counts = np.empty(len(self._repeats), np.int64)
        for low, high in self._repeats.slices():
            placed = self._repeats.places(low, high)
            documents = self._of[placed.occurrences]
            first = np.ones(len(documents), np.bool_)
            first[1:] = (placed.passages[1:] != placed.passages[:-1]) | (documents[1:] != documents[:-1])
            counts[low:high] = np.bincount(placed.passages[first] - low, minlength=high - low)
        return counts

    def in_chunk(self, texts: ChunkAgain, documents: Int64s) -> _InChunk:
        """Locate the places in some documents of a chunk."""
        repeats, stream = self._repeats, self._stream
        bounds = documents[0], documents[-1] + 1
        low, high = np.searchsorted(self._of, bounds).tolist()
        of = self._of[low:high]
        first_tokens = stream.begins_of(of)
        begins = self._blocks.places[low:high] - first_tokens
        tokens = self._blocks.windows[low:high] + (self._blocks.length - 1)
        ranges = np.column_stack((begins, begins + tokens))
        in_bytes = texts.bytes_of(of, stream.ends[of] - first_tokens, ranges)
        some = np.arange(*np.searchsorted(self._first, bounds))
        first = repeats.first[some] - low
        spans = np.column_stack((in_bytes[first, 0], in_bytes[first + repeats.symbols[some] - 1, 1]))
        samples, whole = [], {}
        for passage, document, (begin, end) in zip(
            some.tolist(), self._first[some].tolist(), spans.tolist(), strict=True
        ):
            shown = texts.part(document, begin, end if passage in self._whole else min(end, begin + 4 * SAMPLE))
            string = shown.decode("utf-8", "replace")
            samples.append(string[:SAMPLE])
            if passage in self._whole:
                whole[passage] = string
        columns = (
            some,
            repeats.tokens[some],
            repeats.times[some],
            self.counts[some],
            samples,
            *_rows(stream.documents, self._first[some]),
            *spans.T,
        )
        return _InChunk(low, in_bytes, _table(PASSAGES, columns), whole)

    def add(self, located: _InChunk) -> int:
        """Take over the places in a chunk, and return their number."""
        self.bytes[located.low : located.low + len(located.bytes)] = located.bytes
        self._texts |= located.texts
        return len(located.bytes)

    def boilerplate(self) -> pa.Table:
        """The whole text of the passages in the most documents."""
        most = self._boilerplate
        texts = pa.array([self._texts[passage] for passage in most.tolist()], pa.large_string())
        return pa.table({"passage": most, "documents": self.counts[most], "text": texts})


def _rows(rows: DocumentRows, documents: Int64s) -> tuple[pa.Array, pa.Array, Int64s]:
    return rows.ids_of(documents), rows.sources_of(documents), rows.rows[documents]


def _table(schema: pa.Schema, columns: Sequence[Any]) -> pa.Table:
    arrays = [pa.array(column, kind.type) for column, kind in zip(columns, schema, strict=True)]
    return pa.table(arrays, schema=schema)


def write_passages(
    result: RepeatedPassages, folder: OutputFolder, account: Mapping[str, Any], meter: Meter
) -> None:
    """Write the tables and the account."""
    folder.write_table("passages.parquet", result.passages)
    folder.write_tables("places.parquet", PLACES, result.place_tables())
    folder.write_jsonl("boilerplate.jsonl", result.boilerplate.to_pylist())
    folder.write_jsonl("problems.jsonl", result.stream.problems)
    folder.write_page("report.html", as_page(result.shown))
    folder.write_json("run.json", {**account, "seconds": meter.seconds})
