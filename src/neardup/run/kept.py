"""The rows that stay, as the result says: which they are, in the caller's type, and as Arrow data."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from neardup.errors import InputError
from neardup.io.readers.arrow_rows import chosen
from neardup.io.readers.arrow_types import fitted
from neardup.io.readers.base import GivesBack, NativeTable
from neardup.run.records import ResultRecord
from neardup.run.texts import InputTexts
from neardup.tables import Bools, Int64s, column


def stays(found: ResultRecord) -> Bools:
    """bool[documents read]: which documents of the new input stay, in input order.

    Raises InputError for a loaded result whose tables do not say where some removed documents are.
    """
    rows = _removed(found)
    kept = np.ones(found.run["counts"]["read"], np.bool_)
    kept[rows] = False
    return kept


def given_back(found: ResultRecord) -> Any:
    """The rows that stay, in the type of the object that was given. Raises InputError if that is not at hand."""
    texts = _at_hand(found)
    if not isinstance(texts.documents, GivesBack):
        raise _in_files()
    return texts.documents.give_back(stays(found))


def refuse_files(documents: object) -> None:
    """Raise InputError for the names of files, before any of them is read."""
    several = isinstance(documents, list | tuple) and bool(documents)
    names = documents if several else [documents]
    if isinstance(documents, str) or all(isinstance(name, Path) for name in names):  # type: ignore[attr-defined]
        raise _in_files()


def stream(found: ResultRecord) -> pa.RecordBatchReader:
    """The rows that stay with all their columns, chunk by chunk. Raises InputError as ``given_back`` does."""
    texts = _at_hand(found)
    if texts.documents.format not in ("arrow", "parquet", "ipc"):
        raise _in_files()
    documents: Any = texts.documents
    schema = documents.native_schema if documents.format == "arrow" else documents.schema
    return pa.RecordBatchReader.from_batches(schema, _batches(texts, stays(found), schema))


def _batches(texts: InputTexts, kept: Bools, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    first = 0
    for chunk in texts.documents.chunks():
        native = chunk.read_native()
        if not isinstance(native, NativeTable):
            raise _in_files()
        count = native.table.num_rows
        if count != texts.rows_in(chunk.index):
            raise InputError(
                f"{chunk.source} has changed since it was compared, or one of its other columns is damaged",
                "The input as the run read it",
                "Start again when nothing writes to it",
            )
        yield from fitted(chosen(native.table, kept[first : first + count]), schema).to_batches()
        first += count


def _removed(found: ResultRecord) -> Int64s:
    """The removed documents, as positions in the new input."""
    groups, aside = found.groups, found.not_judged
    new = found.ranks.filter(pc.invert(found.ranks["reference"])) if found.ranks.num_columns else found.ranks
    gone = groups.filter(pc.invert(groups["kept"]))["id"]
    if isinstance(found.texts, InputTexts):
        dropped, first = found.texts.dropped, found.texts.first_new
    else:
        dropped = _by_number(found, aside.filter(pc.invert(aside["kept"]))["id"])
        first = 0
        if found.run["against"] and len(gone):
            raise _unknown("it has a reference set")
    if not len(gone):
        return dropped - first
    places = pc.index_in(gone, value_set=pa.chunked_array(new["id"].chunks, new["id"].type))
    rows = column(new, "row")[places.to_numpy()]
    return np.concatenate([rows, dropped]) - first


def _by_number(found: ResultRecord, ids: pa.ChunkedArray) -> Int64s:
    """Removed documents without text, if their ids are the numbers of their rows."""
    if len(ids) and (found.run["columns"]["id"] is not None or not pa.types.is_integer(ids.type)):
        raise _unknown("it removes documents without text")
    return np.asarray(ids.to_numpy(), np.int64) if len(ids) else np.empty(0, np.int64)


def _at_hand(found: ResultRecord) -> InputTexts:
    if isinstance(found.texts, InputTexts):
        return found.texts
    raise InputError(
        "This result was read from a folder, which holds no rows of the input",
        "The result of neardup.find in this process",
        "Filter the documents by found.mask(), or run neardup.find on them",
    )


def _in_files() -> InputError:
    return InputError(
        "The documents are in files, which hold no rows to give back",
        "Documents in memory or in a stream: a data frame, a table, a list, a data set",
        "Write the documents that stay with neardup dedup, read the file into a data frame first, or, of Parquet "
        "and Arrow files, read them by pyarrow.table(found)",
    )


def _unknown(why: str) -> InputError:
    return InputError(
        f"The stored tables of this result do not say where its removed documents are: {why}",
        "The result of neardup.find in this process",
        "Filter by the ids in found.removed",
    )
