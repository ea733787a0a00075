"""Documents and stores for the tests of collections."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from neardup.collection.contract import Entries
from neardup.collection.entries import entries_of
from neardup.collection.settings import CollectionSettings
from neardup.collection.store import Store
from neardup.tables import Int64s

NEW = 0
"""The number that asks for a new one."""


def made(
    texts: Mapping[str, str], settings: CollectionSettings, metadata: Sequence[Mapping[str, Any]] | None = None
) -> Entries:
    """Entries of texts by id."""
    array = pa.array(list(texts.values()), pa.large_string())
    return entries_of(array, list(texts), metadata or [{} for _ in texts], settings)


def put(store: Store, texts: Mapping[str, str], metadata: Sequence[Mapping[str, Any]] | None = None) -> Int64s:
    """Put texts as new documents in a transaction of their own; their numbers."""
    with store.writing() as transaction:
        return transaction.put(made(texts, store.settings, metadata), np.full(len(texts), NEW, np.int64))


def numbers(*values: int) -> Int64s:
    return np.array(values, np.int64)


def write_documents(path: Path, texts: Mapping[str, str], **columns: Sequence[Any]) -> Path:
    """A JSONL file of texts by id, with more columns."""
    with path.open("w", encoding="utf-8") as lines:
        for place, (id, text) in enumerate(texts.items()):
            row = {"id": id, "text": text} | {name: values[place] for name, values in columns.items()}
            lines.write(json.dumps(row) + "\n")
    return path
