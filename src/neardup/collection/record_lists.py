"""Documents given as records, such as a list of dicts: their metadata may be any JSON."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, TypeAlias

import pyarrow as pa

from neardup.collection.adding import Prepared, faults_of
from neardup.collection.entries import entries_of
from neardup.collection.facts import plain
from neardup.collection.settings import CollectionSettings
from neardup.errors import InputError
from neardup.io.readers import Problem
from neardup.io.readers.columns import ID_NAMES, TEXT_NAMES

Record: TypeAlias = Mapping[str, Any]

METADATA = "metadata"
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
    kept = tuple(metadata) or (METADATA,)
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
    metadata = [_metadata(record, keys) for _, record in good]
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


def _metadata(record: Record, keys: Keys) -> Any:
    if keys.metadata:
        return {name: record.get(name) for name in keys.metadata}
    found = record.get(METADATA)
    return {} if found is None else found


__all__ = ["Keys", "kept_records", "keys_of", "prepared", "records_in"]
