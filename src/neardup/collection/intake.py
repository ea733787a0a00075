"""Documents of any kind on their way into a collection: converted chunk by chunk, duplicate ids resolved."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any, Literal, TypeAlias, get_args

import pyarrow as pa
import pyarrow.compute as pc

from neardup.collection.arrivals import Arrivals, OnNear
from neardup.collection.contract import Entries
from neardup.collection.entries import entries_of, streams
from neardup.collection.fields import (
    FEW_WORDS,
    LARGEST_STREAM,
    MOST_WORDS,
    STREAM_FAULT,
    WORDS_FAULT,
    id_fault,
    metadata_fault,
    plain,
    text_fault,
    usable_id,
)
from neardup.collection.near import Finder, Near
from neardup.collection.records import Added
from neardup.collection.sets import Role, Sets
from neardup.collection.settings import CollectionSettings
from neardup.collection.store import Store
from neardup.collection.store.writing import Writing
from neardup.errors import InputError, SettingError
from neardup.io.formats import METADATA
from neardup.io.readers import Chunk, Documents, Problem, choose_columns, find_column
from neardup.io.readers.columns import ID_NAMES, TEXT_NAMES
from neardup.runtime import UNLIMITED, Deadline, Progress, ordered_map

OnDuplicate: TypeAlias = Literal["error", "replace", "skip"]

_SMALL = 1 << 20
_AHEAD = 32 << 20
"""Bytes of text that are prepared before the transaction begins."""


@dataclass(frozen=True)
class Columns:
    """The columns in use: text, id (None: the collection names the documents) and metadata.

    ``said`` names metadata that a file of one document may contain itself; it is kept only where a file has a
    value.
    """

    text: str
    id: str | None
    metadata: tuple[str, ...]
    said: tuple[str, ...] = ()

    @property
    def all(self) -> list[str]:
        """Each column once."""
        return list(
            dict.fromkeys(name for name in (self.text, self.id, *self.metadata, *self.said) if name is not None)
        )


@dataclass(frozen=True, eq=False)
class Prepared:
    """Documents ready to be stored, and the rows that cannot be."""

    entries: Entries
    problems: tuple[Problem, ...]


class Adding:
    """One call of ``Collection.add``: reads in worker threads and writes in its own, all in one transaction."""

    def __init__(
        self,
        store: Store,
        on_duplicate: OnDuplicate,
        near: Near | None,
        on_near: OnNear,
        on_problem: Callable[[Problem], None] | None = None,
        deadline: Deadline = UNLIMITED,
        role: Role = "document",
    ) -> None:
        if on_duplicate not in get_args(OnDuplicate):
            allowed = ", ".join(get_args(OnDuplicate))
            raise SettingError(f"on_duplicate is {on_duplicate!r}", f"One of {allowed}")
        self._store, self._on_duplicate, self._role = store, on_duplicate, role
        self._near, self._on_near, self._on_problem, self._deadline = near, on_near, on_problem, deadline
        self._outcome = Added(recall=near.recall if near else None)

    def run(
        self,
        opened: Documents,
        text: str | Sequence[str] | None,
        id: str | None,
        metadata: Sequence[str],
        progress: Progress,
    ) -> Added:
        """Add the documents, or none if the call or an id is invalid."""
        if opened.format == "arrow" and not has_rows(opened):
            return self._outcome
        columns, notes = columns_of(opened, text, id, metadata)
        self._outcome.notes = notes
        numbered = columns.id is None and opened.format == "arrow"
        on_duplicate = "error" if numbered else self._on_duplicate  # generated ids replace nothing
        settings = self._store.settings

        def prepare(chunk: Chunk) -> Prepared:
            return _prepare(chunk, columns, settings)

        with progress.stage("add", opened.size_bytes, "bytes") as advance:
            pieces = self._begun(_prepared(prepare, opened, columns))
            with self._store.writing() as transaction:
                arrivals = self._arrivals(transaction)
                for prepared in pieces:
                    self._store_one(prepared, arrivals, on_duplicate, numbered)
                    advance(int(prepared.entries.sizes.sum()))
        self._outcome.notes = (*notes, *opened.findings.encoding_notes())
        return self._outcome

    def run_prepared(
        self, pieces: Iterable[Prepared], notes: Sequence[str], numbered: bool, progress: Progress
    ) -> Added:
        """Add documents that were prepared elsewhere; ``numbered``: the collection names them."""
        self._outcome.notes = tuple(notes)
        on_duplicate = "error" if numbered else self._on_duplicate
        with progress.stage("add", None, "documents") as advance:
            pieces = self._begun(pieces)
            with self._store.writing() as transaction:
                arrivals = self._arrivals(transaction)
                for prepared in pieces:
                    self._store_one(prepared, arrivals, on_duplicate, numbered)
                    advance(len(prepared.entries))
        return self._outcome

    def _begun(self, pieces: Iterable[Prepared]) -> Iterable[Prepared]:
        """Prepare the first pieces now, before other writers have to wait: small additions as a whole.

        The comparison of the first document, whose result is not used, loads all code that comparing needs.
        """
        rest, ahead, size = iter(pieces), list[Prepared](), 0
        for prepared in rest:
            ahead.append(prepared)
            size += int(prepared.entries.sizes.sum())
            if size >= _AHEAD:
                break
        if self._near and ahead and len(ahead[0].entries):
            with self._store.reading(self._deadline):
                finder = Finder(self._store, self._near, Sets(self._store, self._deadline), self._deadline)
                finder.begin(ahead[0].entries.take([0]))
                finder.repeated(0, 0)
        return chain(ahead, rest)

    def _store_one(
        self, prepared: Prepared, arrivals: Arrivals, on_duplicate: OnDuplicate, numbered: bool
    ) -> None:
        for problem in prepared.problems:
            self._outcome.reject(problem)
            if self._on_problem:
                self._on_problem(problem)
        entries = _numbered(prepared.entries, arrivals.next_number()) if numbered else prepared.entries
        self._add(entries, arrivals, on_duplicate)

    def put(self, entries: Entries) -> Added:
        """Add the documents, or none if an id is invalid."""
        with self._store.writing() as transaction:
            self._add(entries, self._arrivals(transaction), self._on_duplicate)
        return self._outcome

    def _arrivals(self, transaction: Writing) -> Arrivals:
        return Arrivals(self._store, transaction, self._near, self._on_near, self._deadline, self._role)

    def _add(self, entries: Entries, arrivals: Arrivals, on_duplicate: OnDuplicate) -> None:
        if on_duplicate == "error":
            known = self._store.numbers(entries.ids)
            self._require_new(entries.ids, known)
            places, old = list(range(len(entries))), {}
        else:
            places = _distinct(entries.ids, last=on_duplicate == "replace")
            old = self._store.numbers([entries.ids[place] for place in places])
        if on_duplicate == "skip":
            places = [place for place in places if entries.ids[place] not in old]
            old = {}
        kept = entries if len(places) == len(entries) else entries.take(places)
        self._outcome.count(arrivals.store(kept, old))
        if on_duplicate == "skip":
            self._outcome.skipped += len(entries) - len(kept)
        else:
            self._outcome.replaced += len(entries) - len(kept)

    def _require_new(self, ids: Sequence[str], known: dict[str, int]) -> None:
        twice = next(iter(known), None)
        where = "is in the collection already"
        if twice is None and len(set(ids)) < len(ids):
            [(twice, _)] = Counter(ids).most_common(1)
            where = "comes twice in this batch"
        if twice is not None:
            raise InputError(
                f"The document {twice!r} {where}",
                "Ids that are new; nothing of this batch was stored",
                'Give --replace (on_duplicate="replace") to put it in place of the other, or leave it out',
            )


def _prepared(prepare: Callable[[Chunk], Prepared], documents: Documents, columns: Columns) -> Iterable[Prepared]:
    """All chunks in order, prepared in worker threads unless threads would cost more than the work itself."""
    chunks = documents.chunks(None, columns.all)
    if documents.size_bytes is not None and documents.size_bytes < _SMALL:
        return map(prepare, chunks)
    return ordered_map(prepare, chunks, threads=0)


def entries_named(
    ids: Sequence[str],
    texts: Sequence[str],
    metadata: Sequence[Any],
    settings: CollectionSettings,
    deadline: Deadline = UNLIMITED,
) -> Entries:
    """Fingerprint documents with ids, texts and any JSON as metadata.

    Raises InputError for documents that cannot be kept, and LimitError when the deadline passes.
    """
    names = [usable_id(id) for id in ids]
    if not len(names) == len(texts) == len(metadata):
        counts = f"{len(names):,} ids, {len(texts):,} texts and {len(metadata):,} records of metadata"
        raise InputError(f"These are {counts}", "As many of each, one for each document")
    for name, text in zip(names, texts, strict=True):
        if not isinstance(text, str):
            raise InputError(f"The text of document {name[:80]!r} is a {type(text).__name__}", "A str")
    array = pa.array([text.encode("utf-8", "replace") for text in texts], pa.large_binary())
    for k, fault in faults_of(names, array, metadata, deadline).items():
        raise _unfit(names[k], fault)
    return entries_of(array, names, [plain(values) for values in metadata], settings, deadline)


def _unfit(name: str, fault: str) -> InputError:
    return InputError(
        f"The document {name[:80]!r} cannot be kept: {fault}",
        "The limits in docs/reference/collection.md; nothing was stored",
        "Split it, or leave some of it out",
    )


def has_rows(documents: Documents) -> bool:
    """Whether there is any document."""
    return next(iter(documents.chunks()), None) is not None


def columns_of(
    documents: Documents, text: str | Sequence[str] | None, id: str | None, metadata: Sequence[str]
) -> tuple[Columns, tuple[str, ...]]:
    """Choose the columns of documents; return them with sentences about guesses. Raises InputError."""
    chosen = choose_columns(documents, text, id)
    for name in metadata:
        find_column(documents, name, "--meta")
    said = METADATA if documents.format == "text" and not metadata else ()
    return Columns(chosen.text, chosen.id, tuple(metadata), said), chosen.notes


@dataclass(frozen=True, eq=False)
class StorableRows:
    """Documents that can be kept, and the rows that cannot: ids, texts (an Arrow array), metadata."""

    ids: Sequence[str]
    texts: Any
    metadata: Sequence[dict[str, Any]]
    problems: tuple[Problem, ...]


def _prepare(chunk: Chunk, columns: Columns, settings: CollectionSettings) -> Prepared:
    rows = rows_of(chunk, columns)
    return Prepared(entries_of(rows.texts, rows.ids, rows.metadata, settings), rows.problems)


def rows_of(chunk: Chunk, columns: Columns) -> StorableRows:
    """Read the documents of a chunk."""
    rows = chunk.read(columns.all)
    table, numbers = rows.table, rows.row_numbers.tolist()
    ids = _ids(table, columns.id, chunk.source, numbers)
    texts = _one_array(table.column(columns.text))
    records = list(_records(table, (*columns.metadata, *columns.said)))
    faults = faults_of(ids, texts, records)
    problems = [Problem(chunk.source, numbers[k], reason) for k, reason in sorted(faults.items())]
    if faults:
        good = [k for k in range(len(ids)) if k not in faults]
        texts = texts.take(pa.array(good, pa.int64()))
        ids, records = [ids[k] for k in good], [records[k] for k in good]
    metadata = [_metadata(row, columns.said) for row in records]
    return StorableRows(ids, texts, metadata, (*rows.problems, *problems))


def _ids(table: Any, column: str | None, source: str, numbers: list[int]) -> list[str]:
    """The ids as strings; without an id column, the source followed by the row number."""
    if column is None:
        return [f"{source}#{number}" for number in numbers]
    return [_id_text(value) for value in table.column(column).to_pylist()]


def _id_text(value: Any) -> str:
    if isinstance(value, bytes):
        return value.decode("utf-8", "surrogateescape")
    return "" if value is None else str(value)


def faults_of(
    ids: list[str], texts: Any, metadata: Sequence[Any], deadline: Deadline = UNLIMITED
) -> dict[int, str]:
    """The reasons why rows cannot be kept, by their place."""
    lengths = pc.fill_null(pc.binary_length(texts), 0).to_pylist()
    found = {}
    for k, (id, length, values) in enumerate(zip(ids, lengths, metadata, strict=True)):
        fault = id_fault(id) or text_fault(length) or (metadata_fault(values) if values != {} else "")
        if not fault and length > FEW_WORDS:
            fault = _fault_of_large(texts[k].as_buffer().to_pybytes(), deadline)
        if fault:
            found[k] = fault
    return found


def _fault_of_large(text: bytes, deadline: Deadline) -> str:
    """Return why a large text cannot be kept; empty if it can.

    It may have too many distinct words, or be too long after normalisation. Raises LimitError when
    the deadline passes.
    """
    seen: set[bytes] = set()
    for stream in streams(text, LARGEST_STREAM, deadline):
        if stream is None:
            return STREAM_FAULT
        begin = 0
        while begin < len(stream):
            end = stream.find(b" ", begin + _SMALL)
            end = len(stream) if end < 0 else end
            seen.update(stream[begin:end].split(b" "))
            seen.discard(b"")
            if len(seen) > MOST_WORDS:
                return WORDS_FAULT
            deadline.check()
            begin = end + 1
    return ""


def _metadata(row: dict[str, Any], said: Sequence[str]) -> dict[str, Any]:
    return {name: plain(value) for name, value in row.items() if value is not None or name not in said}


def _records(table: Any, names: Sequence[str]) -> Iterator[dict[str, Any]]:
    if not names:
        return ({} for _ in range(table.num_rows))
    return iter(table.select(list(names)).to_pylist())


def _numbered(entries: Entries, first: int) -> Entries:
    """The entries with the numbers that they are about to receive as ids."""
    names = [f"#{number}" for number in range(first, first + len(entries))]
    return replace(entries, ids=names)


def _distinct(ids: Sequence[str], *, last: bool) -> list[int]:
    """The places of the distinct ids: the last or the first place of each id."""
    places = dict(zip(ids, range(len(ids)), strict=True))
    if not last:
        places = dict(zip(reversed(ids), reversed(range(len(ids))), strict=True))
    return sorted(places.values())


def _one_array(column: Any) -> Any:
    combined = column.combine_chunks()
    if isinstance(combined, pa.ChunkedArray):
        return combined.chunk(0) if combined.num_chunks else pa.array([], column.type)
    return combined


Record: TypeAlias = Mapping[str, Any]

_METADATA_KEY = "metadata"
"""The key whose record is the metadata of a document, unless other keys are named."""
_SOURCE = "records"
_AT_ONCE, _BYTES = 500, 4_000_000
"""The most records, and characters of text, that are prepared together."""


@dataclass(frozen=True)
class Keys:
    """The keys in use: text, id (None: the collection names the documents), metadata, and sentences about them."""

    text: str
    id: str | None
    metadata: tuple[str, ...]
    notes: tuple[str, ...]


def records_in(documents: Any) -> tuple[Iterable[Record] | None, Any]:
    """Return the records of a list or iterator of mappings, else None; and the documents, still unread."""
    if isinstance(documents, list | tuple):
        return (documents if documents and isinstance(documents[0], Mapping) else None), documents
    if not isinstance(documents, Iterator):
        return None, documents
    first = list(next_of(documents))
    whole = chain(first, documents)
    return (whole if first and isinstance(first[0], Mapping) else None), whole


def next_of(items: Iterator[Any]) -> Iterator[Any]:
    """Yield the next item, if there is one."""
    for item in items:
        yield item
        return


def keys_of(
    records: Iterable[Record], text: str | None, id: str | None, metadata: Sequence[str]
) -> tuple[Keys, Iterator[Record]]:
    """Choose the keys by the first record, as columns are chosen; return them and all records.

    Raises InputError if there is no text.

    >>> keys_of([{"doc_id": 1, "text": "pay", "year": 2020}], None, None, ())[0].notes[1]
    'not stored: year; name keys in metadata, or put them into a record metadata, to keep them'
    """
    rest = iter(records)
    first = next(rest)
    given = [name for name in first if isinstance(name, str)]
    notes: list[str] = []
    if text is None:
        text = next((name for name in TEXT_NAMES if name in first), None)
        if text is None:
            listed = ", ".join(given[:10]) or "none"
            raise InputError(f"The first record has no text; its keys are {listed}", "A key text", "Give text=KEY")
        notes += [f'text key: "{text}" (guessed; give text=)'] * (text != "text")
    if id is None:
        id = next((name for name in ID_NAMES if name in first and name != text), None)
        notes += [f'id key: "{id}" (guessed; give id=)'] * (id not in (None, "id"))
    kept = tuple(metadata) or (_METADATA_KEY,)
    lost = [name for name in given if name not in (text, id, *kept)]
    if lost:
        names = ", ".join(lost[:10]) + ", …" * (len(lost) > 10)
        way = "name keys in metadata, or put them into a record metadata, to keep them"
        notes.append(f"not stored: {names}; {way}")
    return Keys(text, id, tuple(metadata), tuple(notes)), chain([first], rest)


def prepared(records: Iterable[Record], keys: Keys, settings: CollectionSettings) -> Iterator[Prepared]:
    """Fingerprint records, some at a time; a record that cannot be kept becomes a problem, counted from 1."""
    for ids, texts, metadata, problems in kept_records(records, keys):
        yield Prepared(entries_of(texts, ids, metadata, settings), problems)


def _parts(records: Iterable[Record], text: str) -> Iterator[list[Any]]:
    part: list[Any] = []
    size = 0
    for record in records:
        part.append(record)
        value = record.get(text) if isinstance(record, Mapping) else None
        size += len(value) if isinstance(value, str) else 0
        if len(part) == _AT_ONCE or size > _BYTES:
            yield part
            part, size = [], 0
    if part:
        yield part


Kept: TypeAlias = tuple[Sequence[str], Any, Sequence[Any], tuple[Problem, ...]]
"""Ids, texts (an Arrow array), metadata, and problems of records."""


def kept_records(records: Iterable[Record], keys: Keys) -> Iterator[Kept]:
    """Yield the records that can be kept, some at a time, and the problems of the others."""
    begin = 1
    for part in _parts(records, keys.text):
        yield _kept(part, begin, keys)
        begin += len(part)


def _kept(part: Sequence[Any], begin: int, keys: Keys) -> Kept:
    problems, good = [], []
    for row, record in enumerate(part, begin):
        fault = _fault(record, keys)
        if fault:
            problems.append(Problem(_SOURCE, row, fault))
        else:
            good.append((row, record))
    ids = [f"#{row}" if keys.id is None else str(record[keys.id]) for row, record in good]
    texts = pa.array([_bytes(record[keys.text]) for _, record in good], pa.large_binary())
    metadata = [_metadata_of(record, keys) for _, record in good]
    found = faults_of(ids, texts, metadata)
    problems += [Problem(_SOURCE, good[k][0], reason) for k, reason in found.items()]
    kept = [k for k in range(len(good)) if k not in found]
    texts = texts.take(pa.array(kept, pa.int64())) if found else texts
    listed = tuple(sorted(problems, key=lambda problem: problem.row or 0))
    return [ids[k] for k in kept], texts, [plain(metadata[k]) for k in kept], listed


def _fault(record: Any, keys: Keys) -> str:
    if not isinstance(record, Mapping):
        return f"it is a {type(record).__name__}, not a record"
    for name in (keys.text, keys.id):
        if name is not None and name not in record:
            return f"it has no {name}"
    text, id = record[keys.text], None if keys.id is None else record[keys.id]
    if text is not None and not isinstance(text, str):
        return f"its text is a {type(text).__name__}, not a str"
    if keys.id is not None and (isinstance(id, bool) or not isinstance(id, str | int)):
        return f"its id is a {type(id).__name__}, not a str or an int"
    return ""


def _bytes(text: str | None) -> bytes | None:
    return None if text is None else text.encode("utf-8", "replace")


def _metadata_of(record: Record, keys: Keys) -> Any:
    if keys.metadata:
        return {name: record.get(name) for name in keys.metadata}
    found = record.get(_METADATA_KEY)
    return {} if found is None else found
