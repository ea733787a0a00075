"""The documents of a result by number, and the ids that name them."""

from __future__ import annotations

from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from neardup.display import printable
from neardup.errors import InputError
from neardup.io.decisions.records import Id
from neardup.tables import Bools, Int64s, column


class ResultDocuments:
    """The rows of the table of ranks: documents in pairs and copies, numbered from 0 in the order of the input.

    ``rows`` (int64[n]) are their rows in the run, ascending: the keys of their pages. ``first`` is the number of
    the first document with the same text, ``bytes`` the size of the text.
    """

    def __init__(self, ranks: pa.Table) -> None:
        self.table = ranks.sort_by("row") if ranks.num_rows else ranks
        self.rows: Int64s = column(self.table, "row")
        self.first: Int64s = np.searchsorted(self.rows, column(self.table, "first"))
        self.bytes: Int64s = column(self.table, "bytes")
        self.in_reference: Bools = self.table["reference"].to_numpy().astype(np.bool_)
        self._ids: pa.Array = pa.concat_arrays(self.table["id"].chunks) if len(self.rows) else pa.array([])

    def __len__(self) -> int:
        return len(self.rows)

    def id(self, document: int) -> Id:
        """Return the id of a document."""
        return self._list[document]

    def at(self, key: int) -> int:
        """Return the number of the document with a key. Raises InputError if there is none."""
        place = int(np.searchsorted(self.rows, key))
        if place == len(self.rows) or self.rows[place] != key:
            raise InputError(f"There is no document {key} in this result", "The key of a document on a page")
        return place

    def number(self, id: Id) -> int | None:
        """Return the number of a document by its id; None for an unknown id.

        If a document of the reference set has the same id, the one of the new input counts.
        """
        return self._number_of.get(id)

    def numbers(self, ids: pa.ChunkedArray, in_reference: Bools | None = None) -> Int64s:
        """Return the numbers of some ids: those of the new input, except where ``in_reference`` is set."""
        new, old = np.flatnonzero(~self.in_reference), np.flatnonzero(self.in_reference)
        found = self._among(ids, new)
        lacking = found < 0 if in_reference is None else (found < 0) | in_reference
        if len(old) and lacking.any():
            found[lacking] = self._among(ids.filter(pa.array(lacking)), old)
        return found

    def _among(self, ids: pa.ChunkedArray, numbers: Int64s) -> Int64s:
        if not len(numbers):
            return np.full(len(ids), -1, np.int64)
        known = self._ids if len(numbers) == len(self) else self._ids.take(pa.array(numbers))
        places = pc.fill_null(pc.index_in(ids, value_set=known), -1).to_numpy().astype(np.int64)
        return np.where(places < 0, -1, numbers[places])

    @cached_property
    def _list(self) -> list[Id]:
        found: list[Id] = self._ids.to_pylist()
        return found

    @cached_property
    def _number_of(self) -> dict[Id, int]:
        ids = self._list
        order = np.argsort(~self.in_reference, kind="stable").tolist()  # new documents last, so that they win
        return {ids[number]: number for number in order}

    def where_id_is(self, text: str) -> Int64s:
        """Return the documents whose id, as text, is ``text``."""
        same = pc.equal(pc.cast(self._ids, pa.large_string()), text) if len(self) else pa.array([], pa.bool_())
        return np.flatnonzero(same.to_numpy(zero_copy_only=False))

    def named(self, document: int) -> str:
        """Return the id on one line, with escapes for control characters."""
        return printable(self.id(document))
