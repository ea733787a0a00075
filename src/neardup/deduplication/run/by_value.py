"""A run by the values of a column: documents are compared within a value, and each value has its own counts."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from neardup.deduplication.join.rows import Rows
from neardup.deduplication.run.account import ByAccount, ValueCounts
from neardup.deduplication.run.records import with_account
from neardup.deduplication.run.stages.account import Run
from neardup.deduplication.run.stages.result import Outcome
from neardup.display import columns, counted, number, percent, printable
from neardup.io.inputs import as_text
from neardup.tables import Int64s, column

LISTED = 1000
"""Values that run.json lists; by.parquet has all."""
SHOWN = 10
"""Values in the summary."""
_LABEL = 24
"""Characters of a value in the summary."""


@dataclass(frozen=True, eq=False)
class ByValue:
    """The value of each new row: ``codes`` are int64[new rows], indices into ``values`` (None: no value).

    ``counts`` has a row for each value, those with most documents first: the columns of ``ValueCounts``.
    """

    column: str
    values: tuple[str | None, ...]
    codes: Int64s
    run: Run

    @cached_property
    def counts(self) -> pa.Table:
        """The numbers of each value."""
        rows, decisions, pairs = self.run.rows, self.run.decisions, self.run.groups.pairs
        first, copy_of = rows.first_new, rows.copy_of
        gone = decisions.gone
        new = decisions.rows >= first
        near = new & ~decisions.is_representative & ~decisions.exact & (copy_of[decisions.rows] == decisions.rows)
        copies = np.flatnonzero(copy_of[first:] != np.arange(first, len(rows))) + first
        read, removed = self._count(np.arange(first, len(rows))), self._count(gone[gone >= first])
        numbers = {
            "read": read,
            "kept": read - removed,
            "removed": removed,
            "exact_copies": self._count(copies),
            "near_copies": self._count(decisions.rows[near]),
            "groups": self._count(self._group_rows()),
            "pairs": sum((self._count(rows.unique[column(some, "b")]) for some in pairs.batches()), 0 * read),
        }
        table = pa.table({"value": pa.array(self.values, pa.large_string()), **numbers})
        order = sorted(range(len(self.values)), key=lambda i: (-read[i], self.values[i] or "", i))
        return table.take(pa.array(order, pa.int64()))

    def account(self) -> ByAccount:
        """The counts for ``run.json``."""
        listed = [ValueCounts(**row) for row in self.counts.slice(0, LISTED).to_pylist()]
        return ByAccount(self.column, len(self.values), listed)

    def of(self, rows: Int64s) -> Int64s:
        """Return the numbers of the values of some new rows."""
        return self.codes[rows - self.run.rows.first_new]

    def _group_rows(self) -> Int64s:
        """A new row of each group: its representative may be a reference document."""
        decisions, first = self.run.decisions, self.run.rows.first_new
        new = decisions.rows >= first
        _, first_members = np.unique(decisions.representative_row[new], return_index=True)
        return decisions.rows[new][first_members]

    def _count(self, rows: Int64s) -> Int64s:
        return np.bincount(self.of(rows), minlength=len(self.values)).astype(np.int64)


def with_values(outcome: Outcome, by: ByValue) -> Outcome:
    """Return a run with the counts by value in its account."""
    return replace(outcome, found=with_account(outcome.found, by=by.account()))


def by_value(run: Run, name: str) -> ByValue:
    """Find the value of the column ``name`` in each new row of a run within the values of this column.

    One row of each different combination of values is read again. Raises InputError if the input has changed.
    """
    rows = run.rows
    value_numbers = rows.row_related.within[rows.first_new :]
    _, firsts, codes = np.unique(value_numbers, return_index=True, return_inverse=True)
    read = _values(rows, np.sort(firsts) + rows.first_new, name)
    of_first = [read[row] for row in (firsts + rows.first_new).tolist()]
    values = tuple(dict.fromkeys(read.values()))
    place = {value: i for i, value in enumerate(values)}
    of_code = np.array([place[value] for value in of_first], np.int64)
    return ByValue(name, values, of_code[codes.reshape(-1)] if len(codes) else np.empty(0, np.int64), run)


def _values(rows: Rows, wanted: Int64s, name: str) -> dict[int, str | None]:
    """The value of some rows, ascending."""
    part = rows.new_part
    pieces = {piece.chunk: piece for piece in rows.corpus.pieces if piece.part == part}
    firsts = np.array([piece.first for piece in pieces.values()], np.int64)
    chunks = np.array(list(pieces), np.int64)
    owner = chunks[np.searchsorted(firsts, wanted, side="right") - 1] if len(wanted) else np.empty(0, np.int64)
    value_of: dict[int, str | None] = {}
    for chunk in (
        rows.corpus.parts[part].documents.chunks(np.unique(owner).tolist(), [name]) if len(wanted) else ()
    ):
        mine, piece = wanted[owner == chunk.index], pieces[chunk.index]
        read = chunk.read([name])
        places = np.searchsorted(read.row_numbers, piece.row_numbers[mine - piece.first])
        values = pc.cast(as_text(read.table.column(0)).take(pa.array(places)), pa.large_binary()).to_pylist()
        texts = (None if value is None else value.decode("utf-8", "replace") for value in values)
        value_of.update(zip(mine.tolist(), texts, strict=True))
    return {row: value_of[row] for row in sorted(value_of)}


def by_lines(by: ByAccount, *, dry: bool = False) -> Iterator[str]:
    """Yield a table of the values with most documents, as text; ``dry``: nothing was written.

    >>> row = ValueCounts(value="de", read=4, kept=3, removed=1, exact_copies=0, near_copies=1, groups=1, pairs=1)
    >>> print(*by_lines(ByAccount("lang", 1, [row])), sep="\\n")
    by lang  read  kept  removed         groups  pairs
    de          4     3        1  25.0%       1      1
    """
    fates = ("to keep", "to remove") if dry else ("kept", "removed")
    rows = [[f"by {printable(by.column)}", "read", *fates, "", "groups", "pairs"]]
    rows += [_cells(row) for row in by.listed[:SHOWN]]
    widths = [max(columns(row[i]) for row in rows) for i in range(len(rows[0]))]
    for label, *cells in rows:
        padded = (f"{cell:>{width}}" for cell, width in zip(cells, widths[1:], strict=True))
        yield "  ".join([label + " " * (widths[0] - columns(label)), *padded]).rstrip()
    if more := by.values - min(SHOWN, len(by.listed)):
        yield f"… and {counted(more, 'more value', 'more values')}" + "; by.parquet lists all" * (not dry)


def _cells(row: ValueCounts) -> list[str]:
    value = "(no value)" if row.value is None else printable(row.value)
    return [
        value if len(value) <= _LABEL else value[: _LABEL - 1] + "…",
        *map(number, (row.read, row.kept, row.removed)),
        percent(row.removed, row.read).replace(" ", ""),
        *map(number, (row.groups, row.pairs)),
    ]
