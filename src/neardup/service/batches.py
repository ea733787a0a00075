"""Documents of any kind as the bodies of requests, some at a time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from neardup.collection.fields import plain
from neardup.collection.intake import columns_of, has_rows, kept_records, keys_of, records_in, rows_of
from neardup.errors import InputError
from neardup.io.readers import Problem, open_documents
from neardup.io.readers.fields import joined

_MOST, _BYTES = 500, 8_000_000
"""Documents in a request, and characters of their texts."""


@dataclass(frozen=True)
class SentBatch:
    """Documents of one request, and the rows before them that cannot be kept."""

    documents: list[dict[str, Any]]
    problems: tuple[Problem, ...] = ()


@dataclass(frozen=True)
class Given:
    """Batches of documents, read as they are needed, and sentences about guesses."""

    batches: Iterable[SentBatch]
    notes: tuple[str, ...] = ()


def given_documents(
    documents: Any, text: str | Sequence[str] | None, id: str | None, metadata: Sequence[str]
) -> Given:
    """Read documents of any kind that ``Collection.add`` accepts. Raises InputError for documents without ids."""
    records, documents = records_in(documents)
    if records is not None:
        keys, records = keys_of(records, joined(text), id, metadata)
        if keys.id is None:
            raise _nameless()
        return Given(_split(kept_records(records, keys)), keys.notes)
    opened = open_documents(documents)
    if opened.format == "arrow" and not has_rows(opened):
        return Given(())
    columns, notes = columns_of(opened, text, id, metadata)
    if columns.id is None and opened.format == "arrow":
        raise _nameless()
    read = (rows_of(chunk, columns) for chunk in opened.chunks(None, columns.all))
    return Given(_split((rows.ids, rows.texts, rows.metadata, rows.problems) for rows in read), notes)


def _split(rows: Iterable[tuple[Sequence[str], Any, Sequence[Any], tuple[Problem, ...]]]) -> Iterator[SentBatch]:
    for ids, texts, metadata, problems in rows:
        batch: list[dict[str, Any]] = []
        size, waiting = 0, problems
        for id, text, values in zip(ids, texts, metadata, strict=True):
            found = text.as_py()
            whole = found.decode("utf-8", "replace") if isinstance(found, bytes) else found or ""
            if batch and (len(batch) == _MOST or size + len(whole) > _BYTES):
                yield SentBatch(batch, waiting)
                batch, size, waiting = [], 0, ()
            batch.append({"id": id, "text": whole, "metadata": plain(values)})
            size += len(whole)
        yield SentBatch(batch, waiting)


def _nameless() -> InputError:
    return InputError(
        "The documents have no ids", "Documents with ids: a service gives none", "Name a column of ids with id="
    )
