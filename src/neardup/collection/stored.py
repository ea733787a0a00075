"""Read documents from a store: their texts, and their entries, recomputed."""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa

from neardup.collection.contract import Entries, StoredRow
from neardup.collection.entries import entries_of
from neardup.collection.packing import unpack
from neardup.collection.store import Store
from neardup.errors import FormatError
from neardup.tables import Int64s


def entries_again(store: Store, numbers: Int64s) -> Entries:
    """Recompute the entries of stored documents from their texts, in the order of ``numbers``."""
    read = loaded(store, numbers)
    rows, texts = [row for row, _ in read], [text for _, text in read]
    made = entries_of(
        pa.array(texts, pa.large_binary()),
        [row.id for row in rows],
        [row.metadata for row in rows],
        store.settings,
    )
    # as stored: another LZ4 may compress differently, and the totals count the stored bytes
    return replace(made, packed=store.packed(numbers))


def loaded(store: Store, numbers: Int64s) -> list[tuple[StoredRow, bytes]]:
    """Return documents with their texts, in the order of ``numbers``. Raises FormatError if any is incomplete."""
    try:
        rows, packed = store.rows(numbers), store.packed(numbers)
        read = [(row, unpack(data, row.id)) for row, data in zip(rows, packed, strict=True)]
    except (KeyError, ValueError) as error:
        raise FormatError(
            "The collection is damaged: documents lack their row or their text", "", "Restore it from a copy"
        ) from error
    for row, text in read:
        if len(text) != row.size:
            raise FormatError(f"The text of document {row.id!r} is not its own", "", "Restore it from a copy")
    return read
