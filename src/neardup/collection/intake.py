"""Documents of any kind on their way into a collection: converted chunk by chunk, duplicate ids resolved."""

import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain, islice
from pathlib import Path
from time import monotonic
from typing import Any, Literal, NamedTuple, TypeAlias, get_args

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from neardup import display
from neardup.collection import fields
from neardup.collection.arrivals import Arrivals, OnNear
from neardup.collection.contract import Entries
from neardup.collection.entries import entries_of, loaded_texts, streams, unpack
from neardup.collection.near import Near
from neardup.collection.records import Added
from neardup.collection.sets import Role
from neardup.collection.settings import CollectionSettings
from neardup.collection.store import Store
from neardup.collection.store.transaction import MANY, Writing
from neardup.errors import InputError, NeardupError, SettingError
from neardup.io.contents import ATTACHMENTS, METADATA, carried_by, carries
from neardup.io.inputs import (
    ID_NAMES,
    TEXT_NAMES,
    Chunk,
    Documents,
    Problem,
    choose_columns,
    find_column,
    joined_name,
    offer_fields,
    open_documents,
)
from neardup.runtime import UNLIMITED, Advance, Deadline, Progress, ordered_map
from neardup.tables import one_array

OnDuplicate: TypeAlias = Literal["error", "replace", "skip"]

_SMALL = 1 << 20
_AHEAD = 32 << 20
"""Bytes of text that are prepared before the only transaction of a call begins."""


class TransactionSize(NamedTuple):
    """How much is stored in one transaction."""

    documents: int = 500
    """Documents of a portion, which is always stored in one transaction."""
    size: int = 4 << 20
    """Bytes of text of a portion with fewer documents."""
    most: int = 8
    """Portions of a transaction, if they take no longer than ``seconds``."""
    seconds: float = 0.25
    """About how long a transaction may take while others wait."""


@dataclass(frozen=True)
class Columns:
    """The columns in use: text, id (None: the collection names the documents) and metadata.

    ``own`` names metadata that a file of one document may contain itself; kept only where a file has a value.
    """

    text: str
    id: str | None
    metadata: tuple[str, ...]
    own: tuple[str, ...]
    carried: tuple[str, ...] = ()
    """The column of the parts beside the texts, if the documents have one."""

    @property
    def all(self) -> list[str]:
        """Each column once."""
        names = (self.text, self.id, *self.metadata, *self.own, *self.carried)
        return list(dict.fromkeys(name for name in names if name is not None))


@dataclass(frozen=True, eq=False)
class StorableRows:
    """Documents that can be kept: ids, texts (an Arrow array), metadata; and the problems of the other rows."""

    ids: Sequence[str]
    texts: Any
    metadata: Sequence[dict[str, Any]]
    problems: tuple[Problem, ...]


@dataclass(frozen=True, eq=False)
class Intake:
    """Documents of any kind: ``rows_of`` reads each of the ``parts``, in any thread.

    ``notes`` are sentences about guesses. ``nameless`` documents have no ids, so the collection names them.
    ``opened`` is None for records.
    """

    parts: Iterable[Any]
    rows_of: Callable[[Any], StorableRows]
    notes: tuple[str, ...]
    nameless: bool
    opened: Documents | None = None


def intake_of(
    documents: Any,
    text: str | Sequence[str] | None,
    id: str | None,
    metadata: Sequence[str],
    without: Sequence[Path] = (),
) -> Intake:
    """Open documents of any kind that ``Collection.add`` accepts, but for the files ``without``.

    Raises InputError for documents, columns and keys that cannot be used.
    """
    records, documents = records_in(documents)
    if records is not None:
        keys, records = keys_of(records, joined_name(text), id, metadata)
        return Intake(_parts(records, keys.text), partial(_rows_of_records, keys), keys.notes, keys.id is None)
    opened = open_documents(documents, without=without)
    if opened.format == "arrow" and next(iter(opened.chunks()), None) is None:
        return Intake((), partial(_rows_of_chunk, Columns("", None, (), ())), (), False, opened)
    chosen = choose_columns(opened, text, id)
    for name in metadata:
        find_column(opened, name, "--meta")
    offer_fields(opened, metadata)
    own = METADATA if opened.format == "text" and not metadata else ()
    carried = (ATTACHMENTS,) if carries(opened) else ()
    columns = Columns(chosen.text, chosen.id, tuple(metadata), own, carried)
    nameless = columns.id is None and opened.format == "arrow"
    chunks = opened.chunks(None, columns.all)
    return Intake(chunks, partial(_rows_of_chunk, columns), chosen.notes, nameless, opened)


