"""Objects of the caller as documents: frames, lists, streams; their rows come back in the type of the object."""

import sys
from collections.abc import ItemsView, Iterator, Mapping, Sequence, ValuesView
from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa

from neardup.errors import InputError
from neardup.io.frames.arrow import from_array, from_batches, from_capsule, from_table
from neardup.io.frames.data_frames import FrameRows, SeriesRows, from_lazy, require_names
from neardup.io.frames.data_sets import ScannedDocuments, from_data_set
from neardup.io.frames.python import ColumnRows, NamedRows, RecordRows, StringRows, are_texts_by_id
from neardup.io.frames.streams import from_iterator, from_reader
from neardup.io.readers.arrow import chosen
from neardup.io.readers.base import Documents
from neardup.io.readers.discovery import refuse_names
from neardup.io.readers.memory import HeldDocuments

ALLOWED = (
    "A file name, Path, list of str, dict, Path or (id, text), dict of texts by id, table, data frame, data set, "
    "array of str, or an iterator of str, dict or record batches"
)


def from_object(data: Any, chunk_bytes: int) -> Documents:
    """Return the documents of an object that is not the name of files. Raises InputError for any other object."""
    if isinstance(data, list | tuple):
        return _from_items(data, chunk_bytes)
    if isinstance(data, np.ndarray):
        return HeldDocuments(StringRows(_texts_in(data)), chunk_bytes)
    found = from_data_set(data, chunk_bytes) or _arrow(data, chunk_bytes)
    if found is None and isinstance(data, Mapping):
        if not are_texts_by_id(data):
            return HeldDocuments(ColumnRows(data), chunk_bytes)
        refuse_names(list(data.values()))
        return HeldDocuments(NamedRows(data), chunk_bytes)
    found = found or _frame(data, chunk_bytes)
    if found is not None:
        return found
    if hasattr(data, "__arrow_c_stream__") or hasattr(data, "__arrow_c_array__"):
        return _capsule(data, chunk_bytes)
    if isinstance(data, Iterator):
        return from_iterator(data, chunk_bytes)
    if isinstance(data, ItemsView | ValuesView | Sequence) and not isinstance(
        data, bytes | bytearray | memoryview
    ):
        return _from_items(list(data), chunk_bytes)
    raise InputError(
        f"Cannot take documents from {type(data).__name__}", ALLOWED, "Convert the documents to an allowed type"
    )


def _from_items(items: Sequence[Any], chunk_bytes: int) -> Documents:
    if items and all(isinstance(item, pa.RecordBatch) for item in items):
        return from_batches(items, chunk_bytes)
    if items and isinstance(items[0], Mapping):
        return HeldDocuments(RecordRows(items), chunk_bytes)
    if items and isinstance(items[0], tuple):
        return HeldDocuments(NamedRows(items), chunk_bytes)
    refuse_names(items)
    return HeldDocuments(StringRows(items), chunk_bytes)


def _texts_in(array: Any) -> Any:
    """The array itself, if it is a row of strings."""
    if array.ndim == 1 and array.dtype.kind in "UTO":
        return array
    raise InputError(
        f"The array is {array.dtype}{list(array.shape)}",
        "An array of one dimension of str: dtype str, object or StringDType",
        "Convert it, or give a table",
    )


def _arrow(data: Any, chunk_bytes: int) -> Documents | None:
    """The documents of an object of pyarrow; None for any other."""
    if isinstance(data, pa.Table):
        return from_table(data, None, chunk_bytes)
    if isinstance(data, pa.RecordBatch):
        return from_table(pa.Table.from_batches([data]), lambda stays: chosen(data, stays), chunk_bytes)
    if isinstance(data, pa.Array | pa.ChunkedArray):
        return from_array(data, chunk_bytes)
    if isinstance(data, pa.RecordBatchReader):
        return from_reader(data, chunk_bytes)
    scans = sys.modules.get("pyarrow.dataset")  # the caller, who holds one of its objects, has imported it
    if scans is not None and isinstance(data, scans.Scanner):
        return from_reader(data.to_reader(), chunk_bytes)
    return ScannedDocuments(data, chunk_bytes) if scans and isinstance(data, scans.Dataset) else None


def _capsule(data: Any, chunk_bytes: int) -> Documents:
    """The documents of an object with an Arrow capsule: a stream of record batches, a column, or one batch."""
    if not hasattr(data, "__arrow_c_stream__"):
        return from_capsule(data, chunk_bytes)
    try:
        reader = pa.RecordBatchReader.from_stream(data)
    except pa.ArrowInvalid:  # a stream of plain arrays, not of record batches
        return from_capsule(data, chunk_bytes)
    return from_reader(reader, chunk_bytes)


def _frame(data: Any, chunk_bytes: int) -> Documents | None:
    """The documents of a frame or a series; None for an object that narwhals does not know."""
    try:
        frame = nw.from_native(data, pass_through=True, allow_series=True)
    except nw.exceptions.NarwhalsError:
        require_names([*getattr(data, "columns", ())])
        raise
    except ImportError:  # this narwhals is older than the library, whose objects may have an Arrow capsule
        return None
    if isinstance(frame, nw.Series):
        return HeldDocuments(SeriesRows(frame), chunk_bytes)
    if isinstance(frame, nw.LazyFrame):
        return from_lazy(frame, chunk_bytes)
    return HeldDocuments(FrameRows(frame), chunk_bytes) if isinstance(frame, nw.DataFrame) else None
