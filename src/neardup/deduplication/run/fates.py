"""Rows of the input that stay by a result: as a mask, in the caller's type, as Arrow data, and by file."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from neardup.deduplication.run.places import StoredPlaces, no_places_error
from neardup.deduplication.run.records import ResultRecord
from neardup.deduplication.run.texts import InputTexts, split_id
from neardup.errors import InputError
from neardup.io.inputs import Chunk, Documents, GivesBack, NativeTable
from neardup.io.sources import chosen, fitted_table
from neardup.tables import Bools, Int64s, column


class FileFates:
    """Which rows of some documents stay by a stored result.

    A removed row is known by its file and number, or, if the run did not judge it, by its id alone.
    """

    def __init__(
        self,
        result: ResultRecord,
        places: StoredPlaces,
        documents: Documents,
        files: Mapping[int, str],
    ) -> None:
        """Find the rows that the result removes among documents.

        ``files`` are the recorded files of the documents by their numbers, in the order of the documents, and the
        names of their sources. Raises InputError if the result does not record the place of a row.
        """
        of_file, numbers = places.of_rows(removed_rows(result))
        if (of_file < 0).any():
            raise no_places_error()
        dropped = _dropped_ids(result).to_pylist()
        known = {places.file(number).name: number for number in files}
        self._id: str | None = result.run.columns.id
        self._ids = pa.array([], pa.large_string())
        if documents.format == "text":  # rows are files
            gone = {*of_file.tolist(), *(known.get(str(id), -1) for id in dropped)}
            rows = [row for row, number in enumerate(files) if number in gone]
            self._removed = {documents.names[0]: np.array(rows, np.int64)}
            return
        by_file = {number: numbers[of_file == number].tolist() for number in files}
        if self._id is not None:
            self._ids = pa.array([str(id) for id in dropped], pa.large_string())
        else:
            for name, row in map(split_id, map(str, dropped)):
                if name in known and row is not None:
                    by_file[known[name]].append(row)
        self._removed = {name: np.sort(np.array(by_file[number], np.int64)) for number, name in files.items()}

    def kept(self, chunk: Chunk, numbers: Int64s) -> Bools:
        """Return which rows of a chunk stay, bool[rows], by their ascending ``numbers`` in the file."""
        removed = self._removed[chunk.source]
        begin, end = np.searchsorted(removed, (numbers[0], numbers[-1] + 1)) if len(numbers) else (0, 0)
        kept: Bools = ~np.isin(numbers, removed[begin:end])
        if len(self._ids):
            assert self._id is not None
            rows = chunk.read([self._id])
            by_id = pc.is_in(pc.cast(rows.table.column(0), pa.large_string()), value_set=self._ids)
            kept &= ~np.isin(numbers, rows.row_numbers[by_id.to_numpy()])
        return kept


def removed_rows(result: ResultRecord) -> Int64s:
    """Return the rows of the run that are removed because another document of their group stays."""
    gone = result.groups.filter(pc.invert(result.groups["kept"]))["id"]
    if not len(gone):
        return np.empty(0, np.int64)
    new = result.ranks.filter(pc.invert(result.ranks["reference"]))
    places = pc.index_in(gone, value_set=pa.chunked_array(new["id"].chunks, new["id"].type))
    rows: Int64s = column(new, "row")[places.to_numpy()]
    return rows


def stays(result: ResultRecord) -> Bools:
    """bool[documents read]: which documents of the new input stay, in input order.

    Raises InputError for a loaded result whose tables do not say where some removed documents are.
    """
    rows = _removed_documents(result)
    kept = np.ones(result.run.counts.read, np.bool_)
    kept[rows] = False
    return kept


def given_back(result: ResultRecord) -> Any:
    """The rows that stay, in the type of the object that was given. Raises InputError if that is not at hand."""
    texts = _at_hand(result)
    if not isinstance(texts.documents, GivesBack):
        raise _files_only_error()
    return texts.documents.give_back(stays(result))


def refuse_files(documents: object) -> None:
    """Raise InputError for the names of files, before any of them is read."""
    several = isinstance(documents, list | tuple) and bool(documents)
    names = documents if several else [documents]
    if isinstance(documents, str) or all(isinstance(name, Path) for name in names):  # type: ignore[attr-defined]
        raise _files_only_error()


def require_rows(documents: Documents) -> None:
    """Raise InputError for documents that have no rows with types."""
    if documents.format not in ("arrow", "parquet", "ipc", "table"):
        raise _files_only_error()


def stream(result: ResultRecord) -> pa.RecordBatchReader:
    """The rows that stay with all their columns, chunk by chunk. Raises InputError as ``given_back`` does."""
    texts = _at_hand(result)
    require_rows(texts.documents)
    documents: Any = texts.documents
    schema = documents.native_schema if documents.format == "arrow" else documents.schema
    return pa.RecordBatchReader.from_batches(schema, _batches(texts, stays(result), schema))


def _batches(texts: InputTexts, kept: Bools, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    first = 0
    for chunk in texts.documents.chunks():
        native = chunk.read_native()
        if not isinstance(native, NativeTable):
            raise _files_only_error()
        count = native.table.num_rows
        if count != texts.rows_in(chunk.index):
            raise InputError(
                f"{chunk.source} has changed since it was compared, or one of its other columns is damaged",
                "The input as the run read it",
                "Start again when nothing writes to it",
            )
        yield from fitted_table(chosen(native.table, kept[first : first + count]), schema).to_batches()
        first += count


def _removed_documents(result: ResultRecord) -> Int64s:
    """The removed documents, as positions in the new input."""
    rows = removed_rows(result)
    if isinstance(result.texts, InputTexts):
        return np.concatenate([rows, result.texts.dropped]) - result.texts.first_new
    if result.run.against and len(rows):
        raise _unknown_error("it has a reference set")
    return np.concatenate([rows, _by_number(result, _dropped_ids(result))])


def _dropped_ids(result: ResultRecord) -> pa.ChunkedArray:
    """The ids of the documents that are removed without having been judged."""
    return result.not_judged.filter(pc.invert(result.not_judged["kept"]))["id"]


def _by_number(result: ResultRecord, ids: pa.ChunkedArray) -> Int64s:
    """Removed documents without text, if their ids are the numbers of their rows."""
    if len(ids) and (result.run.columns.id is not None or not pa.types.is_integer(ids.type)):
        raise _unknown_error("it removes documents without text")
    return np.asarray(ids.to_numpy(), np.int64) if len(ids) else np.empty(0, np.int64)


def _at_hand(result: ResultRecord) -> InputTexts:
    if isinstance(result.texts, InputTexts):
        return result.texts
    raise InputError(
        "This result was read from a folder, which holds no rows of the input",
        "The result of neardup.find in this process",
        "Filter the documents by found.mask(), or run neardup.find on them",
    )


def _files_only_error() -> InputError:
    return InputError(
        "The documents are in files, which hold no rows to give back",
        "Documents in memory or in a stream: a data frame, a table, a list, a data set",
        "Write the kept documents with neardup dedup, read the file into a data frame first, or, of Parquet "
        "and Arrow files, read them by pyarrow.table(found)",
    )


def _unknown_error(why: str) -> InputError:
    return InputError(
        f"The stored tables of this result do not say where its removed documents are: {why}",
        "The result of neardup.find in this process",
        "Filter by the ids in found.removed",
    )