class Prepared(NamedTuple):
    """Documents ready to be stored, and the problems of the rows that cannot be."""

    entries: Entries
    problems: tuple[Problem, ...]


class Adding:
    """One call of ``Collection.add``: reads in worker threads, writes in its own, some portions at a time.

    Between two transactions other writers have their turn. Documents that an earlier call has stored are left as
    they are, so an interrupted call is continued by the same call. Documents without ids are stored in one
    transaction, because they would get new ids from the same call; so are base texts.
    """

    portions = TransactionSize()

    def __init__(
        self,
        store: Store,
        on_duplicate: OnDuplicate,
        near: float | str | Near | None,
        on_near: OnNear,
        on_problem: Callable[[Problem], None] | None = None,
        deadline: Deadline = UNLIMITED,
        role: Role = "document",
    ) -> None:
        if on_duplicate not in get_args(OnDuplicate):
            allowed = ", ".join(get_args(OnDuplicate))
            raise SettingError(f"on_duplicate is {on_duplicate!r}", f"One of {allowed}")
        self._store, self._on_duplicate, self._role = store, on_duplicate, role
        self._near = None if near is None else Near.of(near)
        self._on_near, self._on_problem, self._deadline = on_near, on_problem, deadline
        self._outcome = Added(recall=self._near.recall if self._near else None)
        self._continues = False
        self._new: list[range] = []
        """The numbers of the documents that earlier transactions have added."""
        self._stored = self._transactions = 0
        self._pending: tuple[range, str, int] = range(0), "", 0
        """Of the transaction under way: the numbers, the last of the ids, and all documents of the call so far."""

    def run(self, intake: Intake, progress: Progress) -> Added:
        """Add the documents. Raises InputError for the call or an id; earlier transactions are stored then."""
        if intake.parts == ():
            return self._outcome
        self._outcome.notes = intake.notes
        if intake.nameless:
            self._on_duplicate = "error"  # generated ids replace nothing
        self._continues = self._on_duplicate == "error" and not intake.nameless
        size, unit = (intake.opened.size_bytes, "bytes") if intake.opened else (None, "documents")
        before = self._store.totals().documents
        try:
            with progress.stage("add", size, unit) as advance:
                pieces = _split_pieces(_prepared_parts(intake, self._store.settings), self.portions)
                counted = partial(_advance, advance, unit)
                if intake.nameless or self._role == "base":
                    self._transaction(_gather(pieces, sys.maxsize, _AHEAD), pieces, counted, intake.nameless)
                else:
                    self._run_in_portions(pieces, counted)
            if self._transactions > 1:
                self._settle(many=self._outcome.added >= max(MANY, before))
        except BaseException as failure:
            self._say_what_is_stored(failure)
            raise
        if intake.opened:
            self._outcome.notes = (*intake.notes, *intake.opened.findings.reading_notes())
        return self._outcome

    def _run_in_portions(self, pieces: Iterator[Prepared], counted: Callable[[Prepared], None]) -> None:
        portions, ended, of = 1, 0.0, self.portions
        while (ahead := _gather(pieces, portions * of.documents, portions * of.size)) or not ended:
            self._store.give_way(ended)
            seconds, ended = self._transaction(ahead, (), _ignore, False), monotonic()
            portions = max(1, min(of.most, 2 * portions, int(portions * of.seconds / max(seconds, 1e-3))))
            for prepared in ahead:  # now that they are on the disk
                counted(prepared)

    def _transaction(
        self, ahead: list[Prepared], rest: Iterable[Prepared], counted: Callable[[Prepared], None], nameless: bool
    ) -> float:
        """Store documents; return the seconds that other writers had to wait."""
        with self._store.writing() as transaction:
            began = monotonic()
            arrivals = self._arrivals(transaction)
            first = transaction.next_number()
            for prepared in chain(ahead, rest):
                entries, problems = prepared
                for problem in problems:
                    self._outcome.reject(problem)
                    if self._on_problem:
                        self._on_problem(problem)
                self._add(_with_numbers(entries, arrivals.next_number()) if nameless else entries, arrivals)
                counted(prepared)
            added = range(first, transaction.next_number())
            [last] = self._store.ids(np.array([added[-1]], np.int64)) if added else [""]
            self._pending = added, last, self._outcome.added + self._outcome.replaced
        self._note_stored()
        return monotonic() - began

    def _note_stored(self) -> None:
        numbers, _, self._stored = self._pending
        self._new.append(numbers)
        self._pending = range(0), "", 0
        self._transactions += 1

    def _say_what_is_stored(self, failure: BaseException) -> None:
        numbers, last, _ = self._pending
        with suppress(NeardupError):
            if numbers and self._store.numbers([last]).get(last) == numbers[-1]:  # stopped just after the commit
                self._note_stored()
        if self._stored:
            sentence = f"{display.counted(self._stored, 'document')} stored; do the same again to add the others"
            if isinstance(failure, NeardupError):
                failure.do = f"{failure.do}. {sentence}" if failure.do else sentence
            failure.add_note(sentence)

    def _settle(self, *, many: bool) -> None:
        """Finish the merges that large additions begin, in transactions that let others write in between."""
        more = first = True
        while more:
            self._store.give_way(monotonic())
            with self._store.writing() as transaction:
                more, first = transaction.tidy(words=many, first=first)

    def put(self, entries: Entries) -> Added:
        """Put in the documents, or none if an id is invalid."""
        with self._store.writing() as transaction:
            self._add(entries, self._arrivals(transaction))
        return self._outcome

    def _arrivals(self, transaction: Writing) -> Arrivals:
        given = self._near, self._on_near, self._outcome, self._deadline, self._role
        return Arrivals(self._store, transaction, *given)

    def _add(self, entries: Entries, arrivals: Arrivals) -> None:
        on_duplicate = self._on_duplicate
        if on_duplicate == "error":
            known = self._store.numbers(entries.ids)
            unchanged = self._unchanged_ids(entries, known) if known and self._continues else set()
            self._require_new(entries.ids, {id: known[id] for id in known if id not in unchanged})
            places, old = [place for place, id in enumerate(entries.ids) if id not in unchanged], {}
            self._outcome.unchanged += len(unchanged)
        else:
            places = _distinct(entries.ids, last=on_duplicate == "replace")
            old = self._store.numbers([entries.ids[place] for place in places])
        if on_duplicate == "skip":
            places = [place for place in places if entries.ids[place] not in old]
            old = {}
        kept = entries if len(places) == len(entries) else entries.take(places)
        arrivals.store(kept, old)
        if on_duplicate == "skip":
            self._outcome.skipped += len(entries) - len(kept)
        elif on_duplicate == "replace":
            self._outcome.replaced += len(entries) - len(kept)

    def _unchanged_ids(self, entries: Entries, known: Mapping[str, int]) -> set[str]:
        """The ids of documents that are stored with the same text, metadata and role, but not by this call."""
        places = {known[id]: place for place, id in enumerate(entries.ids) if id in known}
        earlier = [number for number in sorted(places) if not any(number in numbers for numbers in self._new)]
        bases = self._store.base_texts()
        fitting = [
            row.number
            for row in self._store.rows(np.array(earlier, np.int64))
            if row.size == entries.sizes[places[row.number]]
            and row.metadata == entries.metadata[places[row.number]]
            and (row.number in bases) == (self._role == "base")
        ]
        read = loaded_texts(self._store, np.array(fitting, np.int64))
        return {row.id for row, text in read if text == unpack(entries.packed[places[row.number]], row.id)}

    def _require_new(self, ids: Sequence[str], known: dict[str, int]) -> None:
        twice = next(iter(known), None)
        again = twice is not None and any(known[twice] in numbers for numbers in self._new)
        where = "comes twice" if again else "is in the collection already"
        if twice is None and len(set(ids)) < len(ids):
            [(twice, _)] = Counter(ids).most_common(1)
            where = "comes twice"
        if twice is not None:
            raise InputError(
                f"The document {twice!r} {where}",
                "New ids, or documents as they are stored; nothing of this batch was stored",
                'Give --replace (on_duplicate="replace") to put it in place of the other, leave it out, '
                "or name another column of ids with --id (id=)",
            )


