"""The rows that groups are made of: which are copies, their ids, and the order in which they are preferred.

The keep policies, one after the other, are an order over all rows; the first of a group stays.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from neardup.deduplication.join.corpus import CorpusChunk
from neardup.deduplication.join.rows import Alike, Rows
from neardup.display import counted
from neardup.errors import InputError
from neardup.io.contents import Carried
from neardup.io.inputs import Documents, as_text, require_labels
from neardup.settings import KEEP_COLUMN, KEEP_DIGITAL, as_tuple, order_of
from neardup.tables import Floats, Int64s, UInt64s


@dataclass(frozen=True, eq=False)
class Ids:
    """The ids of rows: the user's, or ``source#row`` (the row number for data in memory).

    A run has up to two inputs, from the rows ``firsts`` on. ``columns`` are their id columns; those of inputs that
    are not ``named`` do not count. ``pieces`` are the chunks, by which such rows are named.
    """

    columns: tuple[pa.Array, ...]
    firsts: tuple[int, ...] = (0,)
    named: tuple[bool, ...] = (True,)
    in_memory: tuple[bool, ...] = (False,)
    pieces: tuple[CorpusChunk, ...] = ()

    @classmethod
    def of_run(cls, rows: Rows) -> "Ids":
        """The ids of the rows of a run."""
        parts = rows.corpus.parts
        return cls(
            rows.ids,
            tuple(rows.part_first(number) for number in range(len(parts))),
            tuple(part.id is not None for part in parts),
            tuple(_is_numbered(part.documents) for part in parts),
            rows.corpus.pieces,
        )

    def of(self, rows: Int64s) -> pa.Array:
        """The ids of ``rows``, in that order: strings or integers, as the input has them."""
        if len(self.firsts) == 1:  # nothing to put in order
            return self._of_part(0, rows)
        owner = np.searchsorted(np.array(self.firsts[1:], np.int64), rows, side="right")
        places: list[Int64s] = []
        arrays: list[pa.Array] = []
        for number in range(len(self.firsts)):
            mine = np.flatnonzero(owner == number)
            places.append(mine)
            ids = self._of_part(number, rows[mine])
            arrays.append(pc.cast(ids, pa.string()) if self._in_words else ids)
        together = pa.concat_arrays([ids for ids in arrays if len(ids)] or arrays[:1])
        return together.take(pa.array(np.argsort(np.concatenate(places), kind="stable")))

    def text(self, rows: Int64s) -> pa.Array:
        """The ids as strings, for sentences."""
        return pc.cast(self.of(rows), pa.string())

    def _type(self, number: int) -> pa.DataType:
        if self.named[number]:
            return self.columns[number].type
        return pa.int64() if self.in_memory[number] else pa.string()

    def _of_part(self, number: int, rows: Int64s) -> pa.Array:
        if self.named[number]:
            return self.columns[number].take(pa.array(rows - self.firsts[number]))
        owner = np.searchsorted(self._piece_firsts, rows, side="right") - 1
        numbers = np.empty(len(rows), np.int64)
        for k in np.unique(owner):
            mine = owner == k
            numbers[mine] = self.pieces[k].row_numbers[rows[mine] - self._piece_firsts[k]]
        if self.in_memory[number]:
            return pa.array(numbers)
        sources = pa.array([piece.source for piece in self.pieces], pa.string()).take(pa.array(owner))
        return pc.binary_join_element_wise(sources, pc.cast(pa.array(numbers), pa.string()), "#")

    @cached_property
    def _in_words(self) -> bool:
        """Whether the inputs have ids of different types, which are all given as strings."""
        return len({str(self._type(number)) for number in range(len(self.firsts))}) > 1

    @cached_property
    def _piece_firsts(self) -> Int64s:
        return np.array([piece.first for piece in self.pieces] or [0], np.int64)


def _is_numbered(documents: Documents) -> bool:
    """Whether the number of a row is its id: in memory, unless the rows have several sources."""
    return documents.format == "arrow" and len(documents.names) == 1


@dataclass(frozen=True, eq=False)
class JudgedRows:
    """The rows of a run, of a stored result, or of a part of either; ``len`` is their number.

    ``copy_of`` (int64[rows]) is the first row of the same document; ``alike`` says which rows have the same words
    and the same characters; ``unique`` holds the rows that are documents, in order, so that their index is the
    document number. The ``first_new`` rows of the reference set
    come first. ``rank`` (a permutation) is the order of preference, 0 is kept first, and ``bytes`` (int64[rows])
    the size of each text. Rows with the same number ``across`` never remove each other; it is empty without that
    setting. ``sources`` are those of the rows from the first new one on, or None.
    """

    copy_of: Int64s
    alike: Alike
    unique: Int64s
    first_new: int
    rank: Int64s
    bytes: Int64s
    ids: Ids
    attachments: Carried = field(default_factory=dict)
    across: UInt64s = field(default_factory=lambda: np.empty(0, np.uint64))
    sources: pa.Array | None = None

    @classmethod
    def of_run(cls, rows: Rows, rank: Int64s, sources: str) -> "JudgedRows":
        """The rows of a run in this order of preference; ``sources`` names a column, "" for none."""
        return cls(
            rows.copy_of,
            rows.alike,
            rows.unique,
            rows.first_new,
            rank,
            rows.bytes,
            Ids.of_run(rows),
            rows.attachments,
            rows.across,
            rows.extra.get(sources),
        )

    def __len__(self) -> int:
        return len(self.copy_of)

    @property
    def first_new_document(self) -> int:
        """The first document that is not in the reference set."""
        return int(np.searchsorted(self.unique, self.first_new))

    @property
    def new_copies(self) -> Int64s:
        """The rows of the new input that are exact copies."""
        numbers = np.arange(len(self))
        copies: Int64s = numbers[(self.copy_of != numbers) & (numbers >= self.first_new)]
        return copies


@dataclass(frozen=True)
class CopyClasses:
    """Rows with the same unit stream, as one document each.

    ``of_row`` is the document number of a row, −1 for an empty row. ``best_row`` is the row of a document that the
    keep policy prefers, and ``rank`` (a permutation) the order of documents by that row.
    """

    of_row: Int64s
    best_row: Int64s
    rank: Int64s


def classes(rows: JudgedRows) -> CopyClasses:
    """The documents of the rows, ranked by their best row."""
    n_documents = len(rows.unique)
    number = np.full(len(rows), -1, np.int64)
    number[rows.unique] = np.arange(n_documents)
    of_row = number[rows.copy_of]
    best = np.full(n_documents, len(rows), np.int64)
    full = of_row >= 0
    np.minimum.at(best, of_row[full], rows.rank[full])
    row_at = np.empty(len(rows), np.int64)
    row_at[rows.rank] = np.arange(len(rows))
    rank = np.empty(n_documents, np.int64)
    rank[np.argsort(best)] = np.arange(n_documents)
    return CopyClasses(of_row, row_at[best], rank)


Keeping = str | tuple[str, ...]
"""One policy, or several in order."""


def keep_column(policy: str) -> str | None:
    """The column that ``max:``, ``min:`` or ``order:`` names, or None for the other policies."""
    listed_values = order_of(policy)
    if listed_values is not None:
        return listed_values[0]
    return policy[4:] if policy.startswith(KEEP_COLUMN) else None


def keep_columns(keep: Keeping) -> tuple[str, ...]:
    """The columns that the policies name, each once."""
    return tuple(dict.fromkeys(name for policy in as_tuple(keep) if (name := keep_column(policy))))


def keep_rank(keep: Keeping, units: Int64s, first_new: int, extra: Mapping[str, pa.Array]) -> Int64s:
    """The rank of every row (a permutation, 0 is kept first).

    The rows before ``first_new`` are the reference set and come before all others. ``extra`` holds the columns
    that policies name for the rows after them; rows without a value come last. Ties go to the next policy, and at
    last to the first in input order.
    """
    n = len(units)
    keys = [
        np.arange(n) >= first_new,
        *(_worst_first(policy, units, first_new, extra) for policy in as_tuple(keep)),
    ]
    order = np.lexsort((np.arange(n), *keys[::-1]))
    rank = np.empty(n, np.int64)
    rank[order] = np.arange(n)
    return rank


def require_order(policy: str, kind: pa.DataType) -> None:
    """Raise InputError if a policy cannot use values of this type, before any value is read."""
    _sort_values(policy, pa.array([], kind))


def never_listed(keep: Keeping, extra: Mapping[str, pa.Array]) -> list[str]:
    """Notes on values that an order: policy lists and its column does not have, as after a typing error.

    Of the origins, how many documents have each.
    """
    notes = []
    for policy in as_tuple(keep):
        order = order_of(policy)
        if order is None or order[0] not in extra:
            continue
        known = as_text(extra[order[0]])
        if policy == KEEP_DIGITAL:
            known = pc.fill_null(known, order[1][1])
            digital, unknown, scans = (int(pc.sum(pc.equal(known, value)).as_py() or 0) for value in order[1])
            others = len(known) - digital - unknown - scans
            counts = f"{digital:,} digital, {counted(scans, 'scan')}, {unknown:,} unknown"
            why = "plain text, or PDFs whose pages show neither, or both"
            notes.append(f"--keep digital: {counts} ({why}){f', {others:,} without an origin' * bool(others)}")
            continue
        missing = [value for value in order[1] if not pc.any(pc.equal(known, value)).as_py()]
        if missing:
            notes.append(
                f'--keep order: no document has {", ".join(map(repr, missing))} in the column "{order[0]}"'
            )
    return notes


def _worst_first(policy: str, units: Int64s, first_new: int, extra: Mapping[str, pa.Array]) -> Floats:
    """float64[rows]: smaller is better; none orders rows as longest does."""
    values = np.zeros(len(units))
    if policy in ("longest", "none"):
        values = -units.astype(np.float64)
    elif policy == "last":
        values = -np.arange(len(units), dtype=np.float64)
    elif (name := keep_column(policy)) is not None and name in extra:
        values[first_new:] = _sort_values(policy, extra[name])
    return values


def _sort_values(policy: str, extra: pa.Array) -> Floats:
    """Smaller is better: dense ranks of the values, so that dates and long integers keep their order."""
    order = order_of(policy)
    if order is not None:
        require_labels(extra.type, order[0], f"--keep {policy}")
        text = as_text(extra)
        if policy == KEEP_DIGITAL:  # the origin of a document that says nothing is unknown
            text = pc.fill_null(text, order[1][1])
        places = pc.fill_null(pc.index_in(text, pa.array(order[1], pa.large_string())), len(order[1]))
        listed_first: Floats = places.to_numpy(zero_copy_only=False).astype(np.float64)
        listed_first[text.is_null().to_numpy(zero_copy_only=False)] = np.inf
        return listed_first
    name = keep_column(policy)
    if pa.types.is_null(extra.type):  # a column without any value
        extra = extra.cast(pa.int64())
    if pa.types.is_string(extra.type) or pa.types.is_large_string(extra.type):
        extra = _numbers(extra)
    try:
        ranks = pc.rank(extra, sort_keys="ascending", tiebreaker="dense")
    except pa.ArrowNotImplementedError:
        raise InputError(
            f'--keep {policy}: the column "{name}" holds {extra.type}',
            "A column of numbers, dates or strings",
            "Choose another column",
        ) from None
    values: Floats = ranks.to_numpy(zero_copy_only=False).astype(np.float64)
    missing = extra.is_null(nan_is_null=True).to_numpy(zero_copy_only=False)
    if policy.startswith("max:"):
        values = -values
    values[missing] = np.inf
    return values


def _numbers(values: pa.Array) -> pa.Array:
    """Parse the strings as numbers if all of them parse (CSV has no types), else return them unchanged."""
    try:
        return pc.cast(values, pa.float64())
    except pa.ArrowInvalid:
        return values
