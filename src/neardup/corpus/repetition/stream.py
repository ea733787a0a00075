"""Documents → one stream of token hashes in a working file, and documents that are read again."""

from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from neardup.deduplication.runs import Meter
from neardup.display import printable
from neardup.errors import InputError
from neardup.io.inputs import Chosen, Chunk, Documents, Problem, memory_of, remind
from neardup.io.outputs import FinishedParts, RunJournal, Scratch, drop_pages
from neardup.kernels.passages import graphemes, range_bytes, token_bytes, token_stream
from neardup.kernels.sketch import WORD, TextBatch
from neardup.kernels.text import Key
from neardup.runtime import ordered_map
from neardup.tables import Int64s, UInt64s, facts_of, one_array, with_facts
from neardup.text.keys import key_of, new_key
from neardup.text.sketch import text_batch
from neardup.unicode import unicode_tables

_TASK = 1 << 18
"""Tokens that a thread works on at a time."""
_DROPPED = 1 << 22
"""Tokens that are read before their pages are dropped from memory."""
_CHUNK = "chunk "
"""The name of the tokens of a chunk in a journal, before its number."""
Result = TypeVar("Result")

_END = "end"
"""The last part of a scan: the number of its chunks."""


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
    """The token hashes (uint64) of all documents, one after the other; document d ends before ``ends[d]``.

    The hashes are by ``key``. ``graphemes`` is the number of tokens in scripts without spaces, which are one each.
    """

    tokens: UInt64s
    ends: Int64s
    documents: DocumentRows
    problems: Sequence[Problem]
    key: Key = field(default_factory=new_key, repr=False)
    graphemes: int = 0

    @property
    def bytes_of_documents(self) -> int:
        """The bytes of the rows, ids and ends of all documents in memory; the tokens are in a working file."""
        rows = self.documents
        names = 0 if rows.ids is None else int(rows.ids.nbytes)
        return names + self.ends.nbytes + rows.rows.nbytes + rows.chunks.nbytes

    def begins_of(self, documents: Int64s) -> Int64s:
        """The places of the first tokens of documents."""
        return np.where(documents > 0, self.ends[documents - 1], 0)

    def begins_at(self, document: int) -> int:
        """The place of the first token of a document."""
        return int(self.ends[document - 1]) if document else 0

    def documents_at(self, places: Int64s) -> Int64s:
        """The documents that have the tokens at these places."""
        return np.searchsorted(self.ends, places, side="right")

    def parts(self, length: int) -> Iterator[tuple[int, UInt64s, Int64s]]:
        """All windows of ``length`` tokens, part by part: the place of the first token, tokens, and ends.

        A part has whole documents; a document with more than a quarter of a million tokens is in several parts,
        which share ``length`` - 1 tokens, so that each window is in one of them.
        """
        document = begin = read = 0
        while document < len(self.ends):
            last = max(document + 1, int(np.searchsorted(self.ends, begin + _TASK, side="right")))
            end = int(self.ends[last - 1])
            if end - begin <= 2 * _TASK + length:
                yield begin, self.tokens[begin:end], self.ends[document:last] - begin
            else:
                for first in range(begin, end - length + 1, _TASK):
                    tokens = self.tokens[first : min(end, first + _TASK + length - 1)]
                    yield first, tokens, np.array([len(tokens)])
            read += end - begin
            if read > _DROPPED:
                drop_pages(self.tokens)
                read = 0
            document, begin = last, end