def _split_pieces(pieces: Iterable[Prepared], portions: TransactionSize) -> Iterator[Prepared]:
    """The pieces in parts that are no larger than a portion, unless one document is."""
    for entries, problems in pieces:
        ends, begin = np.cumsum(entries.sizes), 0
        while begin < len(entries) or problems:
            size = int(ends[begin - 1]) if begin else 0
            end = int(np.searchsorted(ends, size + portions.size, side="right"))
            end = min(max(end, begin + 1), begin + portions.documents, len(entries))
            part = entries if end - begin == len(entries) else entries.take(range(begin, end))
            yield Prepared(part, problems)
            begin, problems = end, ()


def _advance(advance: Advance, unit: str, prepared: Prepared) -> None:
    advance(int(prepared.entries.sizes.sum()) if unit == "bytes" else len(prepared.entries))


def _ignore(prepared: Prepared) -> None:
    """Count nothing: the transaction is not on the disk yet."""


def _gather(pieces: Iterator[Prepared], documents: int, size: int) -> list[Prepared]:
    """The next pieces, until they have that many documents or bytes of text."""
    gathered, n_documents, n_bytes = list[Prepared](), 0, 0
    for prepared in pieces:
        gathered.append(prepared)
        n_documents += len(prepared.entries)
        n_bytes += int(prepared.entries.sizes.sum())
        if n_documents >= documents or n_bytes >= size:
            break
    return gathered


