"""Documents that were not compared: those without text, and files that hold none.

They are not copies of each other or of anything else. A setting, never a finding, decides whether they stay.
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from neardup.deduplication.group.rows import Ids
from neardup.deduplication.join.corpus import CorpusChunk
from neardup.deduplication.join.rows import Rows
from neardup.deduplication.run.account import NotJudgedCounts, NotJudgedDocument
from neardup.display import ALL_LEFT_OUT, BASE_TEXT_ONLY, WITHOUT_TEXT
from neardup.io.contents import Carried, in_words, unread_of
from neardup.io.inputs import Format, Problem
from neardup.tables import Bools, Int64s

_MOST_BYTES = 1 << 30

LISTED = 100
"""Number of entries that ``run.json`` lists; the table has them all."""


def dropped_rows(rows: Rows) -> Int64s:
    """The rows of the new input without text or attachments; some may have parts that are not read."""
    without = _without_text(rows)
    having = [row for row, parts in rows.attachments.items() if len(unread_of(parts)) < len(parts)]
    return without[~np.isin(without, np.array(having, np.int64))]


def not_judged_table(rows: Rows, dropped: Int64s, ids: Ids, empty: str) -> pa.Table:
    """id, kind, bytes, kept, reason of the documents of the new input that were not judged, in input order.

    ``dropped`` are the rows that are removed. If the setting ``empty`` is "one", documents without text are
    judged, as copies of each other.
    """
    without = np.empty(0, np.int64) if empty == "one" else _without_text(rows)
    base_only = _base_only(rows)
    without = np.union1d(without, base_only)
    only_base = np.isin(without, base_only)
    all_out = only_base & _left_out(rows, without)
    kept = ~np.isin(without, dropped)
    files = [problem for of, problem in rows.left_aside if of == rows.new_part]
    table = pa.table(
        {
            "id": ids.of(without),
            "kind": _row_texts([WITHOUT_TEXT, BASE_TEXT_ONLY, ALL_LEFT_OUT], only_base.astype(np.int32) + all_out),
            "bytes": pa.array(rows.bytes[without]),
            "kept": pa.array(kept),
            "reason": _reasons(without, kept, only_base.astype(np.int64) + all_out, rows.attachments),
        }
    )
    return _with_files(table, without, files, rows.corpus.pieces) if files else table


def not_judged_counts(table: pa.Table, format: Format, left_aside: int) -> NotJudgedCounts:
    """Summarise the table: counts by kind, and the first entries.

    ``left_aside`` of the entries are files that are not among the documents read.
    """
    first = table.select(["id", "kind"]).slice(0, LISTED)
    return NotJudgedCounts(
        unit="file" if format == "text" else "row",
        total=table.num_rows,
        kinds={each["values"]: each["counts"] for each in pc.value_counts(table["kind"]).to_pylist()},
        removed=int(table.num_rows - (pc.sum(table["kept"]).as_py() or 0)),
        files_left_aside=left_aside,
        listed=[NotJudgedDocument(**entry) for entry in first.to_pylist()],
    )


def left_aside_notes(rows: Rows) -> list[str]:
    """Note the files of a reference set that hold no text, with which nothing was compared."""
    counts: dict[str, int] = {}
    for of, problem in rows.left_aside:
        if of != rows.new_part:
            counts[str(problem.kind)] = counts.get(str(problem.kind), 0) + 1
    kinds = ", ".join(f"{count:,} {kind}" for kind, count in sorted(counts.items()))
    return [f"files of the reference set with which nothing was compared: {kinds}"] if counts else []


def bytes_removed(table: pa.Table) -> int:
    """Total size of the texts that are removed without having been judged."""
    return int(pc.sum(table.filter(pc.invert(table["kept"]))["bytes"]).as_py() or 0)


def no_table() -> pa.Table:
    """An empty table, for ids of unknown type."""
    texts = [(name, pa.string()) for name in ("id", "kind")]
    return pa.schema([*texts, ("bytes", pa.int64()), ("kept", pa.bool_()), ("reason", pa.string())]).empty_table()


def _without_text(rows: Rows) -> Int64s:
    """The rows of the new input without text."""
    return np.flatnonzero(rows.units[rows.first_new :] == 0) + rows.first_new


def _base_only(rows: Rows) -> Int64s:
    """The rows of the new input that consist of base text; a row with an exact copy was compared with that."""
    base_only = rows.base_only[rows.base_only >= rows.first_new]
    copies = np.flatnonzero(rows.copy_of != np.arange(len(rows)))
    return base_only[~np.isin(base_only, rows.copy_of[copies])]


def _left_out(rows: Rows, chosen: Int64s) -> Bools:
    """Which of the rows would have no text that counts without base text, either: all of it is left out."""
    if not rows.settings.cleaning.is_on:
        return np.zeros(len(chosen), np.bool_)
    left_out: Bools = np.ones(len(chosen), np.bool_) if rows.left is None else rows.left[chosen, 0] == 0
    return left_out


def _reasons(rows: Int64s, kept: Bools, nothing: Int64s, carried: Carried) -> pa.ChunkedArray:
    """The reason for each row. A million rows share two sentences: no Python object is made for each.

    ``nothing`` is 1 for rows of base text, 2 for rows whose text is left out, and else 0.
    """
    reasons = [
        "without text, and empty is drop",
        "without text: there is nothing to compare",
        "boilerplate only: nothing is left to compare",
        "masks, numbers and stop words only: nothing is left to compare",
    ]
    which = np.where(nothing > 0, 1 + nothing, kept).astype(np.int32)
    known: dict[str, int] = {}
    carrying = np.fromiter(carried, np.int64, len(carried))
    for place in np.flatnonzero(np.isin(rows, carrying) & (nothing == 0)).tolist():
        beginning = "without text, but with " if kept[place] else f"{reasons[0]}; with "
        reason = beginning + in_words(carried[int(rows[place])])
        which[place] = known.setdefault(reason, len(reasons))
        if which[place] == len(reasons):
            reasons.append(reason)
    return _row_texts(reasons, which)


def _row_texts(texts: list[str], which: npt.NDArray[np.int32]) -> pa.ChunkedArray:
    """A text for each row, in arrays below the limit of 2 GB per array."""
    values, most = pa.array(texts, pa.string()), _MOST_BYTES // max(len(text.encode()) for text in texts)
    parts = [values.take(pa.array(which[i : i + most])) for i in range(0, len(which), most)]
    return pa.chunked_array(parts, pa.string())


def _with_files(table: pa.Table, rows: Int64s, files: list[Problem], pieces: Sequence[CorpusChunk]) -> pa.Table:
    """Insert the files that were left aside into the table, each at its place in the folder."""
    kind = table["id"].type if pa.types.is_large_string(table["id"].type) else pa.string()
    numbers = np.concatenate([piece.row_numbers for piece in pieces])
    aside = pa.table(
        {
            "id": pa.array([problem.file for problem in files], kind),
            "kind": pa.array([problem.kind for problem in files], pa.string()),
            "bytes": pa.nulls(len(files), pa.int64()),
            "kept": pa.array(np.ones(len(files), np.bool_)),
            "reason": pa.array(
                [problem.reason.removeprefix(f"cannot read {problem.file}: ") for problem in files], pa.string()
            ),
        }
    )
    named = table.set_column(0, "id", pc.cast(table["id"], kind))
    places = [*numbers[rows].tolist(), *(problem.row for problem in files)]
    return pa.concat_tables([named, aside]).take(pa.array(np.argsort(places, kind="stable")))
