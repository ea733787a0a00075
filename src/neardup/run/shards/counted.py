"""The columns of ``--count`` for the rows of a part, from the groups of a merged result."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from neardup.io.labels import as_text
from neardup.io.readers.base import Chunk
from neardup.run.added import flat, flat_schema
from neardup.run.found import Found
from neardup.run.recorded import StoredTexts
from neardup.run.represented import COUNTED, SOURCES
from neardup.tables import Int64s, column


class CountedRows:
    """How many documents the rows of a part represent; rows outside groups represent themselves alone.

    ``names`` has the source of each file of the part, by its number in the result. With ``as_json`` the values of
    ``--sources`` are JSON, for formats without lists.
    """

    def __init__(self, found: Found, texts: StoredTexts, names: Mapping[int, str], as_json: bool) -> None:
        self._by: str = found.run["settings"]["sources"]
        listed = [(SOURCES, pa.list_(pa.large_string()))] if self._by else []
        self._schema = pa.schema([*((name, pa.int64()) for name in COUNTED), *listed])
        self._as_json = as_json
        kept = found.groups.filter(found.groups["kept"])
        self._known = kept.select(self._schema.names).cast(self._schema).combine_chunks()
        places = pc.index_in(kept["id"], value_set=found.ranks["id"].combine_chunks())
        files, numbers = texts.places_of(column(found.ranks, "row")[places.to_numpy()])
        self._at: dict[str, tuple[Int64s, Int64s]] = {}
        for number, source in names.items():
            mine = np.flatnonzero(files == number)
            mine = mine[np.argsort(numbers[mine])]
            self._at[source] = numbers[mine], mine

    @property
    def schema(self) -> pa.Schema:
        """The names and types of the columns."""
        return flat_schema(self._schema) if self._as_json else self._schema

    def columns(self, chunk: Chunk, rows: Int64s) -> pa.Table:
        """The columns of some ``rows`` of a chunk, by their numbers in the file."""
        numbers, place = self._at[chunk.source]
        at = np.minimum(np.searchsorted(numbers, rows), max(0, len(numbers) - 1))
        known = numbers[at] == rows if len(numbers) else np.zeros(len(rows), np.bool_)
        alone = pa.table([*[pa.array(np.zeros(len(rows), np.int64))] * 3, *self._own(chunk, rows)], self._schema)
        index = len(self._known) + np.arange(len(rows))
        index[known] = place[at[known]]
        found = pa.concat_tables([self._known, alone]).combine_chunks().take(pa.array(index))
        return flat(found) if self._as_json else found

    def _own(self, chunk: Chunk, rows: Int64s) -> list[pa.Array]:
        """The source of each row, as a list; nothing without sources."""
        if not self._by:
            return []
        read = chunk.read([self._by])
        values = as_text(read.table.column(0)).take(pa.array(np.searchsorted(read.row_numbers, rows)))
        given = values.is_valid().to_numpy(zero_copy_only=False)
        ends = np.concatenate(([0], np.cumsum(given))).astype(np.int32)
        return [pa.ListArray.from_arrays(pa.array(ends), values.drop_null().cast(pa.large_string()))]