def _prepared_parts(intake: Intake, settings: CollectionSettings) -> Iterable[Prepared]:
    """All parts in order, prepared in worker threads unless threads would cost more than the work itself."""

    def prepare(part: Any) -> Prepared:
        return _prepare(intake.rows_of(part), settings)

    size = None if intake.opened is None else intake.opened.size_bytes
    if intake.opened is None or (size is not None and size < _SMALL):
        return map(prepare, intake.parts)
    return ordered_map(prepare, intake.parts, threads=0)


def _prepare(rows: StorableRows, settings: CollectionSettings) -> Prepared:
    return Prepared(entries_of(rows.texts, rows.ids, rows.metadata, settings), rows.problems)


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
    names = [fields.usable_id(id) for id in ids]
    if not len(names) == len(texts) == len(metadata):
        counts = f"{len(names):,} ids, {len(texts):,} texts and {len(metadata):,} records of metadata"
        raise InputError(f"These are {counts}", "As many of each, one for each document")
    for name, text in zip(names, texts, strict=True):
        if not isinstance(text, str):
            raise InputError(f"The text of document {name[:80]!r} is a {type(text).__name__}", "A str")
    array = pa.array([text.encode("utf-8", "replace") for text in texts], pa.large_binary())
    for k, fault in faults_of(names, array, metadata, deadline).items():
        raise _unfit_error(names[k], fault)
    return entries_of(array, names, [fields.plain(values) for values in metadata], settings, deadline)


def _unfit_error(name: str, fault: str) -> InputError:
    return InputError(
        f"The document {name[:80]!r} cannot be kept: {fault}",
        "The limits in docs/reference/collection.md; nothing was stored",
        "Split it, or leave some of it out",
    )


def _rows_of_chunk(columns: Columns, chunk: Chunk) -> StorableRows:
    rows = chunk.read(columns.all)
    table, numbers = rows.table, rows.row_numbers.tolist()
    ids = _ids(table, columns.id, chunk.source, numbers)
    texts = one_array(table.column(columns.text))
    names = [*columns.metadata, *columns.own]
    records = table.select(names).to_pylist() if names else [{}] * len(ids)
    faults = faults_of(ids, texts, records)
    problems = [Problem(chunk.source, numbers[k], reason) for k, reason in sorted(faults.items())]
    storable = [k for k in range(len(ids)) if k not in faults]
    if faults:
        texts = texts.take(pa.array(storable, pa.int64()))
    parts = carried_by(one_array(table.column(ATTACHMENTS))) if columns.carried else {}
    metadata = [
        fields.with_parts(
            {
                name: fields.plain(value)
                for name, value in records[k].items()
                if value is not None or name not in columns.own
            },
            parts.get(k, ()),
        )
        for k in storable
    ]
    return StorableRows([ids[k] for k in storable], texts, metadata, (*rows.problems, *problems))


