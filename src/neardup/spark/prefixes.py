"""The documents to join exactly → edges between all that could be a pair, by their rarest shingles.

Every pair that meets the criterion shares a shingle of the prefixes (``kernels/join/prefix_index.py``). The
documents under one shingle, in order of size, form a chain: each is joined to the one before it, unless no
earlier one can have a partner of its size. A list therefore yields fewer edges than it has documents, and every
pair to be found lies within one component of the edges. The join itself runs inside a component
(``decided.py``).
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from neardup.join.criterion import criterion_of, takes_any_subset
from neardup.kernels.join import prefix_index as kernels
from neardup.kernels.sets import Criterion
from neardup.spark.arrays import Batches, batch_of, run_starts, sets_in, signed, unsigned, whole, words
from neardup.spark.components import EDGES
from neardup.tables import Int64s, UInt8s, UInt64s

if TYPE_CHECKING:
    from pyspark import Broadcast
    from pyspark.sql import DataFrame

    from neardup.spark.stages import Stages

_MOST_BITS = 27
"""The table of frequencies has at most 2²⁷ cells: 128 MB in the driver and in each executor."""
_LISTED = "entry long, size long, row long, largest long, inside boolean"
_FAR = 1 << 40


def chains(sets: DataFrame, shingles: int, stages: Stages) -> DataFrame:
    """(a, b): edges between the documents of ``sets`` (row, shingles) that could meet the criterion; not kept.

    ``shingles`` bounds the number of their shingles.
    """
    criterion = criterion_of(stages.settings.search)
    bits = min(_MOST_BITS, max(16, int(shingles).bit_length()))
    repeats = _repeats(sets, 1 << bits, stages)
    sent = stages.spark.sparkContext.broadcast(repeats)
    entries = sets.mapInArrow(partial(_list, criterion, sent), _LISTED)
    if takes_any_subset(criterion.measure):
        marked = stages.spark.sparkContext.broadcast(_marked(entries, shingles))
        entries = sets.mapInArrow(partial(_list_hosts, criterion, sent, marked), _LISTED)
    ordered = entries.repartition("entry").sortWithinPartitions("entry", "size", "row")
    return ordered.mapInArrow(_chain, EDGES)


def _repeats(sets: DataFrame, cells: int, stages: Stages) -> UInt8s:
    """uint8[cells]: how often the shingles of a cell occur again, but at most 255; 0 for those of one document."""
    again = sets.mapInArrow(_hashes, "hash long").groupBy("hash").count().where("count > 1")
    of_cell = again.selectExpr(f"hash & {cells - 1} as cell", "count - 1 as again").groupBy("cell").sum("again")
    table = of_cell.toDF("cell", "again").toArrow()
    repeats = np.zeros(cells, np.uint8)
    repeats[whole(table, "cell")] = np.minimum(whole(table, "again"), 255)
    return repeats


def _hashes(batches: Batches) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        if batch.num_rows:
            yield batch_of(hash=signed(words(batch.column("shingles"))[0]))


def _marked(entries: DataFrame, shingles: int) -> UInt64s:
    """The bits of all shingles that are in the prefix of a document, as ``kernels.mark_entries`` sets them."""
    cells = 1 << min(_MOST_BITS - 6, max(10, int(shingles).bit_length() - 3))
    bits = entries.selectExpr(
        f"shiftrightunsigned(entry, 16) & {cells - 1} as word",
        "shiftleft(1L, cast(shiftrightunsigned(entry, 58) as int)) as bit",
    )
    table = bits.groupBy("word").agg({"bit": "bit_or"}).toDF("word", "bit").toArrow()
    marked = np.zeros(cells, np.int64)
    marked[whole(table, "word")] = whole(table, "bit")
    return unsigned(marked)


def _prefixes(batch: pa.RecordBatch, criterion: Criterion, repeats: UInt8s) -> tuple[Int64s, ...]:
    """(hashes, starts, sizes, entries, owner, largest) of the documents of a batch."""
    sets = sets_in(batch.column("shingles"))
    starts, sizes = sets.offsets[:-1].copy(), sets.sizes
    return (sets.hashes, starts, sizes, *kernels.rare_prefixes(sets.hashes, starts, sizes, repeats, criterion))


def _list(criterion: Criterion, repeats: Broadcast[UInt8s], batches: Batches) -> Iterator[pa.RecordBatch]:
    """Yield the entries of the prefixes."""
    for batch in batches:
        if not batch.num_rows:
            continue
        _, _, sizes, entries, owner, largest = _prefixes(batch, criterion, repeats.value)
        inside = np.ones(len(entries), np.bool_)
        row = whole(batch, "row")[owner]
        yield batch_of(
            entry=entries.view(np.int64),
            size=sizes[owner],
            row=row,
            largest=np.minimum(largest[owner], _FAR),
            inside=inside,
        )


def _list_hosts(
    criterion: Criterion, repeats: Broadcast[UInt8s], marked: Broadcast[UInt64s], batches: Batches
) -> Iterator[pa.RecordBatch]:
    """Yield the entries of the prefixes, and every document under its shingles in prefixes of others."""
    for batch in batches:
        if not batch.num_rows:
            continue
        hashes, starts, sizes, entries, owner, _ = _prefixes(batch, criterion, repeats.value)
        found, of, inside = kernels.marked_shingles(hashes, starts, sizes, entries, owner, marked.value)
        far = np.full(len(of), _FAR)
        row = whole(batch, "row")[of]
        yield batch_of(entry=found.view(np.int64), size=sizes[of], row=row, largest=far, inside=inside)


def _chain(batches: Batches) -> Iterator[pa.RecordBatch]:
    """Yield the edges of the lists: entries sorted by shingle, size and row."""
    last_entry, last_row, reach = 0, -1, 0
    for batch in batches:
        if not batch.num_rows:
            continue
        entry, size, row, largest = (whole(batch, name) for name in ("entry", "size", "row", "largest"))
        if last_row >= 0:  # the document before the batch comes first, with the reach of its whole list
            entry, size = np.append(last_entry, entry), np.append(0, size)
            row, largest = np.append(last_row, row), np.append(reach, largest)
        starts = run_starts(entry)
        number = np.repeat(np.arange(len(starts)), np.diff(np.append(starts, len(entry))))
        farthest = np.maximum.accumulate((number << 41) | largest) & ((1 << 41) - 1)
        joins = (entry[1:] == entry[:-1]) & (row[1:] != row[:-1]) & (size[1:] <= farthest[:-1])
        yield batch_of(a=row[:-1][joins], b=row[1:][joins])
        last_entry, last_row, reach = entry[-1], row[-1], farthest[-1]