class _ChunkFacts(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The facts of a chunk besides its tokens, for a journal."""

    ends: list[int]
    rows: list[int]
    ids: list[str] | None
    problems: list[Problem]
    graphemes: int
    memory: str | None = None


class _Read(NamedTuple):
    """A chunk as tokens."""

    chunk: Chunk
    tokens: UInt64s
    ends: Int64s
    rows: Int64s
    ids: pa.Array | None
    problems: Sequence[Problem]
    graphemes: int


def read_stream(
    documents: Documents,
    columns: Chosen,
    key: Key,
    threads: int,
    meter: Meter,
    journal: FinishedParts | None = None,
) -> CorpusTokens:
    """Read all documents once; their token hashes by ``key`` go to a working file.

    Chunks that the ``journal`` has are not read again. Raises OutputError without room for the file.
    """
    file, ends, chunks, rows, ids = Scratch().numbers(), [np.zeros(0, np.int64)], [], [], []
    sources: dict[int, str] = {}
    problems: list[Problem] = []
    graphemes_ = 0
    wanted = [columns.text, *([columns.id] if columns.id else [])]
    with meter.stage("read", None, "documents") as advance:
        work = partial(_read, columns=columns, key=key, journal=journal)
        for read in ordered_map(work, documents.chunks(None, wanted), threads):
            ends.append(read.ends + len(file))
            file.append(read.tokens)
            chunks.append(np.full(len(read.rows), read.chunk.index, np.int64))
            rows.append(read.rows)
            sources[read.chunk.index] = read.chunk.source
            problems += read.problems
            graphemes_ += read.graphemes
            ids += [read.ids] if read.ids is not None else []
            advance(len(read.rows))
    nothing = np.zeros(0, np.int64)
    names = one_array(pa.chunked_array(ids, pa.large_string())) if columns.id else None
    of_rows = DocumentRows(np.concatenate((nothing, *chunks)), np.concatenate((nothing, *rows)), sources, names)
    return CorpusTokens(file.mapped_array(), np.concatenate(ends), of_rows, problems, key, graphemes_)


def _read(chunk: Chunk, columns: Chosen, key: Key, journal: FinishedParts | None) -> _Read:
    """Read the tokens of a chunk, or those that an earlier run kept."""
    name = f"{_CHUNK}{chunk.index}"
    finished = None if journal is None else journal.get(name)
    if finished is not None:
        facts = facts_of(finished, _ChunkFacts)
        remind(chunk, facts.memory)
        known = None if facts.ids is None else pa.array(facts.ids, pa.large_string())
        tokens = finished["tokens"].to_numpy()
        return _Read(
            chunk,
            tokens,
            np.array(facts.ends, np.int64),
            np.array(facts.rows, np.int64),
            known,
            facts.problems,
            facts.graphemes,
        )
    rows = chunk.read([columns.text, columns.id] if columns.id else [columns.text])
    texts = one_array(rows.table.column(columns.text))
    batch = text_batch(texts)
    tokens, ends = token_stream(batch, unicode_tables(), WORD, key)
    alone = int(graphemes(batch, unicode_tables()))
    ids = one_array(rows.table.column(columns.id)).cast(pa.large_string()) if columns.id else None
    if journal is not None:
        of_ids, problems = None if ids is None else ids.to_pylist(), list(rows.problems)
        numbers = rows.row_numbers.tolist()
        facts = _ChunkFacts(ends.tolist(), numbers, of_ids, problems, alone, memory_of(chunk))
        journal.put(name, with_facts(pa.table([tokens], names=["tokens"]), facts))
    return _Read(chunk, tokens, ends, rows.row_numbers, ids, rows.problems, alone)


def write_scan(
    documents: Documents, columns: Chosen, journal: RunJournal, threads: int, meter: Meter
) -> CorpusTokens:
    """Store the tokens of a part of the documents, chunk by chunk, for a search over all parts."""
    stream = read_stream(documents, columns, key_of(journal.secret), threads, meter, journal)
    journal.put(_END, pa.table({"chunks": [sum(1 for _ in documents.chunks(None, []))]}))
    return stream


class ScannedParts:
    """The chunks of parts whose tokens are stored (``write_scan``), as those of one input.

    ``facts`` are those of a run over all parts, in the same order: see ``journal_facts``. Raises InputError for a
    part that is not finished, of other files, settings or columns, or under another key.
    """

    def __init__(self, folders: Sequence[Path], facts: Mapping[str, Any]) -> None:
        self._journals, runs, self._firsts = list[RunJournal](), [], [0]
        try:
            for folder in folders:
                journal, run = RunJournal.reopen(folder)
                self._journals.append(journal)
                runs.append(run)
            self.secret = self._journals[0].secret
            self._require_parts(folders, runs, facts)
        except InputError:
            self.close()
            raise

    def _require_parts(
        self, folders: Sequence[Path], runs: Sequence[Mapping[str, Any]], facts: Mapping[str, Any]
    ) -> None:
        files = []
        for folder, journal, scanned in zip(folders, self._journals, runs, strict=True):
            end = journal.get(_END)
            if end is None:
                raise InputError(
                    f"The scan {printable(str(folder))} is not finished", "Finished scans", "Scan this part again"
                )
            different = [
                name
                for name, value in facts.items()
                if name != "input" and _comparable(value) != _comparable(scanned[name])
            ]
            if different or journal.secret != self.secret:
                raise InputError(
                    f"The scan {printable(str(folder))} has another {(different or ['key'])[0]}",
                    "Scans with the same settings, columns and key",
                    "Scan this part again",
                )
            self._firsts.append(self._firsts[-1] + end["chunks"][0].as_py())
            files += [*scanned["input"]["input"].values()]
        if files != [*facts["input"]["input"].values()]:
            raise InputError(
                "The scans are of other files than the inputs",
                "The inputs of all scans, in the order of the scans",
                "Name them in this order, or scan them again",
            )

    def get(self, name: str) -> pa.Table | None:
        """The tokens of a chunk; None for any other part of a run."""
        if not name.startswith(_CHUNK):
            return None
        number = int(name.removeprefix(_CHUNK))
        part = bisect_right(self._firsts, number) - 1
        return self._journals[part].get(f"{_CHUNK}{number - self._firsts[part]}")

    def put(self, name: str, table: pa.Table) -> None:
        """Do nothing: the scans stay as they are."""

    def close(self) -> None:
        """Close the files."""
        for journal in self._journals:
            journal.close()


def _comparable(value: Any) -> Any:
    """A fact as JSON has it, without the memory limit, which the tokens do not depend on."""
    plain = msgspec.json.decode(msgspec.json.encode(value))
    return {name: one for name, one in plain.items() if name != "memory"} if isinstance(plain, dict) else plain


class ChunkAgain(NamedTuple):
    """The texts of a chunk that is read again, and the number of the first one in the stream."""

    batch: TextBatch
    first: int

    def text(self, document: int) -> bytes:
        """The text of a document of the stream, in UTF-8."""
        return self.part(document, 0, None)

    def part(self, document: int, begin: int, end: int | None) -> bytes:
        """The bytes ``begin`` … ``end`` - 1 of a text."""
        first, last = self.batch.offsets[document - self.first : document - self.first + 2].tolist()
        part: bytes = self.batch.data[first + begin : last if end is None else min(last, first + end)].tobytes()
        return part

    def bytes_of(self, documents: Int64s, sizes: Int64s, ranges: Int64s) -> Int64s:
        """The bytes [begin, end) of ranges of tokens, int64[n, 2]; the documents (ascending) have ``sizes``.

        Raises InputError if one has another number of tokens: it has changed.
        """
        spans = np.empty_like(ranges)
        if not range_bytes(self.batch, unicode_tables(), documents - self.first, sizes, ranges, spans):
            raise changed_error()
        return spans


class DocumentText(NamedTuple):
    """A document that is read again: its number in the stream, its text, and its tokens' bytes, int64[n, 2]."""

    document: int
    text: bytes
    tokens: Int64s


def changed_error() -> InputError:
    """The error of an input that is no longer as it was read first."""
    return InputError(
        "The input changed while it was read",
        "Inputs that do not change during a run",
        "Start again when nothing writes to it",
    )


def chunks_again(
    documents: Documents,
    columns: Chosen,
    stream: CorpusTokens,
    threads: int,
    wanted: Int64s,
    work: Callable[[ChunkAgain, Int64s], Result],
) -> Iterator[Result]:
    """Yield ``work(texts, some of the wanted documents)`` for each chunk with wanted documents (int64, ascending).

    Computed in worker threads, in order.
    """
    of_chunk = stream.documents.chunks
    first = {
        int(number): int(place) for number, place in zip(*np.unique(of_chunk, return_index=True), strict=True)
    }
    chunks = set(np.unique(of_chunk[wanted]).tolist())

    def of(chunk: Chunk) -> Result:
        texts = one_array(chunk.read([columns.text]).table.column(columns.text))
        begin = first[chunk.index]
        low, high = np.searchsorted(wanted, (begin, begin + len(texts)))
        if high < len(wanted) and of_chunk[wanted[high]] == chunk.index:
            raise changed_error()
        return work(ChunkAgain(text_batch(texts), begin), wanted[low:high])

    if chunks:
        yield from ordered_map(of, documents.chunks(chunks, [columns.text]), threads)


def read_again(
    documents: Documents, columns: Chosen, stream: CorpusTokens, threads: int, wanted: Int64s
) -> Iterator[DocumentText]:
    """Yield some documents (int64, ascending), in order. Raises InputError if one has changed."""

    def texts_of(texts: ChunkAgain, some: Int64s) -> list[DocumentText]:
        read = []
        for document in some.tolist():
            tokens = token_bytes(texts.batch, document - texts.first, unicode_tables()).reshape(-1, 2)
            if len(tokens) != stream.ends[document] - stream.begins_at(document):
                raise changed_error()
            read.append(DocumentText(document, texts.text(document), tokens))
        return read

    for read in chunks_again(documents, columns, stream, threads, wanted, texts_of):
        yield from read