def _ids(table: Any, column: str | None, source: str, numbers: list[int]) -> list[str]:
    """The ids as strings; without an id column, the source followed by the row number."""
    if column is None:
        return [f"{source}#{number}" for number in numbers]
    return [
        value.decode("utf-8", "surrogateescape")
        if isinstance(value, bytes)
        else ""
        if value is None
        else str(value)
        for value in table.column(column).to_pylist()
    ]


def faults_of(
    ids: list[str], texts: Any, metadata: Sequence[Any], deadline: Deadline = UNLIMITED
) -> dict[int, str]:
    """The reasons why rows cannot be kept, by their place."""
    lengths = pc.fill_null(pc.binary_length(texts), 0).to_pylist()
    found = {}
    for k, (id, length, values) in enumerate(zip(ids, lengths, metadata, strict=True)):
        fault = (
            fields.id_fault(id)
            or fields.text_fault(length)
            or (fields.metadata_fault(values) if values != {} else "")
        )
        if not fault and length > fields.FEW_WORDS:
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
    for stream in streams(text, fields.LARGEST_STREAM, deadline):
        if stream is None:
            return fields.STREAM_FAULT
        begin = 0
        while begin < len(stream):
            end = stream.find(b" ", begin + _SMALL)
            end = len(stream) if end < 0 else end
            seen.update(stream[begin:end].split(b" "))
            seen.discard(b"")
            if len(seen) > fields.MOST_WORDS:
                return fields.WORDS_FAULT
            deadline.check()
            begin = end + 1
    return ""


def _with_numbers(entries: Entries, first: int) -> Entries:
    """The entries with the numbers that they are about to receive as ids."""
    names = [f"#{number}" for number in range(first, first + len(entries))]
    return replace(entries, ids=names)


def _distinct(ids: Sequence[str], *, last: bool) -> list[int]:
    """The places of the distinct ids: the last or the first place of each id."""
    places = dict(zip(ids, range(len(ids)), strict=True))
    if not last:
        places = dict(zip(reversed(ids), reversed(range(len(ids))), strict=True))
    return sorted(places.values())


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
    first = list(islice(documents, 1))
    whole = chain(first, documents)
    return (whole if first and isinstance(first[0], Mapping) else None), whole


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


def _parts(records: Iterable[Record], text: str) -> Iterator[tuple[int, list[Any]]]:
    """Yield the records some at a time, each part with the number of its first record, from 1 on."""
    part: list[Any] = []
    size, first = 0, 1
    for record in records:
        part.append(record)
        value = record.get(text) if isinstance(record, Mapping) else None
        size += len(value) if isinstance(value, str) else 0
        if len(part) == _AT_ONCE or size > _BYTES:
            yield first, part
            part, size, first = [], 0, first + len(part)
    if part:
        yield first, part


def _rows_of_records(keys: Keys, numbered: tuple[int, Sequence[Any]]) -> StorableRows:
    first, part = numbered
    problems, rows = [], []
    for row, record in enumerate(part, first):
        fault = _fault(record, keys)
        if fault:
            problems.append(Problem(_SOURCE, row, fault))
        else:
            rows.append((row, record))
    ids = [f"#{row}" if keys.id is None else str(record[keys.id]) for row, record in rows]
    given = (record[keys.text] for _, record in rows)
    encoded = [None if text is None else text.encode("utf-8", "replace") for text in given]
    texts = pa.array(encoded, pa.large_binary())
    metadata = [_metadata_of(record, keys) for _, record in rows]
    faults = faults_of(ids, texts, metadata)
    problems += [Problem(_SOURCE, rows[k][0], reason) for k, reason in faults.items()]
    storable = [k for k in range(len(rows)) if k not in faults]
    if faults:
        texts = texts.take(pa.array(storable, pa.int64()))
    listed = tuple(sorted(problems, key=lambda problem: problem.row or 0))
    return StorableRows([ids[k] for k in storable], texts, [fields.plain(metadata[k]) for k in storable], listed)


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


def _metadata_of(record: Record, keys: Keys) -> Any:
    if keys.metadata:
        return {name: record.get(name) for name in keys.metadata}
    found = record.get(_METADATA_KEY)
    return {} if found is None else found
