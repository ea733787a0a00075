"""Texts → fingerprints → candidate pairs and hub documents → verified pairs.

Band keys meet by one shuffle. Buckets of up to ``HUB`` documents yield all their pairs; the members of a larger
one are hub documents. A hub key is split where it arises: of the documents of a batch, one more than ``HUB`` go to
the common place, which shows that the bucket is a hub, and the others are spread. So no task receives a hub whole,
and no document of it is dropped.

The documents that are joined exactly become edges between all that could be a pair, by their rarest shingles.
Every pair that meets the criterion shares a shingle of the prefixes (``kernels/join/prefix_index.py``). The
documents under one shingle, in order of size, form a chain: each is joined to the one before it, unless no earlier
one can have a partner of its size. A list therefore yields fewer edges than it has documents, and every pair to be
found lies within one component of the edges. The join itself runs inside a component (``groups.py``).
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from neardup.deduplication.pairs import (
    HUB,
    MOST_OF_A_LIST,
    Criterion,
    Plan,
    bucket_pairs,
    criterion_of,
    equal_groups,
    keys_of,
    marked_shingles,
    rare_prefixes,
    takes_any_subset,
    verify_pairs,
)
from neardup.errors import InputError
from neardup.settings import TextSettings
from neardup.spark.groups import EDGES
from neardup.spark.job import (
    SENT,
    Batches,
    batch_of,
    binary,
    run_starts,
    sets_in,
    signed,
    truths,
    unsigned,
    whole,
    whole_runs,
    words,
)
from neardup.tables import Bools, Int64s, UInt8s, UInt64s
from neardup.text.keys import Key
from neardup.text.sketch import character_hashes, shingle_sets, sign

if TYPE_CHECKING:
    from pyspark import Broadcast
    from pyspark.sql import DataFrame

    from neardup.spark.job import SparkJob


NEW = 1 << 62
"""With a reference set, the new rows are numbered from here on."""
_TEXT_BYTES = 1 << 25
"""Bytes of text that a task fingerprints at a time: their shingle sets take about eight times as much."""

_KEYS = "key long, row long, hub boolean"
_ODD = np.uint64(0x9E3779B97F4A7C15)
PAIRS = "a long, b long, shared long, size_a long, size_b long"

_MOST_BITS = 27
"""The table of frequencies has at most 2²⁷ cells: 128 MB in the driver and in each executor."""
_LISTED = "entry long, size long, row long, largest long, tied boolean"
_TIED = np.iinfo(np.uint8).max
_FAR = 1 << 40

_ENOUGH = 1 << 25
"""Bytes of lists that are counted at a time."""


def fingerprints(rows: DataFrame, job: SparkJob, by_bands: bool) -> DataFrame:
    """(row, id, units, bytes, key_a, key_b, characters, bands, shingles) of ``rows`` (row, id, text); kept.

    ``bands`` are the keys of the bands, and empty for an exact join. ``shingles`` is the keyed shingle set.
    """
    of_id = rows.schema["id"].dataType.simpleString()
    schema = (
        f"row long, id {of_id}, units long, bytes long, key_a long, key_b long, characters long, bands binary, "
        "shingles binary"
    )
    work = partial(_fingerprint, job.settings, job.plan if by_bands else None, job.key)
    return job.keep(rows.mapInArrow(work, schema), "fingerprints")


def _fingerprint(
    settings: TextSettings, plan: Plan | None, key: Broadcast[Key], batches: Batches
) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        lengths = np.cumsum(pc.fill_null(pc.binary_length(batch.column("text")), 0).to_numpy(zero_copy_only=False))
        cuts = np.unique(np.searchsorted(lengths, np.arange(0, lengths[-1:].sum() + 1, _TEXT_BYTES)))
        for first, until in zip(cuts, [*cuts[1:], batch.num_rows], strict=True):
            if until > first:
                yield _fingerprinted(batch.slice(first, until - first), settings, plan, key.value)


def _fingerprinted(batch: pa.RecordBatch, settings: TextSettings, plan: Plan | None, key: Key) -> pa.RecordBatch:
    texts, n = batch.column("text"), batch.num_rows
    keys = np.empty((n, 2), np.uint64)
    signatures = np.empty((n, 0 if plan is None else plan.slots), np.uint32)
    units, _ = sign(texts, settings, signatures, keys, key)
    sets = shingle_sets(texts, np.arange(n), settings, key)
    bands = np.empty((n, 0), np.uint64) if plan is None else np.ascontiguousarray(keys_of(signatures, plan).T)
    return batch_of(
        row=batch.column("row"),
        id=batch.column("id"),
        units=units,
        bytes=pc.fill_null(pc.binary_length(texts), 0).cast(pa.int64()),
        key_a=signed(keys[:, 0].copy()),
        key_b=signed(keys[:, 1].copy()),
        characters=signed(character_hashes(texts, key)),
        bands=binary(bands.reshape(-1), np.arange(n + 1) * bands.shape[1]),
        shingles=binary(sets.hashes, sets.offsets),
    )


def copies_of(frame: DataFrame, job: SparkJob) -> DataFrame:
    """(row, first, units): the rows that are exact copies, each with the first row of its text."""
    alike = frame if job.settings.keep.empty == "one" else frame.where("units > 0")
    same = ["key_a", "key_b", *["characters"] * (job.settings.search.copies == "identical")]
    first = f"min(row) over (partition by {', '.join(same)}) as first"
    return job.keep(alike.selectExpr("row", first, "units").where("row > first"), "copies")


def require_ids(frame: DataFrame, first_new: int) -> None:
    """Raise InputError unless each id names one row of the new input."""
    faults = frame.where(f"row >= {first_new}").groupBy("id").count().where("count > 1 or id is null").limit(3)
    examples = ", ".join(repr(row["id"]) for row in faults.collect())
    if examples:
        raise InputError(
            f"The id column names several rows alike, for example {examples}",
            "Ids that each name one document",
            "Choose another column with id=",
        )


def candidates(documents: DataFrame, job: SparkJob) -> tuple[DataFrame, DataFrame]:
    """(pairs, hub): the candidate pairs (a, b) of ``documents`` (row, bands), and the hub documents (row)."""
    keys = documents.select("row", "bands").mapInArrow(spread_keys, _KEYS)
    sorted_keys = keys.repartition("key").sortWithinPartitions("key", "row")
    met = sorted_keys.mapInArrow(partial(_meet, job.first_new), EDGES).distinct()
    met = job.keep(met, "candidates", counted=True)
    return met.where("a < b"), met.where("a = b").selectExpr("a as row")


def spread_keys(batches: Batches) -> Iterator[pa.RecordBatch]:
    """Yield the band keys of documents; in hubs, most documents get keys of their own and the mark of a hub."""
    for batch in batches:
        if not batch.num_rows:
            continue
        keys, offsets = words(batch.column("bands"))
        row = np.repeat(whole(batch, "row"), np.diff(offsets))
        hub = np.zeros(len(keys), np.bool_)
        order, starts, sizes = equal_groups(keys)
        for k in np.flatnonzero(sizes > HUB + 1):
            hub[order[starts[k] + HUB + 1 : starts[k] + sizes[k]]] = True
        keys[hub] ^= unsigned(row[hub]) * _ODD
        yield batch_of(key=signed(keys), row=row, hub=hub)


def _meet(first_new: int, batches: Batches) -> Iterator[pa.RecordBatch]:
    """Yield the pairs of buckets; a hub document is paired with itself. Rows are sorted by key and row."""
    key, row, hub = np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, np.bool_)
    for batch in batches:
        if not batch.num_rows:
            continue
        key = np.concatenate((key, whole(batch, "key")))
        row = np.concatenate((row, whole(batch, "row")))
        hub = np.concatenate((hub, truths(batch, "hub")))
        last = int(run_starts(key)[-1])
        yield _of_buckets(key[:last], row[:last], hub[:last], first_new)
        key, row, hub = key[last:], row[last:], hub[last:]
        if len(key) > HUB + 1:  # the rest of a hub need not be held
            yield batch_of(a=row, b=row)
            key, row, hub = key[: HUB + 1], row[: HUB + 1], hub[: HUB + 1]
    yield _of_buckets(key, row, hub, first_new)


def _of_buckets(key: Int64s, row: Int64s, hub: Bools, first_new: int) -> pa.RecordBatch:
    starts = run_starts(key)
    sizes = np.diff(np.append(starts, len(key)))
    several = sizes > 1
    marked = np.zeros(len(key), np.bool_)
    order = np.arange(len(key), dtype=np.int32)
    pairs, _, _ = bucket_pairs(order, starts[several], sizes[several], HUB, 0, marked)
    a, b = (pairs >> np.uint64(32)).astype(np.int64), (pairs & np.uint64(0xFFFF_FFFF)).astype(np.int64)
    wanted = row[b] >= first_new
    alone = row[marked | hub]
    return batch_of(a=np.concatenate((row[a[wanted]], alone)), b=np.concatenate((row[b[wanted]], alone)))


def verified(pairs: DataFrame, sets: DataFrame, job: SparkJob) -> DataFrame:
    """(a, b, shared, size_a, size_b) of the ``pairs`` (a, b) that meet the criterion; ``sets``: row, shingles."""
    from pyspark.sql import functions

    if job.rows["candidates"] <= SENT:  # the sets of all other documents need not move
        ends = pairs.selectExpr("a as row").union(pairs.selectExpr("b as row")).distinct()
        sets = sets.join(functions.broadcast(ends), "row", "left_semi")
    of_a = sets.selectExpr("row as a", "shingles as set_a")
    of_b = sets.selectExpr("row as b", "shingles as set_b")
    joined = pairs.join(of_a, "a").join(of_b, "b")
    work = partial(_verify, criterion_of(job.settings.search))
    return job.keep(joined.mapInArrow(work, PAIRS), "verified", counted=True)


def _verify(criterion: Criterion, batches: Batches) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        n = batch.num_rows
        if not n:
            continue
        (of_a, ends_a), (of_b, ends_b) = words(batch.column("set_a")), words(batch.column("set_b"))
        hashes, offsets = np.concatenate((of_a, of_b)), np.concatenate((ends_a, ends_a[-1] + ends_b[1:]))
        shared, number = np.empty(n, np.int64), np.arange(n)
        verify_pairs(hashes, offsets, number, number + n, criterion, shared)
        compared = batch_of(
            a=batch.column("a"),
            b=batch.column("b"),
            shared=shared,
            size_a=np.diff(ends_a),
            size_b=np.diff(ends_b),
        )
        yield compared.filter(pa.array(shared >= 0))


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
    return (sets.hashes, starts, sizes, *rare_prefixes(sets.hashes, starts, sizes, repeats, criterion)[:3])


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
        shingles, of, _ = marked_shingles(hashes, starts, sizes, entries, owner, marked.value)
        far = np.full(len(of), _FAR)
        row = whole(batch, "row")[of]
        none = np.zeros(len(of), np.bool_)
        yield batch_of(entry=shingles.view(np.int64), size=sizes[of], row=row, largest=far, tied=none)


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
