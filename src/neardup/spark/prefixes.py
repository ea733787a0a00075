"""The documents to join exactly → edges between all that could be a pair, by their rarest shingles.

Every pair that meets the criterion shares a shingle of the prefixes (``kernels/join/prefix_index.py``). The
documents under one shingle, in order of size, form a chain: each is joined to the one before it, unless no
earlier one can have a partner of its size. A list therefore yields fewer edges than it has documents, and every
pair to be found lies within one component of the edges. The join itself runs inside a component
(``groups.py``).
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from neardup.join.criterion import criterion_of, takes_any_subset
from neardup.join.method import MOST_OF_A_LIST
from neardup.kernels.join import prefix_index as kernels
from neardup.kernels.sets import Criterion
from neardup.spark.arrays import (
    Batches,
    batch_of,
    run_starts,
    sets_in,
    signed,
    truths,
    unsigned,
    whole,
    whole_runs,
    words,
)
from neardup.spark.components import EDGES
from neardup.tables import Int64s, UInt8s, UInt64s

if TYPE_CHECKING:
    from pyspark import Broadcast
    from pyspark.sql import DataFrame

    from neardup.spark.job import SparkJob

_MOST_BITS = 27
"""The table of frequencies has at most 2²⁷ cells: 128 MB in the driver and in each executor."""
_LISTED = "entry long, size long, row long, largest long, tied boolean"
_TIED = np.iinfo(np.uint8).max
_FAR = 1 << 40
_ENOUGH = 1 << 25
"""Bytes of lists that are counted at a time."""


def prefixes(sets: DataFrame, shingles: int, job: SparkJob) -> DataFrame:
    """(entry, size, row, largest, tied): the documents of ``sets`` (row, shingles) under their rarest shingles.

    By a measure of which a set meets any criterion with its subsets, they are also listed under their shingles in
    prefixes of others. ``shingles`` bounds the number of their shingles.
    """
    criterion = criterion_of(job.settings.search)
    bits = min(_MOST_BITS, max(16, int(shingles).bit_length()))
    sent = job.spark.sparkContext.broadcast(_repeats(sets, 1 << bits, job))
    entries = sets.mapInArrow(partial(_list, criterion, sent), _LISTED)
    if takes_any_subset(criterion.measure):
        marked = job.spark.sparkContext.broadcast(_marked(entries, shingles))
        entries = sets.mapInArrow(partial(_list_hosts, criterion, sent, marked), _LISTED)
    return job.keep(entries, "prefixes")


def chains(entries: DataFrame) -> DataFrame:
    """(a, b): edges between the documents that could meet the criterion, from their sorted ``entries``."""
    ordered = entries.repartition("entry").sortWithinPartitions("entry", "size", "row")
    return ordered.mapInArrow(_chain, EDGES)


def lookups(entries: DataFrame) -> tuple[int, int]:
    """About how many pairs a join looks at, and the number of entries that another key could change.

    ``join.method`` decides by these whether an exact join is worth its cost.
    """
    ordered = entries.repartition("entry").sortWithinPartitions("entry", "size", "row")
    sums = ordered.mapInArrow(_count, "lookups long, tied long").groupBy().sum("lookups", "tied").first()
    return (int(sums[0] or 0), int(sums[1] or 0)) if sums else (0, 0)


def _repeats(sets: DataFrame, cells: int, job: SparkJob) -> UInt8s:
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
        again = repeats.value[entries & np.uint64(len(repeats.value) - 1)]
        row = whole(batch, "row")[owner]
        yield batch_of(
            entry=entries.view(np.int64),
            size=sizes[owner],
            row=row,
            largest=np.minimum(largest[owner], _FAR),
            tied=again == _TIED,
        )


def _list_hosts(
    criterion: Criterion, repeats: Broadcast[UInt8s], marked: Broadcast[UInt64s], batches: Batches
) -> Iterator[pa.RecordBatch]:
    """Yield the entries of the prefixes, and every document under its shingles in prefixes of others."""
    for batch in batches:
        if not batch.num_rows:
            continue
        hashes, starts, sizes, entries, owner, _ = _prefixes(batch, criterion, repeats.value)
        found, of, _ = kernels.marked_shingles(hashes, starts, sizes, entries, owner, marked.value)
        far = np.full(len(of), _FAR)
        row = whole(batch, "row")[of]
        none = np.zeros(len(of), np.bool_)
        yield batch_of(entry=found.view(np.int64), size=sizes[of], row=row, largest=far, tied=none)


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


def _count(batches: Batches) -> Iterator[pa.RecordBatch]:
    """Yield the look-ups of whole lists, at most MOST_OF_A_LIST in a list for a document."""
    for table in whole_runs(batches, "entry", _ENOUGH):
        entry, size, largest = (whole(table, name) for name in ("entry", "size", "largest"))
        starts = run_starts(entry)
        number = np.repeat(np.arange(len(starts)), np.diff(np.append(starts, len(entry)))) << 41
        until = np.searchsorted(number | size, number | largest, side="right")
        after = np.clip(until - np.arange(len(entry)) - 1, 0, MOST_OF_A_LIST)
        yield batch_of(lookups=after.sum(keepdims=True), tied=truths(table, "tied").sum(keepdims=True))
