"""The output folder: the documents that stay, with tags, or without the passages; the evidence, and the report."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypeAlias

import numpy as np
import pyarrow as pa

from neardup.corpus.contamination.cuts import MARKER, Cutter, cut_rows, ids_of, require_one_column
from neardup.corpus.contamination.record import ContaminationRecord
from neardup.corpus.contamination.views import as_page
from neardup.deduplication.runs import Meter
from neardup.errors import InputError
from neardup.io.inputs import Chosen, Chunk, Documents, NativeRows
from neardup.io.outputs import ChunkRows, FiledTable, OutputFolder, Scratch, WrittenRows, check_extra, write_kept
from neardup.runtime import Advance
from neardup.tables import CUTS

CONTAMINATED_BY = "contaminated_by"
"""The column of ``tag``: the test sets of the items that a row contains, or null."""

TAG = pa.schema([(CONTAMINATED_BY, pa.list_(pa.large_string()))])
"""That column as a table of its own."""

Action: TypeAlias = Literal["drop", "tag", "cut", "report"]
"""Leave out the documents with test items; name their test sets in a column; cut the passages; no document."""


def require_action(action: Action, documents: Documents, columns: Chosen) -> None:
    """Raise OutputError or SettingError if the documents cannot be written this way."""
    if action == "tag":
        check_extra(documents, TAG.names)
    if action == "cut":
        require_one_column(documents, columns)


def write(
    result: ContaminationRecord, folder: OutputFolder, action: Action, meter: Meter, marker: str | None = None
) -> dict[str, Any]:
    """Write the documents and the evidence; return the account.

    Raises InputError if the input has changed, or if a part of it is in no scan.
    """
    require_action(action, result.documents, result.columns)
    account = {**result.as_dict(), "action": action}
    if action == "report":
        result.scan.save(folder)
    else:
        account |= _write_documents(result, folder, action, meter, MARKER if marker is None else marker)
    account["seconds"] = meter.seconds
    if folder.rows_only:
        return account
    folder.write_table("matches.parquet", result.matches)
    folder.write_table("common.parquet", result.common)
    folder.write_table("common_shingles.parquet", result.phrases)
    folder.write_jsonl("problems.jsonl", result.problems)
    folder.write_page("report.html", as_page(result))
    folder.write_json("run.json", account)
    return account


def _write_documents(
    result: ContaminationRecord, folder: OutputFolder, action: Action, meter: Meter, marker: str
) -> dict[str, Any]:
    documents = result.documents
    unknown = set(documents.names) - set(result.scan.sources)
    if unknown:
        raise InputError(f"{min(unknown)} is in none of the scans", "Parts that were scanned", "Scan it first")
    settings = result.scan.search.settings
    rows, passages = (
        _Rows(result, action, Cutter(result.weights, settings.shingles.length, marker)),
        Scratch().table(),
    )
    with meter.stage("write", None, "rows") as advance, passages:
        passages.add(CUTS.empty_table())
        written = rows.write(folder, settings.work.threads, advance, passages)
    _require_same(result, written, action)
    account: dict[str, Any] = {"kept": written.kept, "kept_files": written.files}
    if action == "cut":
        folder.write_table("cuts.parquet", passages.table)
        account |= {"marker": marker, "cuts": passages.table.num_rows}
    return account


class _Rows:
    """Writes the rows of training documents, by the items that they contain."""

    def __init__(self, result: ContaminationRecord, action: Action, cutter: Cutter) -> None:
        self._result, self._action, self._cutter = result, action, cutter
        self._ids = ids_of(result.matches) if action == "cut" else {}

    def write(self, folder: OutputFolder, threads: int, advance: Advance, passages: FiledTable) -> WrittenRows:
        """Write the rows that stay in the order of the input, and add the passages that were cut."""

        def rows_of(chunk: Chunk, native: NativeRows) -> ChunkRows:
            hits = self._result.hits.get(chunk.source, {})
            if self._action == "cut":
                cut = cut_rows(native, self._result.columns.text, hits, self._cutter)
                if cut.passages:
                    names = ((self._ids[chunk.source, row], chunk.source) for row, *_ in cut.passages)
                    columns = zip(*(map(tuple.__add__, names, cut.passages)), strict=True)
                    passages.add(
                        pa.table([pa.array(c, k.type) for c, k in zip(columns, CUTS, strict=True)], schema=CUTS)
                    )
                return ChunkRows(np.ones(len(native.row_numbers), np.bool_), native=cut.native)
            if self._action == "tag":
                return ChunkRows(np.ones(len(native.row_numbers), np.bool_), self._tags(chunk, native, hits))
            return ChunkRows(np.array([number not in hits for number in native.row_numbers.tolist()], np.bool_))

        extra = TAG if self._action == "tag" else None
        return write_kept(folder, self._result.documents, rows_of, threads, advance, extra=extra)

    def _tags(self, chunk: Chunk, native: NativeRows, hits: Mapping[int, Sequence[int]]) -> pa.Table:
        numbers = native.row_numbers.tolist()
        tags = [self._result.test_sets_of(chunk.source, row) if row in hits else None for row in numbers]
        return pa.table([pa.array(tags, TAG.field(0).type)], schema=TAG)


def _require_same(result: ContaminationRecord, written: WrittenRows, action: Action) -> None:
    """Raise InputError if other rows were written than scanned."""
    names = set(result.documents.names)
    hits = sum(len(rows) for source, rows in result.hits.items() if source in names)
    whole = names == set(result.scan.sources)
    removed = written.read - written.kept
    if (action == "drop" and removed != hits) or (whole and written.read != result.read):
        raise InputError(
            f"The input changed while it was read: {written.read:,} documents, {removed:,} with test items, "
            f"in place of {result.read:,} and {hits:,}",
            "Inputs that do not change during a run",
            "Start again when nothing writes to it",
        )
